"""From text to decision: what each way to encode costs, and what --near fast loses.

    python -m benchmarks.encoding pool.jsonl                 # the first 1,000 items
    python -m benchmarks.encoding pool.jsonl --items 4000
    python -m benchmarks.encoding pool.jsonl --without sentence-transformers

Each way is a process of its own: its CPU time and its peak memory are those of the whole work, the
start included. Decisions are compared with those of the reference, sentence-transformers; without it,
with those of ONNX Runtime.

Measured on the whole of MMLU-Pro (12,032 items, one run each, two shared cores): `kina dedup` 273 CPU s exact
by ONNX Runtime, 112 with --near fast. Fast has 161 of 161 duplicates and conflicts, 298 of 298 pairs for
review, 383 of 391 template siblings and 104 of 217 close pairs; 121 pairs are missed, at most 440 by the
printed bound, which covered the missed ones in 40 of 40 seeds (and on the first 3,000 items in 40 of 40).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kina_build.config import DedupRules
from kina_build.dedup.encoded import read_corpus, read_fast
from kina_build.dedup.find import find_copies
from kina_build.dedup.records import Duplicates
from kina_build.dedup.search.fast import KnownVectors
from kina_build.dedup.search.scan import pairs_above
from kina_build.encode.loading import PACKAGED, load_encoder
from kina_build.items.pool import read_pool

WAYS = ("sentence-transformers", "onnx", "fast")
DECIDING = ("duplicate", "conflict")


def work(way: str, pool: Path, count: int, output: Path) -> None:
    """Find copies in one way, write them, and print the cost."""
    items = sorted(read_pool(pool), key=lambda item: item.item_id)[:count]
    rules = DedupRules()
    if way == "fast":
        corpus = read_fast(items, load_encoder(PACKAGED), rules)
        found = find_copies(corpus, rules, scan=KnownVectors.pairs)
    else:
        engine = "onnx" if way == "onnx" else "sentence-transformers"
        corpus = read_corpus(items, load_encoder(PACKAGED, rules, engine), rules)
        found = find_copies(corpus, rules, scan=pairs_above)
    found.write(output)
    used = resource.getrusage(resource.RUSAGE_SELF)
    cost = {"cpu_s": used.ru_utime + used.ru_stime, "peak_mb": used.ru_maxrss / 1024, "items": len(items)}
    print(json.dumps(cost))


def measure(way: str, pool: Path, count: int, folder: Path) -> tuple[dict[str, Any], Duplicates]:
    """Run one way in a process of its own."""
    output = folder / f"{way}.json"
    line = [sys.executable, "-m", "benchmarks.encoding", str(pool), "--items", str(count)]
    done = subprocess.run(
        [*line, "--way", way, "--output", str(output)], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout), Duplicates.model_validate_json(output.read_text(encoding="utf-8"))


def pairs_of(found: Duplicates, deciding: bool) -> set[tuple[str, str, str]]:
    """Return the pairs that drop or hold items, or those put to a person."""
    statuses = DECIDING if deciding else ("review",)
    return {(pair.item_id, pair.other_id, pair.status) for pair in found.pairs if pair.status in statuses}


def tell(way: str, cost: dict[str, Any], found: Duplicates, reference: Duplicates) -> None:
    """Print what a way costs, and which of the reference's pairs it has."""
    shares = []
    for deciding in (True, False):
        wanted = pairs_of(reference, deciding)
        shares.append(f"{len(wanted & pairs_of(found, deciding))} of {len(wanted)}")
    print(
        f"{way:22} {cost['cpu_s']:8.1f} CPU s {cost['items'] / cost['cpu_s']:6.1f} items a CPU s "
        f"{cost['peak_mb']:6.0f} MB   deciding pairs {shares[0]}, for review {shares[1]}"
    )
    if found.fast is not None:
        print(f"{'':22} {found.fast.model_dump_json()}")


def main() -> None:
    """Measure each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pool", type=Path)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--without", choices=WAYS[:1])
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        work(given.way, given.pool, given.items, given.output)
        return
    reference = None
    with TemporaryDirectory() as folder:
        for way in WAYS:
            if way != given.without:
                cost, found = measure(way, given.pool, given.items, Path(folder))
                reference = reference or found
                tell(way, cost, found, reference)


if __name__ == "__main__":
    main()
