"""All pairs above a cosine: kina's bounded scan against a plain numpy product and semhash.

    python -m benchmarks.dedup                      # 10,000 and 100,000 vectors
    python -m benchmarks.dedup --million            # and 1,000,000, in memory and from files
    python -m benchmarks.dedup --across 1000000     # a corpus searched exactly and by FAISS
    python -m benchmarks.dedup --vectors mine.npy   # from vectors of your own

Vectors are real ones of MMLU-Redux (encoded once, kept in the cache), made more by mixing:
each new one is a weighted mean of three real ones, scaled to length 1, and one in a hundred
is a near copy of another. That keeps the unequal weight of the axes, which random vectors
lack and on which the bound lives; the share of length in 64 axes is printed for both.
Peers that are not installed are skipped. Threads: set OMP_NUM_THREADS.

Measured with one thread on a machine that did other work, so by processor seconds: 100,000
vectors, 2,201 pairs: kina 10.6 s and 61 MB beside the vectors, the numpy product 66.6 s (6.3
times as much), semhash 116.9 s (11 times; 496 MB; 6 pairs not found, for its approximate index).
1,000,000 vectors, 137,070 pairs: in memory 1,094 s and 832 MB beside the vectors; from files
1,041 s, 579 s of wall time with two threads, and 343 MB resident, everything included.
2,000 queries in 200,000 vectors: exact 1.6 s; FAISS 8.6 s to build and 2.0 s to search for a
recall of .99 (all pairs found), 8.2 s and .1 s for .9 (.9985 of the pairs).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kina_build.config import DedupRules, EngineRules
from kina_build.dedup.search.across import scan_across
from kina_build.dedup.search.blocks import pairs_in_files
from kina_build.dedup.search.faiss import build_inverted_file, search
from kina_build.dedup.search.scan import Pairs, pairs_above
from kina_build.encode.vectorfiles import open_vectors, write_vectors
from kina_build.engine import open_engine

DATA = Path(os.environ.get("KINA_SHARED_DATA", "../shared/data")) / "mcq" / "mmlu_redux"
THRESHOLD = 0.9
TEXTS = 2000
QUERIES = 2000
SHARD_ROWS = 50_000
PART_BYTES = 300_000_000
"""What each thread may take where vectors are read from files."""
THREADS = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)

RULES = DedupRules(pair_limit=100_000_000)
Vectors = np.ndarray[Any, np.dtype[np.float32]]
Found = set[tuple[int, int]]
Outcome = tuple[float, float, float, Found]
"""Wall seconds, CPU seconds, peak MB beside the vectors, what was found."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--across", type=int, default=0, metavar="N")
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--files", type=Path, help="a folder of .npy files: compare what is there")
    arguments = parser.parse_args()
    if arguments.files:
        scan_files(arguments.files)
        return
    real = np.load(arguments.vectors) if arguments.vectors else encode_texts()
    print(f"{len(real)} real vectors, {share(real):.2f} of their length in 64 axes; threshold {THRESHOLD}")
    print(f"threads: {THREADS}")
    for size in arguments.sizes:
        compare(expand(real, size), {"kina scan": scan, "numpy product": product, "semhash": semhash})
    if arguments.million:
        compare(expand(real, 1_000_000), {"kina scan": scan})
        compare_files(expand(real, 1_000_000))
    if arguments.across:
        compare_across(expand(real, arguments.across))


def encode_texts() -> Vectors:
    """Encode stems of MMLU-Redux as `kina dedup` would."""
    from kina_build.encode.embedding import embed
    from kina_build.encode.loading import load_encoder
    from kina_build.encode.texts import item_text
    from kina_build.encode.vectorcache import default_cache
    from kina_build.items.importing.files import read_items

    items = [item for file in sorted(DATA.glob("*.csv"))[:20] for item in read_items(file).items]
    if not items:
        raise SystemExit(f"no questions at {DATA}: give --vectors FILE.npy")
    texts = [item_text(item) for item in items[:TEXTS]]
    return embed(texts, load_encoder("all-MiniLM-L6-v2"), default_cache())


def expand(real: Vectors, size: int) -> Vectors:
    """Make `size` unit vectors by mixing real ones; one in a hundred is a near copy.

    Mixes of three: of two, chance pairs would outnumber the copies a thousand times.
    """
    rng = np.random.default_rng(0)
    made = np.empty((size, real.shape[1]), dtype=np.float32)
    for start in range(0, size, 50_000):
        part = made[start : start + 50_000]
        chosen = rng.integers(0, len(real), (3, len(part)))
        weights = np.array([0.5, 0.3, 0.2]) * rng.uniform(0.8, 1.2, (len(part), 3))
        part[:] = sum(real[rows] * weight[:, None] for rows, weight in zip(chosen, weights.T, strict=True))
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    copies = rng.integers(0, size, size // 100)
    made[rng.integers(0, size, len(copies))] = (
        made[copies] + 0.15 * real[rng.integers(0, len(real), len(copies))]
    )
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def share(vectors: Vectors) -> float:
    """Return the share of squared length in the 64 leading axes."""
    weights = np.linalg.eigvalsh(vectors.T @ vectors)
    return float(weights[-64:].sum() / weights.sum())


def scan(vectors: Vectors) -> Found:
    with open_engine(EngineRules(workers=THREADS)) as engine:
        return rows_of(pairs_above(vectors, THRESHOLD, RULES, run=engine.map))


def compare_files(vectors: Vectors) -> None:
    """Write vectors as files and compare them from there, in a process that never held them."""
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, len(vectors), SHARD_ROWS):
            write_vectors(Path(folder) / f"{start:09d}.npy", vectors[start : start + SHARD_ROWS])
        subprocess.run([sys.executable, "-m", "benchmarks.dedup", "--files", folder], check=True)


