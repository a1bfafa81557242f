"""One domain, or several that conflicts join, as the verifier counts in it: levels, strata, gains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.selection.records import Quota
from kina_build.support.levels import position_of
from kina_build.support.sparse import SparseLevels

CHUNK_SCORES = 4_000_000
"""Scores widened to 64 bits at a time."""


Whole = NDArray[np.int64]


Key = tuple[str, str]
"""Domain and stratum, or domain and anchor."""


class Positions(Mapping[str, int]):
    """Where each of some sorted ids appears, found by halving: no second copy of the ids."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids

    def __getitem__(self, item_id: str) -> int:
        at = position_of(self._ids, item_id)
        if at is None:
            raise KeyError(item_id)
        return at

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


@dataclass
class Counted:
    """The r best levels of each anchor over a growing set."""

    levels: Whole
    """Shape (r, anchors), each column falling."""

    @property
    def least(self) -> Whole:
        """Return what an item must exceed to count."""
        last: Whole = self.levels[-1]
        return last

    def add(self, row: NDArray[Any]) -> None:
        """Sort an item's levels in, and let the least go."""
        row = row.astype(np.int64)
        for place in range(len(self.levels)):
            higher = np.maximum(self.levels[place], row)
            row, self.levels[place] = np.minimum(self.levels[place], row), higher
            if not row.any():
                break


@dataclass(frozen=True)
class Domain:
    """What the files say about one domain, by position in `ids`."""

    ids: Sequence[str]
    """Sorted."""
    columns: tuple[Key, ...]
    """Domain and anchor of each column of the levels."""
    levels: Any
    """Shape (items, columns), in memory or on disk; of joined domains, each item on its own columns."""
    weights: Whole
    strata: tuple[Key, ...]
    """The strata that items have, sorted."""
    codes: Whole
    """Position of each item's stratum in `strata`."""
    quotas: Mapping[Key, Quota]
    rivals: Mapping[str, frozenset[str]]
    """Item to all items it must not be taken with."""
    must: frozenset[str]
    barred: frozenset[str]
    asked: Mapping[str, int]
    """Domain to the items asked for of it."""
    sizes: Mapping[str, int]
    """Domain to the items a set has to have: as asked less the shortfall."""
    lower: Mapping[Key, int]
    """Least items by stratum: as asked less the shortfall."""
    position: Mapping[str, int]
    folds: int = 1
    """r: the items that count for an anchor."""

    @property
    def size(self) -> int:
        """Return the items of a set."""
        return sum(self.sizes.values())

    def stratum(self, at: int) -> Key:
        """Return the stratum of the item at a position."""
        return self.strata[int(self.codes[at])]

    def upper(self, stratum: Key) -> int:
        """Return the most items of a stratum."""
        quota, size = self.quotas.get(stratum), self.sizes[stratum[0]]
        return size if quota is None or quota.upper is None else min(quota.upper, size)

    def sums_above(self, thresholds: Whole, items: Whole | None = None) -> Whole:
        """Return the weighted support of items above thresholds, in whole numbers.

        Args:
            thresholds: in levels, shape (anchors,).
            items: positions; None: all.
        """
        if isinstance(self.levels, SparseLevels):
            return self._sums_of_pairs(thresholds, items)
        rows = max(1, CHUNK_SCORES // max(1, len(self.weights)))
        count = len(self.ids) if items is None else len(items)
        parts = [
            np.maximum(self._rows(items, at, min(count, at + rows)).astype(np.int64) - thresholds, 0)
            @ self.weights
            for at in range(0, count, rows)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def _sums_of_pairs(self, thresholds: Whole, items: Whole | None) -> Whole:
        """Add up over the pairs: float64 holds these sums, which stay below 2^53."""
        count = len(self.ids) if items is None else len(items)
        rows, columns, values = self.levels.pairs(slice(None) if items is None else items)
        above = np.maximum(values.astype(np.int64) - thresholds[columns], 0) * self.weights[columns]
        return np.bincount(rows, weights=above, minlength=count).astype(np.int64)

    def _rows(self, items: Whole | None, start: int, stop: int) -> NDArray[Any]:
        rows: NDArray[Any] = self.levels[slice(start, stop) if items is None else items[start:stop]]
        return rows

    def count(self, item_ids: Iterable[str]) -> Counted:
        """Return what counts of a set."""
        counted = Counted(np.zeros((self.folds, len(self.weights)), dtype=np.int64))
        for item_id in item_ids:
            counted.add(self.levels[self.position[item_id]])
        return counted

    def gains(self, item_ids: Iterable[str]) -> list[int]:
        """Return what each item adds to those before it."""
        counted, gains = self.count(()), []
        for item_id in item_ids:
            row = self.levels[self.position[item_id]].astype(np.int64)
            gains.append(int(np.maximum(row - counted.least, 0) @ self.weights))
            counted.add(row)
        return gains

    def reach(self) -> Whole:
        """Return the best level of each anchor over all items that may be taken."""
        if isinstance(self.levels, SparseLevels):
            taken = np.flatnonzero(~mask_of(self, self.barred))
            return self.levels.take(taken).max(axis=0).astype(np.int64)
        shut, best = mask_of(self, self.barred), np.zeros(len(self.weights), dtype=np.int64)
        rows = max(1, CHUNK_SCORES // max(1, len(self.weights)))
        for at in range(0, len(self.ids), rows):
            levels = np.where(shut[at : at + rows, None], 0, self.levels[at : at + rows])
            best = np.maximum(best, levels.max(axis=0, initial=0))
        return best


def count_strata(domain: Domain, item_ids: Iterable[str]) -> dict[Key, int]:
    """Count the items of each stratum."""
    counts: dict[Key, int] = {}
    for item_id in item_ids:
        name = domain.stratum(domain.position[item_id])
        counts[name] = counts.get(name, 0) + 1
    return counts


def mask_of(domain: Domain, item_ids: Iterable[str]) -> NDArray[np.bool_]:
    """Return a mask over the domain's items; ids of other domains are passed over."""
    mask = np.zeros(len(domain.ids), dtype=bool)
    mask[[domain.position[item_id] for item_id in item_ids if item_id in domain.position]] = True
    return mask
