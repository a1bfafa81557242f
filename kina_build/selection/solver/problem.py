"""One selection problem in whole numbers and indices: scores, strata, quotas, conflicts."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import InputError, Refusal
from kina_build.selection.inputs import Pair
from kina_build.selection.labels import code_items
from kina_build.selection.records import ConflictMode, Quota
from kina_build.selection.solver.conflicts import Conflicts, Indices, index_conflicts
from kina_build.selection.solver.passes import sum_gains
from kina_build.selection.solver.shards import Shards
from kina_build.support.ids import take_ids
from kina_build.support.matrix import SupportMatrix
from kina_build.support.parts import slices

JOINT = "\0"
"""Stands between a domain and a name of its own, and between joined domains."""


@dataclass(frozen=True)
class Problem:
    """Choose so many items of each domain, within lower and upper of each stratum, no two in conflict."""

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

    def cover(self, items: Iterable[int]) -> NDArray[np.float64]:
        """Return the best level of each anchor over some items, shape (anchors,)."""
        chosen = np.fromiter(items, dtype=np.int64)
        if not len(chosen):
            return np.zeros(len(self.weights))
        best: NDArray[np.float64] = self.matrix.levels[chosen].max(axis=0).astype(np.float64)
        return best

    def value(self, items: Iterable[int]) -> int:
        """Return the objective of a set, in steps of 1 / unit."""
        return int(self.cover(items) @ self.weights)

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

    def narrowed(self, items: Indices) -> Problem:
        """Return the problem over some items, all must-include items among them.

        Args:
            items: rising item numbers; in the new problem an item is its place in them.
        """
        ids = take_ids(self.matrix.item_ids, items)
        return replace(
            self,
            matrix=replace(self.matrix, item_ids=ids, levels=self.matrix.levels[items]),
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


def build_problem(
    matrix: SupportMatrix,
    size: int,
    *,
    strata: Mapping[str, str] | None = None,
    quotas: Sequence[Quota] = (),
    conflicts: Sequence[Pair] = (),
    mode: ConflictMode = "clusters",
    must: Collection[str] = (),
    exclude: Collection[str] = (),
    shards: Shards | None = None,
    domain: str = "",
) -> Problem:
    """Turn names into indices.

    Args:
        matrix: the candidates' support.
        size: items to take (K).
        strata: item to stratum; None puts all items into one.
        quotas: bounds by stratum; a stratum without one is free.
        conflicts: pairs not to be taken together; items without scores only link clusters.
        mode: whether a pair binds its whole connected cluster or itself only.
        must: items fixed in advance.
        exclude: items left out.
        shards: who reads the levels, where they are on disk.
        domain: its name.

    Raises:
        InputError: an item without a stratum.
        Refusal: must-include items that break a constraint among themselves.
    """
    names, stratum = _index_strata(matrix, strata, quotas)
    bounds = {quota.stratum: quota for quota in quotas}
    uppers = [bounds[name].upper if name in bounds else None for name in names]
    barred = np.zeros(len(matrix.item_ids), dtype=bool)
    barred[matrix.rows(exclude)] = True
    problem = Problem(
        matrix=matrix,
        sizes=np.array([size], dtype=np.int64),
        strata=names,
        stratum=stratum,
        lower=np.array([bounds[name].lower if name in bounds else 0 for name in names], dtype=np.int64),
        upper=np.array([size if upper is None else min(upper, size) for upper in uppers], dtype=np.int64),
        conflicts=index_conflicts(matrix.item_ids, conflicts, mode),
        must=np.array(sorted(matrix.rows(must)), dtype=np.int64),
        barred=barred,
        shards=shards,
        domains=(domain,),
    )
    _check_must(problem)
    return problem


def join_problems(problems: Sequence[Problem], conflicts: Sequence[Pair], mode: ConflictMode) -> Problem:
    """Put domains that conflicts join into one problem: the objective is the sum over the domains.

    Args:
        problems: of the domains, sorted by name.
        conflicts: pairs of all items.
        mode: how they bind.
    """
    ids = [item_id for one in problems for item_id in one.matrix.item_ids]
    order = sorted(range(len(ids)), key=ids.__getitem__)
    kept = [np.flatnonzero(_supported(one.matrix)) for one in problems]
    first = problems[0].matrix
    levels = np.zeros((len(ids), sum(map(len, kept))), dtype=first.levels.dtype)
    down = across = 0
    columns: list[tuple[str, str]] = []
    for one, own in zip(problems, kept, strict=True):
        height = len(one.matrix.item_ids)
        levels[down : down + height, across : across + len(own)] = one.matrix.levels[0:height][:, own]
        down, across = down + height, across + len(own)
        columns += [(one.domains[0], first.anchor_ids[column]) for column in own.tolist()]
    starts = np.cumsum([0, *(len(one.strata) for one in problems)])
    stratum = np.concatenate([one.stratum + at for one, at in zip(problems, starts[:-1], strict=True)])
    must = np.concatenate([_mask(one.must, len(one.stratum)) for one in problems])
    matrix = replace(
        first,
        item_ids=tuple(ids[row] for row in order),
        anchor_ids=tuple(JOINT.join(column) for column in columns),
        levels=levels[order],
        weights=np.concatenate([first.weights[own] for own in kept]),
    )
    return Problem(
        matrix=matrix,
        sizes=np.concatenate([one.sizes for one in problems]),
        strata=tuple(JOINT.join((one.domains[0], name)) for one in problems for name in one.strata),
        stratum=stratum[order],
        lower=np.concatenate([one.lower for one in problems]),
        upper=np.concatenate([one.upper for one in problems]),
        conflicts=index_conflicts(matrix.item_ids, conflicts, mode),
        must=np.flatnonzero(must[order]),
        barred=np.concatenate([one.barred for one in problems])[order],
        domains=tuple(one.domains[0] for one in problems),
        owner=np.repeat(np.arange(len(problems)), [len(one.strata) for one in problems]),
        columns=tuple(columns),
    )


def _supported(matrix: SupportMatrix) -> NDArray[np.bool_]:
    """Tell which anchors some item supports, shape (anchors,)."""
    found = np.zeros(len(matrix.anchor_ids), dtype=bool)
    for rows in slices(matrix):
        found |= (matrix.levels[rows] > 0).any(axis=0)
    return found


def _mask(items: Indices, count: int) -> NDArray[np.bool_]:
    mask = np.zeros(count, dtype=bool)
    mask[items] = True
    return mask


def _index_strata(
    matrix: SupportMatrix, strata: Mapping[str, str] | None, quotas: Sequence[Quota]
) -> tuple[tuple[str, ...], Indices]:
    found, codes = code_items(strata, matrix.item_ids)
    lacking = np.flatnonzero(codes < 0)
    if len(lacking):
        raise InputError(
            f"item {matrix.item_ids[int(lacking[0])]!r} has support scores but no stratum"
            f" ({len(lacking)} such items)",
            hint="--strata must cover every scored item",
        )
    if strata is None:
        return found, codes
    names = sorted({*found, *(quota.stratum for quota in quotas)})
    place = np.array([names.index(name) for name in found], dtype=np.int64)
    return tuple(names), place[codes]


def _check_must(problem: Problem) -> None:
    """Refuse must-include items that already break a constraint.

    Raises:
        Refusal: too many of them, too many of a stratum, or two in conflict.
    """
    must, ids = problem.must.tolist(), problem.matrix.item_ids
    if len(must) > problem.size:
        raise Refusal(f"{len(must)} must-include items but only {problem.size} to select")
    over = np.flatnonzero(problem.counts(must) > problem.upper)
    if len(over):
        name = problem.strata[over[0]]
        raise Refusal(f"the must-include items exceed the upper quota of stratum {name!r}")
    for item in must:
        clash = sorted(set(must).intersection(problem.conflicts.of(item).tolist()) - {item})
        if clash:
            raise Refusal(f"must-include items {ids[item]!r} and {ids[clash[0]]!r} are in conflict")


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
