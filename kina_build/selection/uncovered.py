"""What a selection leaves uncovered, and which items would close it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.support.matrix import SupportMatrix
from kina_build.support.parts import slices

CLOSERS = 3
"""Items named for each gap."""


@dataclass(frozen=True)
class Gap:
    """One anchor that is not fully covered."""

    anchor_id: str
    covered: float
    """Best support in the set, 0 to 1."""
    gap: float
    """Weight x (1 - covered), in the units of the anchor weights."""
    closers: tuple[str, ...]
    """Items outside the set with more support, best first; none: the pool cannot close it."""


def find_gaps(matrix: SupportMatrix, item_ids: Iterable[str], exclude: Iterable[str] = ()) -> list[Gap]:
    """List anchors by what the set leaves of them, largest first.

    Args:
        matrix: the support.
        item_ids: the selected items.
        exclude: items that may not close a gap.
    """
    chosen = matrix.rows(item_ids)
    outside = np.ones(len(matrix.item_ids), dtype=bool)
    outside[chosen + matrix.rows(exclude)] = False
    cover = matrix.levels[chosen].max(axis=0) if chosen else np.zeros(len(matrix.anchor_ids), dtype=np.int64)
    left = (matrix.scale - cover.astype(np.int64)) * matrix.weights
    order = np.array(
        [column for column in np.argsort(-left, kind="stable") if left[column] > 0], dtype=np.int64
    )
    closers = _closers(matrix, outside, order, cover[order].astype(np.int64))
    return [
        Gap(
            anchor_id=matrix.anchor_ids[column],
            covered=int(cover[column]) / matrix.scale,
            gap=int(left[column]) / matrix.unit,
            closers=tuple(matrix.item_ids[row] for row in rows),
        )
        for column, rows in zip(order.tolist(), closers, strict=True)
    ]


def _closers(
    matrix: SupportMatrix, outside: NDArray[np.bool_], columns: NDArray[np.int64], cover: NDArray[np.int64]
) -> list[list[int]]:
    """Return, for each column, the items outside the set that reach most above its coverage.

    One pass, slice by slice; of equal items the first.
    """
    best: list[list[tuple[int, int]]] = [[] for _ in columns]
    marks = cover.copy()
    for rows in slices(matrix):
        levels = matrix.levels[rows][:, columns]
        better = (levels > marks) & outside[rows, None]
        for at in np.flatnonzero(better.any(axis=0)).tolist():
            found = np.flatnonzero(better[:, at])
            first = found[np.argsort(-levels[found, at].astype(np.int64), kind="stable")][:CLOSERS]
            met = [(int(levels[row, at]), rows.start + int(row)) for row in first]
            best[at] = sorted(best[at] + met, key=lambda pair: (-pair[0], pair[1]))[:CLOSERS]
            if len(best[at]) == CLOSERS:
                # later items must exceed the last of three: equals come after it
                marks[at] = best[at][-1][0]
    return [[row for _, row in pairs] for pairs in best]
