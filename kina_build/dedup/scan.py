"""All pairs above a cosine within one set of vectors: exact, by a bound in few dimensions.

The vectors are rotated onto their principal axes; k leading columns are kept and the
length of what is left, sqrt(1 - |x_k|^2), is one column more. By Cauchy-Schwarz the
product of two such rows is at least the cosine of the two vectors, so a tile whose
bounds all lie below the threshold holds no pair. What passes is computed in full. On
real embeddings, which are far from isotropic, this is 3 to 4 times faster than the
full product; on isotropic vectors a tile falls back to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.errors import InputError, Refusal
from kina_build.progress import Progress, silent

DECIMALS = 4
"""Cosines are compared and kept at this precision: the same text in another batch moves by 6e-7."""

SLACK = 0.5 * 10**-DECIMALS + 2e-5
"""What rounding to DECIMALS and float32 sums can add to a cosine."""

FULL_SHARE = 0.02
"""Share of a tile passing the bound from which the full product of the tile is cheaper."""

RECHECKED_AT_ONCE = 20_000
"""Candidates whose two vectors are gathered at once: 60 MB at 384 dimensions."""

Vectors = NDArray[np.float32]
Indices = NDArray[np.int64]


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


def pairs_above(
    vectors: Vectors, threshold: float, rules: DedupRules = DedupRules(), on_progress: Progress = silent
) -> Pairs:
    """Find every pair of rows whose cosine, rounded to 4 decimals, reaches a threshold.

    Args:
        vectors: shape (n, dimension), float32 rows of length 1.
        threshold: in (0, 1].
        rules: columns of the bound, size of a tile, most pairs.
        on_progress: told (rows done, rows).

    Raises:
        InputError: a row that is not of length 1 (NaN and zero rows would never match).
        Refusal: more pairs than rules.pair_limit.
    """
    check_unit(vectors)
    full = np.ascontiguousarray(vectors, dtype=np.float32)
    bounding = bound_rows(full, rules.scan_columns)
    found: list[Pairs] = []
    count, n = 0, len(full)
    for top in range(0, n, rules.scan_rows):
        for start in range(top, n, 2 * rules.scan_rows):
            tile = _tile(full, bounding, (top, start), rules.scan_rows, threshold)
            found.append(tile)
            count += len(tile)
        if count > rules.pair_limit:
            raise Refusal(
                f"more than {rules.pair_limit} pairs reach the threshold {threshold}",
                hint="raise --threshold, or dedup.pair_limit if you mean it",
            )
        on_progress(min(top + rules.scan_rows, n), n)
    return joined(found)


def bound_rows(vectors: Vectors, columns: int) -> Vectors:
    """Return rows whose products bound the cosines from above, shape (n, columns + 1).

    Where `columns` would save little the vectors themselves come back.
    """
    n, dimension = vectors.shape
    if dimension <= 2 * columns or n <= 2 * dimension:
        return vectors
    _, axes = np.linalg.eigh((vectors.T @ vectors).astype(np.float64))
    leading = vectors @ axes[:, : -columns - 1 : -1].astype(np.float32)
    rest = np.sqrt(np.maximum(0, 1 - np.einsum("ij,ij->i", leading, leading)))
    return np.ascontiguousarray(np.column_stack([leading, rest]), dtype=np.float32)


def check_unit(vectors: Vectors) -> None:
    """Check that every row is of length 1.

    Raises:
        InputError: names the first row that is not.
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    bad = np.flatnonzero(~(np.abs(lengths - 1) <= 1e-3))
    if len(bad):
        raise InputError(f"vector {bad[0]} has length {lengths[bad[0]]:.4g}, not 1")


def joined(parts: list[Pairs]) -> Pairs:
    """Join pairs and sort them by (left, right)."""
    left = np.concatenate([part.left for part in parts]) if parts else np.empty(0, np.int64)
    right = np.concatenate([part.right for part in parts]) if parts else np.empty(0, np.int64)
    cosines = np.concatenate([part.cosines for part in parts]) if parts else np.empty(0)
    order = np.lexsort((right, left))
    return Pairs(left[order], right[order], cosines[order])


def _tile(full: Vectors, bounding: Vectors, corner: tuple[int, int], height: int, threshold: float) -> Pairs:
    """Find the pairs of one tile, `height` rows by twice as many columns, above the diagonal."""
    top, start = corner
    stop = start + 2 * height
    left, right = _above(bounding[top : top + height] @ bounding[start:stop].T, threshold - SLACK)
    if bounding is not full and len(left) > FULL_SHARE * 2 * height * height:
        left, right = _above(full[top : top + height] @ full[start:stop].T, threshold - SLACK)
    left, right = left + top, right + start
    upper = left < right
    return _rechecked(full, left[upper], right[upper], threshold)


def _above(products: Vectors, limit: float) -> tuple[Indices, Indices]:
    # few rows hold a candidate: the maximum of each row is cheaper than a mask of the tile
    rows = np.flatnonzero(products.max(axis=1) >= limit)
    inner, columns = np.nonzero(products[rows] >= limit)
    return rows[inner], columns


def _rechecked(full: Vectors, left: Indices, right: Indices, threshold: float) -> Pairs:
    cosines = np.empty(len(left))
    for start in range(0, len(left), RECHECKED_AT_ONCE):
        part = slice(start, start + RECHECKED_AT_ONCE)
        products = np.einsum("ij,ij->i", full[left[part]], full[right[part]], dtype=np.float64)
        cosines[part] = np.round(products, DECIMALS)
    kept = cosines >= threshold
    return Pairs(left[kept], right[kept], cosines[kept])
