"""Levels of which nearly all are 0, kept as rows of (anchor, level) pairs: what is 0 takes no room.

They are read like the array they stand for, a row or some rows at a time; whoever passes over all
of them asks for the pairs instead, so that a pass costs what is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.support.levels import Indices

DENSE_FROM = 0.05
"""Share of levels above 0 from which a plain array is the better form."""
SPARSE_FROM = 1_000_000
"""Levels below which a plain array is small enough whatever it holds."""
ROWS_BYTES = 4_000_000
"""Bytes of rows written out at a time."""

Pairs = tuple[Indices, NDArray[np.int32], NDArray[Any]]
"""Rows (places in what was asked for), anchors, and levels above 0."""


@dataclass(frozen=True, eq=False)
class SparseLevels:
    """Levels of shape (items, anchors), by item the anchors it supports, rising, and how much."""

    shape: tuple[int, int]
    starts: Indices
    """Shape (items + 1,): item q has the pairs starts[q] to starts[q + 1]."""
    columns: NDArray[np.int32]
    values: NDArray[Any]
    """Above 0, of the type that levels have."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Tell the type of a level."""
        return self.values.dtype

    @property
    def nbytes(self) -> int:
        """Tell the bytes that are held."""
        return self.starts.nbytes + self.columns.nbytes + self.values.nbytes

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, items: Any) -> NDArray[Any]:
        if isinstance(items, tuple):
            rows, columns = items
            flat = np.ravel(rows) if isinstance(rows, np.ndarray) else rows
            picked: NDArray[Any] = self[flat][:, columns if isinstance(columns, slice) else np.ravel(columns)]
            return picked
        chosen = np.arange(len(self))[items]
        if np.ndim(chosen):
            return self._written(chosen)
        one = np.zeros(self.shape[1], dtype=self.dtype)
        columns, values = self.row(int(chosen))
        one[columns] = values
        return one

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the plain array."""
        whole: NDArray[Any] = self[:]
        return whole if dtype is None else np.asarray(whole, dtype=dtype)

    def row(self, item: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Return the anchors that an item supports, and how much."""
        own = slice(self.starts[item], self.starts[item + 1])
        return self.columns[own], self.values[own]

    def pairs(self, items: Any = slice(None)) -> Pairs:
        """Return what some items support; rows are places in `items`."""
        chosen = np.arange(len(self))[items]
        counts = self.starts[chosen + 1] - self.starts[chosen]
        rows = np.repeat(np.arange(len(chosen)), counts)
        first = np.cumsum(counts) - counts
        at = np.arange(len(rows)) + np.repeat(self.starts[chosen] - first, counts)
        return rows, self.columns[at], self.values[at]

    def take(self, items: Indices, axis: int = 0) -> SparseLevels:
        """Return the levels of some items."""
        rows, columns, values = self.pairs(np.asarray(items))
        return SparseLevels((len(items), self.shape[1]), _starts(rows, len(items)), columns, values)

    def renumbered(self, place: Indices, width: int) -> SparseLevels:
        """Return the levels with each anchor at another place, -1 for nowhere.

        Args:
            place: of each anchor among the new ones.
            width: number of new anchors.
        """
        rows, columns, values = self.pairs()
        return from_pairs((len(self), width), rows, place[columns], values)

    def max(self, axis: int, initial: int = 0) -> NDArray[Any]:
        """Return the largest level of each anchor (axis 0) or item (axis 1), at least `initial`."""
        rows, columns, values = self.pairs()
        best = np.full(self.shape[1 - axis], initial, dtype=self.dtype)
        np.maximum.at(best, columns if axis == 0 else rows, values)
        return best

    def tops(self, items: Any, count: int) -> NDArray[np.float64]:
        """Return the largest levels of each anchor over some items, shape (count, anchors), falling."""
        _, columns, values = self.pairs(items)
        order = np.lexsort((-values.astype(np.int64), columns))
        columns, values = columns[order], values[order]
        rank = np.arange(len(columns)) - np.searchsorted(columns, columns)
        best = np.zeros((count, self.shape[1]))
        best[rank[rank < count], columns[rank < count]] = values[rank < count]
        return best

    def _written(self, items: Indices) -> NDArray[Any]:
        out = np.zeros((len(items), self.shape[1]), dtype=self.dtype)
        rows, columns, values = self.pairs(items)
        out[rows, columns] = values
        return out


def from_pairs(shape: tuple[int, int], rows: Any, columns: Any, values: NDArray[Any]) -> SparseLevels:
    """Put pairs in order; those at a negative column and levels of 0 are left out.

    Args:
        shape: items and anchors.
        rows: item of each pair.
        columns: its anchor.
        values: its level; no item has two for one anchor.
    """
    kept = (columns >= 0) & (values > 0)
    rows, columns, values = rows[kept], columns[kept], values[kept]
    order = np.lexsort((columns, rows))
    return SparseLevels(
        shape,
        _starts(rows[order], shape[0]),
        columns[order].astype(np.int32),
        np.ascontiguousarray(values[order]),
    )


