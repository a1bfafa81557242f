"""All pairs above a cosine in vectors that are larger than memory, or spread over machines.

The rows are cut into blocks; each two blocks are one part of the work, which holds no
more than their rows and leaves its pairs in a file. Parts do not depend on one another:
they can run anywhere that sees the files, in any order, and those that are finished are
not done again. Which pairs are found depends on the vectors alone, not on the blocks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.search.scan import (
    Block,
    Pairs,
    Run,
    bound_rows,
    check_count,
    check_unit,
    compare_blocks,
    find_axes,
    joined,
    one_thread_each,
)
from kina_build.encode.kept import Reuse
from kina_build.encode.vectorfiles import VectorFiles, write_vectors
from kina_build.errors import ConfigError, InputError
from kina_build.progress import Progress, silent
from kina_build.rows.jsonl import writing
from kina_build.rows.npz import look_at, read_arrays

WORKING_BYTES = 64_000_000
"""What one part takes beside its rows: a tile, its candidates and their vectors."""

FORM = 2
"""Changes when what is found in a part, or how it is kept, does."""

PART_BYTES = 500_000_000
"""Memory of one part unless the caller knows better."""

ROWS_AT_ONCE = 16_384
"""Rows read at once where every row is looked at: 25 MB at 384 dimensions."""


@dataclass(frozen=True)
class BlockPair:
    """One part of the work: the rows of a block against those of a later one, or of itself."""

    left: tuple[int, VectorFiles]
    """Number of the first row, and the rows."""
    right: tuple[int, VectorFiles]
    axes: Path | None
    """File of the bound's axes; None where no bound is used."""
    threshold: float
    rules: DedupRules
    output: Path
    """Where its pairs are kept."""

    @property
    def identity(self) -> str:
        """Tell it apart from every other part: what the rows are, the threshold, and which blocks."""
        return f"{FORM} {self.output.parent.name} {self.output.name}"


@dataclass(frozen=True)
class Scanned:
    """What became of one part."""

    count: int
    """Pairs found."""
    kept: bool
    """Whether they were found by an earlier run."""


