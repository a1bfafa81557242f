"""One selection problem in whole numbers and indices: scores, strata, quotas, conflicts."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kina_build.selection.solver.conflicts import Conflicts, Indices
from kina_build.selection.solver.kernels import sum_gains
from kina_build.selection.solver.shards import Shards
from kina_build.support.levels import take_ids
from kina_build.support.matrix import SupportMatrix
from kina_build.support.sparse import SparseLevels, ordered, rows_of

JOINT = "\0"
"""Stands between a domain and a name of its own, and between joined domains."""


@dataclass(frozen=True)
class Problem:
    """So many items of each domain to choose, within the quotas of each stratum, no two in conflict."""

    matrix: SupportMatrix
    """Of joined domains: their anchors side by side, each domain's items scored on its own alone."""
    sizes: Indices
    """Items to take of each domain, shape (domains,)."""
    strata: tuple[str, ...]
    """Of joined domains: domain, NUL, stratum."""
    stratum: Indices
    """Shape (items,): position in `strata`."""
    lower: Indices
    """Shape (strata,)."""
    upper: Indices
    """Shape (strata,); where no bound was given, `size`."""
    conflicts: Conflicts
    must: Indices
    """Items fixed in advance; they count toward size and quotas."""
    barred: NDArray[np.bool_]
    """Items that may not be taken."""
    shards: Shards | None = None
    """Where the levels are on disk: who reads them."""
    domains: tuple[str, ...] = ("",)
    """One, or those that conflicts join."""
    owner: Indices | None = None
    """Domain of each stratum of joined domains, shape (strata,)."""
    columns: tuple[tuple[str, str], ...] = ()
    """Domain and anchor of each column of joined domains."""
    folds: int = 1
    """r: an anchor counts through its r best items, each with weight 1; 1 is the paper's objective."""

    @functools.cached_property
    def size(self) -> int:
        """Return the items to take in all."""
        return int(self.sizes.sum())

    @functools.cached_property
    def group(self) -> Indices:
        """Return the domain of each stratum, shape (strata,)."""
        return np.zeros(len(self.strata), dtype=np.int64) if self.owner is None else self.owner

    def by_domain(self, counts: Indices) -> Indices:
        """Add up counts of strata, shape (strata,), by domain."""
        return np.bincount(self.group, weights=counts, minlength=len(self.domains)).astype(np.int64)

    def places(self, stratum: int) -> tuple[str, str]:
        """Return the domain and the own name of a stratum."""
        domain, name = self.domains[int(self.group[stratum])], self.strata[stratum]
        return domain, name if self.owner is None else name[len(domain) + len(JOINT) :]

    @functools.cached_property
    def weights(self) -> NDArray[np.float64]:
        """Return the anchor weights; all sums stay below 2^53, so float64 holds them exactly."""
        return self.matrix.weights.astype(np.float64)

    @functools.cached_property
    def centrality(self) -> NDArray[np.float64]:
        """Return the objective of each item alone, shape (items,)."""
        return self.price(np.zeros(len(self.weights)))

    @functools.cached_property
    def shut_by_must(self) -> Indices:
        """Return the must-include items and all that they are in conflict with."""
        near = [self.conflicts.of(item) for item in self.must.tolist()]
        together: Indices = np.unique(np.concatenate([self.must, *near]))
        return together

    @functools.cached_property
    def lone(self) -> tuple[Indices, ...]:
        """Return the items of each stratum that are not barred and in no conflict, rising."""
        open_items = ~self.barred
        open_items[self.conflicts.tied] = False
        open_items[self.must] = False
        items = np.flatnonzero(open_items)
        order = items[np.argsort(self.stratum[items], kind="stable")]
        counts = np.bincount(self.stratum[items], minlength=len(self.strata))
        return tuple(np.split(order, np.cumsum(counts)[:-1]))

    def price(self, thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each item has above thresholds: one pass over all levels, shape (items,)."""
        if self.shards is not None:
            return self.shards.sum_gains(self.weights, thresholds)
        return sum_gains(self.matrix.levels, self.weights, thresholds)

    def tops(self, items: Iterable[int]) -> NDArray[np.float64]:
        """Return the levels of each anchor that count over some items, shape (r, anchors)."""
        chosen = np.fromiter(items, dtype=np.int64)
        if isinstance(self.matrix.levels, SparseLevels):
            return self.matrix.levels.tops(chosen, self.folds)
        best = np.zeros((self.folds, len(self.weights)))
        count = min(self.folds, len(chosen))
        if count:
            levels, rest = self.matrix.levels[chosen], len(chosen) - count
            kept = levels.max(axis=0) if count == 1 else np.partition(levels, rest, axis=0)[rest:]
            best[self.folds - count :] = kept
        return best

    def cover(self, items: Iterable[int]) -> NDArray[np.float64]:
        """Return the level that an item must exceed to count for an anchor, shape (anchors,).

        It is the r-th largest level over some items, 0 where there are fewer: gains and prices of
        the r-fold objective are those of the plain one over these levels.
        """
        least: NDArray[np.float64] = self.tops(items).min(axis=0)
        return least

    def value(self, items: Iterable[int]) -> int:
        """Return the objective of a set, in steps of 1 / unit."""
        # each fold stays below 2^53, their sum need not
        return sum(int(fold @ self.weights) for fold in self.tops(items))

    def counts(self, items: Iterable[int]) -> Indices:
        """Count the items of each stratum, shape (strata,)."""
        chosen = np.array(list(items), dtype=np.int64)
        return np.bincount(self.stratum[chosen], minlength=len(self.strata)).astype(np.int64)

    def allows(self, items: Sequence[int]) -> bool:
        """Tell whether a set meets every constraint."""
        chosen = set(items)
        counts = self.counts(items)
        clash = any(chosen.intersection(self.conflicts.of(item).tolist()) - {item} for item in chosen)
        return bool(
            len(chosen) == len(items)
            and (self.by_domain(counts) == self.sizes).all()
            and (counts >= self.lower).all()
            and (counts <= self.upper).all()
            and not clash
            and not self.barred[list(chosen)].any()
            and chosen.issuperset(self.must.tolist())
        )

    def relaxed(self, sizes: Indices, lower: Indices) -> Problem:
        """Return the same problem with other sizes and other lower quotas."""
        return replace(self, sizes=sizes, lower=lower, upper=np.minimum(self.upper, sizes[self.group]))

    def folded(self, folds: int) -> Problem:
        """Return the same problem with another number of items that count for an anchor."""
        return replace(self, folds=folds)

    def narrowed(self, items: Indices) -> Problem:
        """Return the problem over some items, all must-include items among them.

        Args:
            items: rising item numbers; in the new problem an item is its place in them.
        """
        matrix, columns, levels = self.matrix, self.columns, rows_of(self.matrix.levels, items)
        if isinstance(levels, SparseLevels):
            # anchors that none of them supports add nothing: what is left is a small plain array
            own = np.flatnonzero(levels.max(axis=0))
            names = tuple(matrix.anchor_ids[at] for at in own.tolist())
            columns = tuple(columns[at] for at in own.tolist()) if columns else columns
            matrix = replace(matrix, anchor_ids=names, weights=matrix.weights[own])
            levels = ordered(levels, own)[:]
        ids = take_ids(matrix.item_ids, items)
        return replace(
            self,
            matrix=replace(matrix, item_ids=ids, levels=levels, on_disk=False),
            columns=columns,
            shards=None,
            stratum=self.stratum[items],
            conflicts=self.conflicts.narrowed(items),
            must=np.searchsorted(items, self.must),
            barred=self.barred[items],
        )


PARTITION_FROM = 20_000
"""Items from which leaving the hopeless away before a sort pays."""


def contenders(problem: Problem, values: NDArray[np.float64], most: int | None = None) -> Indices:
    """Return the items that can be among the largest values a set may hold, rising.

    Left away are items without conflict behind enough others of their stratum, by value and
    then by number.

    Args:
        problem: the instance.
        values: shape (items,).
        most: items of a stratum that are enough; None: its upper quota.
    """
    if len(values) < PARTITION_FROM:
        return np.arange(len(values))
    enough = problem.upper.tolist() if most is None else [most] * len(problem.strata)
    kept = [largest(group, values, count) for group, count in zip(problem.lone, enough, strict=True)]
    together: Indices = np.unique(np.concatenate([*kept, problem.conflicts.tied, problem.must]))
    return together


def largest(items: Indices, values: NDArray[np.float64], most: int) -> Indices:
    """Return the items of largest value, of equals the first.

    Args:
        items: rising.
        values: by item.
        most: how many at most.
    """
    if len(items) <= most or not most:
        return items[:most]
    own = values[items]
    mark = np.partition(own, len(own) - most)[len(own) - most]
    above = items[own > mark]
    return np.concatenate([above, items[own == mark][: most - len(above)]])
