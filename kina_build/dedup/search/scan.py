"""All pairs above a cosine within one set of vectors: exact, by a bound in few dimensions.

The vectors are rotated onto their principal axes; k leading columns are kept and the
length of what is left, sqrt(|x|^2 - |x_k|^2), is one column more. By Cauchy-Schwarz the
product of two such rows is at least the cosine of the two vectors, so a tile whose
bounds all lie below the threshold holds no pair. What passes is computed in full. On
real embeddings, which are far from isotropic, this is 3 to 4 times faster than the
full product; on isotropic vectors a tile falls back to it.

Which pairs are found depends on the vectors alone: the bound only says what to compute,
and each cosine is summed in one order, whatever rows are computed beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.errors import InputError, Refusal
from kina_build.progress import Progress, silent

DECIMALS = 4
"""Cosines are compared and kept at this precision: the same text in another batch moves by 6e-7."""

SLACK = 0.5 * 10**-DECIMALS + 2e-5
"""What rounding to DECIMALS and float32 sums can add to a cosine."""

REST_SLACK = 1e-5
"""Added to the squared length outside the axes: what float32 loses there would be lost from the bound."""

FULL_SHARE = 0.02
"""Share of a tile passing the bound from which the full product of the tile is cheaper."""

RECHECKED_AT_ONCE = 4096
"""Candidates whose two vectors are gathered at once: 25 MB at 384 dimensions."""

Vectors = NDArray[np.float32]
Indices = NDArray[np.int64]
Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
"""Results in the order of the parts: the built-in `map`, or the `map` of an engine."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows and their cosines, sorted by (left, right)."""

    left: Indices
    right: Indices
    """Within one set always above left."""
    cosines: NDArray[np.float64]
    """Rounded to DECIMALS."""

    def __len__(self) -> int:
        """Return how many pairs there are."""
        return len(self.left)


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a set, ready to be compared."""

    start: int
    """Row of the set that its first row is."""
    full: Vectors
    bounding: Vectors
    """As `bound_rows` gives them; `full` itself where a bound would save little."""


def pairs_above(
    vectors: Vectors,
    threshold: float,
    rules: DedupRules = DedupRules(),
    on_progress: Progress = silent,
    run: Run = map,
) -> Pairs:
    """Find every pair of rows whose cosine, rounded to 4 decimals, reaches a threshold.

    Args:
        vectors: shape (n, dimension), float32 rows of length 1.
        threshold: in (0, 1].
        rules: columns of the bound, size of a tile, most pairs.
        on_progress: told (rows done, rows).
        run: where stripes of rows are compared: here, or on threads of this process.

    Raises:
        InputError: a row that is not of length 1 (NaN and zero rows would never match).
        Refusal: more pairs than rules.pair_limit.
    """
    check_unit(vectors)
    full = np.ascontiguousarray(vectors, dtype=np.float32)
    axes = find_axes(full.T @ full, len(full), rules.scan_columns)
    block = Block(0, full, bound_rows(full, axes))
    with one_thread_each():
        return compare_blocks(block, block, threshold, rules, on_progress, run=run)


def compare_blocks(
    left: Block,
    right: Block,
    threshold: float,
    rules: DedupRules = DedupRules(),
    on_progress: Progress = silent,
    *,
    run: Run = map,
) -> Pairs:
    """Find the pairs of a row of one block and a later row of another, or of the same one.

    Args:
        left: the earlier block.
        right: a later one, or `left` itself.
        threshold: in (0, 1].
        rules: size of a tile, most pairs.
        on_progress: told (rows of `left` done, rows of `left`).
        run: where stripes of rows are compared.

    Raises:
        Refusal: more pairs than rules.pair_limit.
    """
    found: list[Pairs] = []
    count, height, n = 0, rules.scan_rows, len(left.full)
    work = partial(_stripe, left, right, threshold, height)
    for done, pairs in enumerate(run(work, range(0, n, height)), start=1):
        found.append(pairs)
        count += len(pairs)
        check_count(count, threshold, rules)
        on_progress(min(done * height, n), n)
    return joined(found)


def one_thread_each() -> AbstractContextManager[object]:
    """Keep BLAS to one thread: tiles are small, and its threads wait for one another by spinning.

    On two busy cores that took seven times the processor time (measured); threads that each
    work on tiles of their own lose nothing.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits


def find_axes(gram: Vectors | NDArray[np.float64], count: int, columns: int) -> Vectors | None:
    """Find the axes on which vectors carry most of their length.

    Args:
        gram: the vectors' products V'V, shape (dimension, dimension).
        count: how many vectors there are.
        columns: axes wanted.

    Returns:
        Shape (dimension, columns); None where a bound on them would save little.
    """
    dimension = len(gram)
    if dimension <= 2 * columns or count <= 2 * dimension:
        return None
    _, axes = np.linalg.eigh(gram.astype(np.float64))
    return np.ascontiguousarray(axes[:, : -columns - 1 : -1], dtype=np.float32)


def bound_rows(vectors: Vectors, axes: Vectors | None) -> Vectors:
    """Return rows whose products bound the cosines from above, shape (n, columns + 1).

    Without axes the vectors themselves come back.
    """
    if axes is None:
        return vectors
    leading = vectors @ axes
    rest = squared_lengths(vectors) - squared_lengths(leading)
    return np.column_stack([leading, np.sqrt(np.maximum(0, rest) + REST_SLACK).astype(np.float32)])


def row_cosines(left: Vectors, right: Vectors) -> NDArray[np.float64]:
    """Multiply rows one by one, rounded: the same for a pair whatever rows are beside it."""
    # einsum would cut long sums where its buffer ends, so that a row's place would show
    return np.asarray(np.round(np.multiply(left, right, dtype=np.float64).sum(axis=1), DECIMALS))


def squared_lengths(vectors: Vectors) -> NDArray[np.float64]:
    """Sum the squares of each row."""
    return np.asarray(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))


def check_unit(vectors: Vectors, first: int = 0) -> None:
    """Check that every row is of length 1.

    Args:
        vectors: shape (n, dimension).
        first: number of the first row in what the user gave.

    Raises:
        InputError: names the first row that is not.
    """
    lengths = np.sqrt(squared_lengths(vectors))
    bad = np.flatnonzero(~(np.abs(lengths - 1) <= 1e-3))
    if len(bad):
        raise InputError(f"vector {first + bad[0]} has length {lengths[bad[0]]:.4g}, not 1")


def check_count(count: int, threshold: float, rules: DedupRules) -> None:
    """Check that pairs are not too many.

    Raises:
        Refusal: more than rules.pair_limit.
    """
    if count > rules.pair_limit:
        raise Refusal(
            f"more than {rules.pair_limit} pairs reach the threshold {threshold}",
            hint="raise --threshold, or dedup.pair_limit if you mean it",
        )


def joined(parts: list[Pairs]) -> Pairs:
    """Join pairs and sort them by (left, right)."""
    left = np.concatenate([part.left for part in parts]) if parts else np.empty(0, np.int64)
    right = np.concatenate([part.right for part in parts]) if parts else np.empty(0, np.int64)
    cosines = np.concatenate([part.cosines for part in parts]) if parts else np.empty(0)
    order = np.lexsort((right, left))
    return Pairs(left[order], right[order], cosines[order])


def _stripe(left: Block, right: Block, threshold: float, height: int, top: int) -> Pairs:
    starts = range(top if left is right else 0, len(right.full), 2 * height)
    return joined([_tile(left, right, (top, start), height, threshold) for start in starts])


def _tile(left: Block, right: Block, corner: tuple[int, int], height: int, threshold: float) -> Pairs:
    """Find the pairs of one tile, `height` rows by twice as many columns."""
    rows, columns = (slice(corner[0], corner[0] + height), slice(corner[1], corner[1] + 2 * height))
    limit = threshold - SLACK
    here, there = _above(left.bounding[rows] @ right.bounding[columns].T, limit)
    if left.bounding is not left.full and len(here) > FULL_SHARE * 2 * height * height:
        here, there = _above(left.full[rows] @ right.full[columns].T, limit)
    here, there = here + corner[0], there + corner[1]
    later = here + left.start < there + right.start
    return _rechecked(left, right, (here[later], there[later]), threshold)


def _above(products: Vectors, limit: float) -> tuple[Indices, Indices]:
    # numpy skips zeros fast in one dimension only
    places = np.flatnonzero((products >= limit).ravel())
    rows, columns = np.divmod(places, products.shape[1])
    return rows, columns


def _rechecked(left: Block, right: Block, places: tuple[Indices, Indices], threshold: float) -> Pairs:
    here, there = places
    cosines = np.empty(len(here))
    for start in range(0, len(here), RECHECKED_AT_ONCE):
        part = slice(start, start + RECHECKED_AT_ONCE)
        cosines[part] = row_cosines(left.full[here[part]], right.full[there[part]])
    kept = cosines >= threshold
    return Pairs(here[kept] + left.start, there[kept] + right.start, cosines[kept])
