"""What a growing set covers, and what it leaves open."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kina_build.selection.solver.problem import Problem
from kina_build.support.sparse import SparseLevels


class Cover:
    """The levels of each anchor that count as a set grows."""

    def __init__(self, problem: Problem, items: Iterable[int] = ()) -> None:
        self._levels = problem.matrix.levels
        self._tops = problem.tops(items)
        self._columns = np.arange(self._tops.shape[1])
        self.least = self._tops.min(axis=0)
        """What an item must exceed to count, shape (anchors,)."""

    def add(self, item: int) -> None:
        """Add an item: it takes the place of the least level that counts, where it is larger."""
        if isinstance(self._levels, SparseLevels):
            columns, levels = self._levels.row(item)
            own = self._tops[:, columns]
            own[own.argmin(axis=0), np.arange(len(columns))] = np.maximum(own.min(axis=0), levels)
            self._tops[:, columns] = own
            self.least[columns] = own.min(axis=0)
            return
        levels = self._levels[item]
        if len(self._tops) == 1:
            self._tops = np.maximum(self._tops, levels)
        else:
            place = self._tops.argmin(axis=0), self._columns
            self._tops[place] = np.maximum(self.least, levels)
        self.least = self._tops.min(axis=0)


class Room:
    """What a growing set leaves open.

    Quotas are kept as the extendable matroid of El Halabi et al. 2020 ("Fairness in
    streaming submodular maximization", section 3): a set may hold at most upper_h items of
    stratum h and must keep sum_h max(count_h, lower_h) <= size, so that the places the
    lower quotas still need are never given away.
    """

    def __init__(self, problem: Problem, items: Iterable[int] = ()) -> None:
        self.problem = problem
        self.counts = np.zeros(len(problem.strata), dtype=np.int64)
        self.blocked = problem.barred.copy()
        self.closed: list[int] = []
        """Items closed since the start, in the order they were."""
        self.places = problem.size
        """How many items are yet to be taken."""
        self.free = problem.sizes - problem.by_domain(problem.lower)
        """Each domain's places that no lower quota claims; negative where quotas ask too much."""
        self._open = self._look()
        for item in items:
            self.take(item)

    def take(self, item: int) -> None:
        """Add an item: it, and what it is in conflict with, is no longer open."""
        problem, h = self.problem, self.problem.stratum[item]
        near = problem.conflicts.of(item)
        self.blocked[item] = True
        self.closed.append(item)
        if len(near):
            self.blocked[near] = True
            self.closed += near.tolist()
        self.places = max(0, self.places - 1)
        claimed = self.counts[h] < problem.lower[h]
        self.counts[h] += 1
        if not claimed:
            self.free[problem.group[h]] -= 1
        if claimed or self.free[problem.group[h]] == 0 or self.counts[h] == problem.upper[h]:
            self._open = self._look()

    def open_strata(self) -> NDArray[np.bool_]:
        """Tell which strata can take one more item, shape (strata,)."""
        return self._open

    def open_items(self) -> NDArray[np.bool_]:
        """Tell which items can be added, shape (items,)."""
        return self._open[self.problem.stratum] & ~self.blocked

    def _look(self) -> NDArray[np.bool_]:
        problem = self.problem
        below = self.counts < problem.lower
        return (self.counts < problem.upper) & (below | (self.free > 0)[problem.group])