def compact(levels: Any) -> Any:
    """Return levels as pairs where there are many and nearly all are 0, else as they are."""
    if not isinstance(levels, np.ndarray) or levels.size < SPARSE_FROM:
        return levels
    step = max(1, ROWS_BYTES // max(1, levels.shape[1] * levels.itemsize))
    blocks = [slice(at, at + step) for at in range(0, len(levels), step)]
    held = 0
    for block in blocks:
        held += int(np.count_nonzero(levels[block]))
        if held >= DENSE_FROM * levels.size:
            return levels
    return of_blocks(levels.shape, (levels[block] for block in blocks))


def settled(levels: SparseLevels) -> Any:
    """Return pairs as the plain array where there are few levels, or many above 0."""
    size = levels.shape[0] * levels.shape[1]
    keeps = size >= SPARSE_FROM and len(levels.values) < DENSE_FROM * size
    return levels if keeps else levels[:]


def of_blocks(shape: tuple[int, int], blocks: Iterable[NDArray[Any]]) -> SparseLevels:
    """Turn levels that come some rows at a time into pairs."""
    counts: list[Any] = [np.zeros(1, dtype=np.int64)]
    columns, values = [], []
    for block in blocks:
        rows, own = np.nonzero(block)
        counts.append(np.bincount(rows, minlength=len(block)))
        columns.append(own.astype(np.int32))
        values.append(block[rows, own])
    starts = np.cumsum(np.concatenate(counts))
    return SparseLevels(shape, starts, np.concatenate(columns), np.concatenate(values))


def beside(tables: Sequence[Any]) -> Any:
    """Put levels of the same items side by side, as pairs where one of them is."""
    if not any(isinstance(one, SparseLevels) for one in tables):
        return np.concatenate(tables, axis=1)
    parts = [one if isinstance(one, SparseLevels) else of_blocks(one.shape, [one]) for one in tables]
    shifts = np.cumsum([0, *(one.shape[1] for one in parts)])
    rows, columns, values = zip(*(one.pairs() for one in parts), strict=True)
    moved = [own + shift for own, shift in zip(columns, shifts, strict=False)]
    shape = (len(parts[0]), int(shifts[-1]))
    return from_pairs(shape, np.concatenate(rows), np.concatenate(moved), np.concatenate(values))


def rows_of(levels: Any, items: Indices) -> Any:
    """Return the levels of some items in memory, in the form that they have."""
    return levels.take(items) if isinstance(levels, SparseLevels) else levels[items]


def pairs_of(levels: Any, items: Indices) -> Pairs:
    """Return the pairs of some items, whatever form the levels have."""
    if isinstance(levels, SparseLevels):
        return levels.pairs(items)
    table = levels[items]
    rows, columns = np.nonzero(table)
    return rows, columns.astype(np.int32), table[rows, columns]


def best_levels(levels: Any, items: Indices) -> NDArray[np.int64]:
    """Return the largest level of each anchor over some items, 0 where there are none."""
    best: NDArray[np.int64] = rows_of(levels, items).max(axis=0, initial=0).astype(np.int64)
    return best


def stacked(parts: Sequence[Any]) -> Any:
    """Put the levels of several lists of items one after the other; all have one form."""
    if not isinstance(parts[0], SparseLevels):
        return np.concatenate(parts)
    ends = np.cumsum([0, *(one.starts[-1] for one in parts)])
    starts = [one.starts[:-1] + end for one, end in zip(parts, ends[:-1], strict=True)]
    return SparseLevels(
        (sum(map(len, parts)), parts[0].shape[1]),
        np.concatenate([*starts, ends[-1:]]),
        np.concatenate([one.columns for one in parts]),
        np.concatenate([one.values for one in parts]),
    )


def ordered(levels: Any, order: Indices) -> Any:
    """Return levels of some anchors in another order, in the form that they have."""
    if not isinstance(levels, SparseLevels):
        return np.ascontiguousarray(levels[:, order])
    place = np.full(levels.shape[1], -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    return levels.renumbered(place, len(order))


def widened(levels: Any, place: Indices, width: int) -> Any:
    """Return levels with anchors that nothing supports between theirs.

    Args:
        levels: of some anchors.
        place: of each of these among all.
        width: number of all.
    """
    if isinstance(levels, SparseLevels):
        return levels.renumbered(place, width)
    wide = np.zeros((len(levels), width), dtype=levels.dtype)
    wide[:, place] = levels
    return wide


def _starts(rows: Indices, count: int) -> Indices:
    return np.cumsum(np.concatenate([[0], np.bincount(rows, minlength=count)])).astype(np.int64)
