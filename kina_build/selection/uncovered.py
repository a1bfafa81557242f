"""What a selection leaves uncovered, and which items would close it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.support.matrix import SupportMatrix

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
    order = [int(column) for column in np.argsort(-left, kind="stable") if left[column] > 0]
    return [
        Gap(
            anchor_id=matrix.anchor_ids[column],
            covered=int(cover[column]) / matrix.scale,
            gap=int(left[column]) / matrix.unit,
            closers=_closers(matrix, outside, column, int(cover[column])),
        )
        for column in order
    ]


def _closers(matrix: SupportMatrix, outside: NDArray[np.bool_], column: int, cover: int) -> tuple[str, ...]:
    levels = matrix.levels[:, column]
    better = np.flatnonzero((levels > cover) & outside)
    first = better[np.argsort(-levels[better].astype(np.int64), kind="stable")][:CLOSERS]
    return tuple(matrix.item_ids[int(row)] for row in first)
