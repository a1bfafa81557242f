"""What may still be added to a set so that it can yet be completed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kina_build.selection.problem import Problem


class Room:
    """Track what a growing set leaves open.

    Quotas are kept as the extendable matroid of El Halabi et al. 2020 ("Fairness in
    streaming submodular maximization", section 3): a set may hold at most upper_h items of
    stratum h and must keep sum_h max(count_h, lower_h) <= size, so that the places the
    lower quotas still need are never given away.
    """

    def __init__(self, problem: Problem, items: Iterable[int] = ()) -> None:
        self.problem = problem
        self.counts = np.zeros(len(problem.strata), dtype=np.int64)
        self.blocked = problem.barred.copy()
        for item in items:
            self.take(item)

    @property
    def places(self) -> int:
        """Return how many items are yet to be taken."""
        return max(0, self.problem.size - int(self.counts.sum()))

    @property
    def free(self) -> NDArray[np.int64]:
        """Return each domain's places that no lower quota claims; negative where quotas ask too much."""
        problem = self.problem
        return problem.sizes - problem.by_domain(np.maximum(self.counts, problem.lower))

    def take(self, item: int) -> None:
        """Add an item: it, and what it is in conflict with, is no longer open."""
        self.counts[self.problem.stratum[item]] += 1
        self.blocked[item] = True
        self.blocked[self.problem.conflicts.of(item)] = True

    def open_strata(self) -> NDArray[np.bool_]:
        """Tell which strata can take one more item, shape (strata,)."""
        problem = self.problem
        below = self.counts < problem.lower
        return (self.counts < problem.upper) & (below | (self.free > 0)[problem.group])

    def open_items(self) -> NDArray[np.bool_]:
        """Tell which items can be added, shape (items,)."""
        return self.open_strata()[self.problem.stratum] & ~self.blocked