def scan_files(folder: Path) -> None:
    """Compare the vectors of a folder's files; tell time, all resident memory, and what was found."""
    files = open_vectors(sorted(folder.glob("*.npy")))
    wall = time.perf_counter()
    with open_engine(EngineRules(workers=THREADS)) as engine:
        found = pairs_in_files(
            files, THRESHOLD, RULES, folder=folder / "work", part_bytes=PART_BYTES, run=engine.map
        )
    wall = time.perf_counter() - wall
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"kina, {len(files):,} vectors from {len(files.paths)} files: {wall:.1f} s wall, "
        f"{time.process_time():.1f} CPU s, {resident:.0f} MB resident in all, {len(found):,} pairs",
        flush=True,
    )


def rows_of(pairs: Pairs) -> Found:
    return set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))


def product(vectors: Vectors) -> Found:
    """Multiply all by all in blocks, as people do with sentence-transformers and numpy."""
    found: Found = set()
    for start in range(0, len(vectors), 512):
        rows, columns = np.nonzero(vectors[start : start + 512] @ vectors[start:].T >= THRESHOLD - 5e-5)
        upper = rows < columns
        found.update(zip((rows[upper] + start).tolist(), (columns[upper] + start).tolist(), strict=True))
    return found


def semhash(vectors: Vectors) -> Found:
    from semhash import SemHash

    names = [str(row) for row in range(len(vectors))]
    index = SemHash.from_embeddings(vectors, names, model=None).index
    found: Found = set()
    # exact copies share one entry: the records of each entry are its rows
    rows = [
        [int(record["text"] if isinstance(record, dict) else record) for record in group]
        for group in index.items
    ]
    for place, (near, _) in enumerate(index.query_threshold(index.vectors, THRESHOLD)):
        for other in near:
            found.update((min(a, b), max(a, b)) for a in rows[place] for b in rows[int(other)] if a != b)
    return found


def compare(vectors: Vectors, methods: dict[str, Callable[[Vectors], Found]]) -> None:
    print(f"\n{len(vectors):,} vectors, {share(vectors[:20_000]):.2f} of their length in 64 axes")
    print(f"{'method':<15}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}{'pairs':>10}{'recall':>8}{'CPU ratio':>11}")
    ours: tuple[float, Found] | None = None
    for name, method in methods.items():
        outcome = measured(method, vectors)
        if isinstance(outcome, str):
            print(f"{name:<15} skipped: {outcome}")
            continue
        wall, cpu, peak, found = outcome
        ours = ours or (cpu, found)
        # both ways: a pair that the scan lacked would show as one too many in the count of pairs
        recall = len(found & ours[1]) / max(1, len(ours[1]))
        spent = f"{wall:>9.1f}{cpu:>9.1f}{peak:>9.0f}"
        figures = f"{len(found):>10,}{recall:>8.4f}{cpu / ours[0]:>11.2f}"
        print(f"{name:<15}{spent}{figures}", flush=True)


def compare_across(corpus: Vectors) -> None:
    """Search near copies of some vectors: all of a corpus, and the likeliest lists of an inverted file."""
    rng = np.random.default_rng(1)
    queries = corpus[rng.integers(0, len(corpus), QUERIES)]
    queries = queries + 0.3 * corpus[rng.integers(0, len(corpus), QUERIES)]
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    print(f"\n{QUERIES:,} queries in {len(corpus):,} vectors, threshold {THRESHOLD}")
    started = time.process_time()
    exact = rows_of(scan_across(queries, corpus, THRESHOLD, RULES))
    print(f"exact: {time.process_time() - started:.1f} CPU s, {len(exact):,} pairs")
    for wanted in (0.9, 0.99):
        started = time.process_time()
        inverted = build_inverted_file(corpus, DedupRules(ivf_recall=wanted))
        built = time.process_time()
        found = rows_of(search(inverted, queries, THRESHOLD))
        searched = time.process_time()
        print(
            f"FAISS inverted file for recall {wanted}: {built - started:.1f} CPU s to build, "
            f"{searched - built:.1f} to search {inverted.searched} of {inverted.lists} lists; nearest found "
            f"{inverted.recall:.3f}, pairs found {len(found & exact) / max(1, len(exact)):.4f}",
            flush=True,
        )


def measured(method: Callable[[Vectors], Found], vectors: Vectors) -> Outcome | str:
    """Run a method in a process of its own: its time, and what it takes beside the vectors."""
    here, there = multiprocessing.get_context("fork").Pipe(duplex=False)

    def work() -> None:
        try:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            wall, cpu = time.perf_counter(), time.process_time()
            found = method(vectors)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            there.send((wall, cpu, peak, found))
        except Exception as error:
            there.send(f"{type(error).__name__}: {error}")

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    outcome: Outcome | str = here.recv()
    process.join()
    return outcome


if __name__ == "__main__":
    main()
