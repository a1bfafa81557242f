from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import DedupRules, EngineRules
from kina_build.dedup.search.blocks import (
    WORKING_BYTES,
    BlockPair,
    Scanned,
    bytes_a_row,
    cut,
    pairs_in_files,
    rows_a_block,
    scan_block_pair,
)
from kina_build.dedup.search.place import part_bytes, resident_bytes, spare_bytes
from kina_build.dedup.search.scan import Pairs, pairs_above
from kina_build.engine import open_engine
from kina_build.errors import ConfigError, InputError, Refusal
from tests.dedup.test_scan import skewed
from tests.dedup.test_vectorfiles import sharded

SMALL = DedupRules(scan_columns=4, scan_rows=16, block_rows=40)
Work = Callable[[BlockPair], Scanned]


def same(one: Pairs, other: Pairs) -> bool:
    return all(np.array_equal(getattr(one, k), getattr(other, k)) for k in ("left", "right", "cosines"))


@given(
    n=st.integers(0, 200),
    seed=st.integers(0, 20),
    cuts=st.lists(st.integers(0, 200), max_size=4),
    block_rows=st.integers(20, 250),
    threshold=st.sampled_from([0.6, 0.9, 1.0]),
)
def test_blocks_find_bit_for_bit_what_memory_finds(
    tmp_path_factory: pytest.TempPathFactory,
    n: int,
    seed: int,
    cuts: list[int],
    block_rows: int,
    threshold: float,
) -> None:
    vectors = skewed(n, 24, seed)
    folder = tmp_path_factory.mktemp("work")
    rules = SMALL.model_copy(update={"block_rows": block_rows})
    files = sharded(folder, vectors, [cut for cut in cuts if cut <= n])
    found = pairs_in_files(files, threshold, rules, folder=folder)
    assert same(found, pairs_above(vectors, threshold, rules))


def test_parts_may_run_in_any_order_and_anywhere(tmp_path: Path) -> None:
    vectors = skewed(150, 24, 3)
    files = sharded(tmp_path, vectors, [70])

    def backwards(work: Work, parts: Iterable[BlockPair]) -> Iterator[Scanned]:
        travelled = pickle.loads(pickle.dumps(list(parts)))
        return iter([work(part) for part in travelled[::-1]][::-1])

    expected = pairs_above(vectors, 0.6, SMALL)
    assert len(expected) > 20
    assert same(pairs_in_files(files, 0.6, SMALL, folder=tmp_path / "a", run=backwards), expected)
    with open_engine(EngineRules(workers=2)) as engine:
        found = pairs_in_files(files, 0.6, SMALL, folder=tmp_path / "b", run=engine.map)
    assert same(found, expected)


def test_a_run_that_was_killed_goes_on_from_its_finished_parts(tmp_path: Path) -> None:
    vectors = skewed(150, 24, 3)
    files = sharded(tmp_path, vectors, [])
    done: list[str] = []

    def dying(work: Work, parts: Iterable[BlockPair]) -> Iterator[Scanned]:
        for number, part in enumerate(parts):
            if number == 4:
                raise KeyboardInterrupt
            yield work(part)

    def counting(work: Work, parts: Iterable[BlockPair]) -> Iterator[Scanned]:
        for part in parts:
            if not part.output.exists():
                done.append(part.output.name)
            yield work(part)

    with pytest.raises(KeyboardInterrupt):
        pairs_in_files(files, 0.6, SMALL, folder=tmp_path, run=dying)
    found = pairs_in_files(files, 0.6, SMALL, folder=tmp_path, run=counting)
    assert same(found, pairs_above(vectors, 0.6, SMALL))
    assert done == [f"{pair}.npz" for pair in ("40-40", "40-80", "40-120", "80-80", "80-120", "120-120")]
    # other vectors in the same folder are other work
    assert same(
        pairs_in_files(sharded(tmp_path, vectors[::-1].copy(), []), 0.6, SMALL, folder=tmp_path),
        pairs_above(vectors[::-1], 0.6, SMALL),
    )


def test_a_damaged_part_is_done_again(tmp_path: Path) -> None:
    files = sharded(tmp_path, skewed(80, 24, 3), [])
    part = next(cut(files, 80, threshold=0.6, rules=SMALL, place=tmp_path / "parts", axes=None))
    made = scan_block_pair(part)
    part.output.write_bytes(part.output.read_bytes()[:50])
    assert scan_block_pair(part) == made
    assert made.count > 0
    assert scan_block_pair(part) == replace(made, kept=True)


def test_too_many_pairs_and_bad_rows_are_refused_as_in_memory(tmp_path: Path) -> None:
    rules = SMALL.model_copy(update={"pair_limit": 5})
    with pytest.raises(Refusal, match="more than 5 pairs"):
        pairs_in_files(sharded(tmp_path, np.ones((90, 1), np.float32), []), 0.5, rules, folder=tmp_path)
    bad = skewed(90, 4, 1)
    bad[61] = np.nan
    with pytest.raises(InputError, match="vector 61 has length nan"):
        pairs_in_files(sharded(tmp_path, bad, [30]), 0.5, SMALL, folder=tmp_path)


def test_a_part_keeps_to_its_memory_and_too_little_is_refused() -> None:
    rules = DedupRules(block_rows=10**9)
    rows = rows_a_block(384, 400_000_000, rules)
    assert 2 * rows * bytes_a_row(384, rules) + WORKING_BYTES <= 400_000_000
    assert rows_a_block(384, 390_000_000, rules) == rows  # a run that goes on cuts the same parts
    with pytest.raises(ConfigError) as caught:
        rows_a_block(384, 65_000_000, rules)
    more = int(re.search(r"memory_mb\) by (\d+)", caught.value.hint)[1]) * 10**6
    assert rows_a_block(384, 65_000_000 + more, rules) == 512


def test_threads_share_the_memory_and_ray_workers_have_their_own() -> None:
    rules = EngineRules(memory_mb=4000)
    assert 0 < resident_bytes() < 4 * 10**9
    assert part_bytes(rules, 4) == pytest.approx(spare_bytes(rules) / 4, rel=0.2)
    assert part_bytes(rules.model_copy(update={"kind": "ray"}), 4) > part_bytes(rules, 4)


MEASURED = """
import re, sys
from pathlib import Path
from kina_build.config import DedupRules
from kina_build.dedup.search.blocks import pairs_in_files
from kina_build.encode.vectorfiles import open_vectors

def compare(place):
    files = open_vectors(sorted(place.glob("*.npy")))
    pairs_in_files(files, 0.9, DedupRules(), folder=place / "work", part_bytes=int(sys.argv[3]))

def peak():  # ru_maxrss would begin at the peak of the process that started this one
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

compare(Path(sys.argv[1]))  # a few vectors: what is loaded once is no memory of the work
before = peak()
compare(Path(sys.argv[2]))
print((peak() - before) / 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system tells no peaks in /proc")
def test_memory_is_kept(tmp_path: Path) -> None:
    """80 MB of vectors are compared within 85 MB, of which 64 are for the work itself."""
    vectors = skewed(20_000, 1024, 1)
    vectors[:, 50:] *= 0.05  # as embeddings do: most of the length lies on few axes
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    few, all_ = tmp_path / "few", tmp_path / "all"
    for place, some, cut_at in ((few, vectors[:600], 200), (all_, vectors, 7_000)):
        place.mkdir()
        sharded(place, some, [cut_at])
    command = [sys.executable, "-c", MEASURED, str(few), str(all_), "85_000_000"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(run.stdout) <= 85_000_000 / 2**20