def pairs_in_files(
    vectors: VectorFiles,
    threshold: float,
    rules: DedupRules = DedupRules(),
    on_progress: Progress = silent,
    *,
    folder: Path,
    part_bytes: int = PART_BYTES,
    run: Run = map,
    reuse: Reuse | None = None,
) -> Pairs:
    """Find what `scan.pairs_above` finds, two blocks of rows in memory at a time.

    Args:
        vectors: rows of length 1.
        threshold: in (0, 1].
        rules: size of a block, most pairs.
        on_progress: told (parts done, parts).
        folder: where finished parts are kept; a run that was stopped goes on from them.
        part_bytes: memory one part may take.
        run: where the parts run.
        reuse: told how many parts were finished before.

    Raises:
        InputError: a row that is not of length 1, or files that cannot be read.
        Refusal: more pairs than rules.pair_limit.
        ConfigError: the memory is too small for two blocks.
    """
    rows = rows_a_block(vectors.dimension, part_bytes, rules)
    blocks = -(-len(vectors) // rows)
    count, total = 0, blocks * (blocks + 1) // 2
    with one_thread_each():
        place, axes = prepare(vectors, threshold, folder, rules, rows)
        parts = partial(cut, vectors, rows, threshold=threshold, rules=rules, place=place, axes=axes)
        for done, found in enumerate(run(scan_block_pair, parts()), start=1):
            count += found.count
            if reuse:
                reuse.blocks += found.kept
            check_count(count, threshold, rules)
            on_progress(done, total)
    return joined([read_pairs(part) for part in parts()])


def rows_a_block(dimension: int, part_bytes: int, rules: DedupRules = DedupRules()) -> int:
    """Return how many rows a block may have, so that a part with two of them keeps to its memory.

    A power of two, so that a run that goes on with slightly other memory cuts the same parts.

    Raises:
        ConfigError: not even blocks of one tile fit.
    """
    rows = (part_bytes - WORKING_BYTES) // (2 * bytes_a_row(dimension, rules))
    if rows < rules.scan_rows:
        short = WORKING_BYTES + 2 * rules.scan_rows * bytes_a_row(dimension, rules) - part_bytes
        raise ConfigError(
            "too little memory to compare vectors block by block",
            hint=f"raise --memory (engine.memory_mb) by {short // 10**6 + 1} for each of the parts that run "
            "side by side (engine.workers)",
        )
    return min(1 << (int(rows).bit_length() - 1), rules.block_rows)


def bytes_a_row(dimension: int, rules: DedupRules) -> int:
    """Return what a row takes: itself, its bound, and the bound once more while it is made."""
    return 4 * (dimension + 2 * (rules.scan_columns + 1))


def prepare(
    vectors: VectorFiles, threshold: float, folder: Path, rules: DedupRules, rows: int
) -> tuple[Path, Path | None]:
    """Check every row, and make a place for finished parts that is named by what shapes them.

    Returns:
        The place, and the file of the bound's axes if there is one.

    Raises:
        InputError: a row that is not of length 1.
    """
    content, axes = _survey(vectors, rules)
    place = folder / f"pairs-{content[:16]}-{threshold}-{rows}"
    if axes is None:
        return place, None
    write_vectors(place / "axes.npy", axes)
    return place, place / "axes.npy"


def cut(
    vectors: VectorFiles, rows: int, *, threshold: float, rules: DedupRules, place: Path, axes: Path | None
) -> Iterator[BlockPair]:
    """Cut the work into parts: each block with itself and with every later one."""
    starts = range(0, len(vectors), rows)
    for one, other in combinations_with_replacement(starts, 2):
        left, right = ((start, vectors.part(start, start + rows)) for start in (one, other))
        yield BlockPair(left, right, axes, threshold, rules, place / f"{one}-{other}.npz")


def scan_block_pair(part: BlockPair) -> Scanned:
    """Find the pairs of one part and keep them in its file; done already and unchanged: only count."""
    with suppress(InputError):
        return Scanned(len(read_pairs(part)), kept=True)
    left = _block(part, *part.left)
    right = left if part.left == part.right else _block(part, *part.right)
    pairs = compare_blocks(left, right, part.threshold, part.rules)
    part.output.parent.mkdir(parents=True, exist_ok=True)
    with writing(part.output) as out:
        np.savez(
            out,
            left=pairs.left,
            right=pairs.right,
            cosines=pairs.cosines,
            digest=_digest(part.identity, pairs),
        )
    return Scanned(len(pairs), kept=False)


def read_pairs(part: BlockPair) -> Pairs:
    """Read the pairs of a finished part.

    Raises:
        InputError: there are none, or they are not what was written for this part.
    """
    stored = look_at(part.output, ("left", "right", "cosines", "digest"))
    left, right, cosines, digest = read_arrays(list(stored.values()))
    pairs = Pairs(left, right, cosines)
    if not np.array_equal(digest, _digest(part.identity, pairs)):
        raise InputError(f"{part.output}: its pairs were changed since they were found", hint="run again")
    return pairs


def _digest(identity: str, pairs: Pairs) -> NDArray[np.uint8]:
    total = hashlib.sha256(identity.encode())
    for values in (pairs.left, pairs.right, pairs.cosines):
        total.update(f"\n{values.dtype.str} {values.shape}\n".encode())
        total.update(values.tobytes())
    return np.frombuffer(total.digest(), dtype=np.uint8)


def _block(part: BlockPair, start: int, rows: VectorFiles) -> Block:
    full = rows[:]
    axes: NDArray[np.float32] | None = None if part.axes is None else np.load(part.axes)
    return Block(start, full, bound_rows(full, axes))


def _survey(vectors: VectorFiles, rules: DedupRules) -> tuple[str, NDArray[np.float32] | None]:
    """Read every row once: is it of length 1, what are the axes, which content is this?"""
    digest = hashlib.sha256(repr(vectors.shape).encode())
    gram = np.zeros((vectors.dimension, vectors.dimension))
    for start in range(0, len(vectors), ROWS_AT_ONCE):
        rows = vectors[start : start + ROWS_AT_ONCE]
        check_unit(rows, start)
        digest.update(rows.data)
        gram += rows.T @ rows
    return digest.hexdigest(), find_axes(gram, len(vectors), rules.scan_columns)
