"""Can the constraints be met at all, and if not, which stratum or cluster stands in the way?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import KinaError, Refusal
from kina_build.selection.solver.conflicts import Indices
from kina_build.selection.solver.cuts import prove
from kina_build.selection.solver.problem import JOINT, Problem

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NAMED_CLUSTERS = 5
"""Clusters an infeasibility report names for each stratum."""


@dataclass(frozen=True)
class Shortage:
    """By how much the best supply misses the constraints."""

    size: int
    """Items lacking to the size asked for."""
    strata: dict[str, int]
    """Stratum to items lacking to its lower quota."""
    clusters: dict[str, tuple[tuple[str, ...], ...]]
    """Stratum to the largest sets of mutually conflicting items that use up its supply."""
    shown: bool = True
    """Whether counts alone show it; pairwise conflicts are otherwise the solver's word."""

    def told(self, size: int) -> str:
        """Say that a number of items cannot be had, and how sure that is."""
        if self.shown:
            return f"no {size} items meet the constraints: {self}"
        return f"found no {size} items that meet the constraints (not shown to be infeasible): {self}"

    def __str__(self) -> str:
        """Name what is lacking, in one line."""
        parts = [f"{self.size} items short"] if self.size or not self.strata else []
        parts += [f"stratum {name!r} lacks {count}" for name, count in self.strata.items()]
        for name, groups in self.clusters.items():
            inside = f" in {name!r}" if name else ""
            parts += [f"only one of {', '.join(group)}{inside} may be taken" for group in groups]
        return "; ".join(parts)


class Infeasible(Refusal):
    """A refusal because no set meets the constraints, with the shortage."""

    def __init__(self, message: str, shortage: Shortage) -> None:
        super().__init__(message, hint="--allow-shortfall takes the best set that can be had")
        self.shortage = shortage


@dataclass(frozen=True)
class Supply:
    """A fullest set that the constraints allow, conflicted items by name, the rest by count."""

    conflicted: tuple[int, ...]
    counts: Indices
    """Items of each stratum, shape (strata,)."""
    sizes: Indices
    """Items of each domain, shape (domains,)."""
    missing: Indices
    """Items lacking to each lower quota, shape (strata,)."""

    @property
    def size(self) -> int:
        """Return the items in all."""
        return int(self.sizes.sum())


def fullest(problem: Problem) -> Supply:
    """Find how many items can be had: first the lower quotas, then the size.

    Items without conflicts are counted by stratum, so the program that HiGHS solves has one
    variable for each stratum and each conflicted item, however many candidates there are.

    Raises:
        KinaError: HiGHS gave no answer.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    items, lone = _split(problem)
    strata = len(problem.strata)
    count = len(items) + 2 * strata  # one an item, then lone items and shortfall of each stratum
    cost = np.concatenate([-np.ones(len(items) + strata), np.full(strata, problem.size + 1.0)])
    upper = np.concatenate([np.ones(len(items)), lone, problem.lower.astype(float)])
    least = np.concatenate([np.isin(items, problem.must), np.zeros(2 * strata)]).astype(float)
    held_lone = np.setdiff1d(problem.must, items)
    least[len(items) : len(items) + strata] = problem.counts(held_lone)
    rows, lows, highs = _quota_rows(problem, items)
    constraints = [LinearConstraint(rows, lows, highs)]
    clashes = _clash_rows(problem, items, count)
    if clashes is not None:
        constraints.append(LinearConstraint(clashes, -np.inf, 1))
    whole_numbers = np.ones(count, dtype=np.int64)
    answer = milp(cost, integrality=whole_numbers, bounds=Bounds(least, upper), constraints=constraints)
    if answer.x is None:
        raise KinaError(f"HiGHS could not tell how many items can be had: {answer.message}")
    whole = np.rint(answer.x).astype(np.int64)
    picked = items[whole[: len(items)] > 0]
    counts = whole[len(items) : len(items) + strata] + problem.counts(picked)
    missing = whole[len(items) + strata :]
    return Supply(tuple(picked.tolist()), counts, problem.by_domain(counts), missing)


def describe_shortage(problem: Problem, supply: Supply) -> Shortage:
    """Turn a fullest set into words: which strata lack items, and which clusters use them up."""
    short = np.flatnonzero(supply.missing)
    strata = {_named(problem, h): int(supply.missing[h]) for h in short.tolist()}
    where = short if len(short) else np.arange(len(problem.strata))
    groups = {_named(problem, h): _largest_cliques(problem, h) for h in where.tolist()}
    named = {name: found for name, found in groups.items() if found}
    shown = prove(problem, supply.counts, supply.conflicted, supply.missing) is not None
    return Shortage(problem.size - supply.size, strata, named, shown)


def _named(problem: Problem, stratum: int) -> str:
    return problem.strata[stratum].replace(JOINT, "/")


def _largest_cliques(problem: Problem, stratum: int) -> tuple[tuple[str, ...], ...]:
    tied = problem.conflicts.tied
    inside = tied[(problem.stratum[tied] == stratum) & ~problem.barred[tied]]
    groups: dict[int, list[str]] = {}
    for item in inside.tolist():
        groups.setdefault(int(problem.conflicts.clique[item]), []).append(problem.matrix.item_ids[item])
    large = sorted((g for g in groups.values() if len(g) > 1), key=lambda g: (-len(g), g))
    return tuple(tuple(group) for group in large[:NAMED_CLUSTERS])


def _split(problem: Problem) -> tuple[Indices, NDArray[np.float64]]:
    """Return the items in conflict, and the number of all others in each stratum."""
    tied = problem.conflicts.tied[~problem.barred[problem.conflicts.tied]]
    open_items = np.bincount(problem.stratum[~problem.barred], minlength=len(problem.strata))
    return tied, (open_items - problem.counts(tied)).astype(float)


def _quota_rows(
    problem: Problem, items: Indices
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Build rows: count + shortfall >= lower; count <= upper; counts of a domain <= its size."""
    strata = len(problem.strata)
    counts = np.zeros((strata, len(items) + 2 * strata))
    counts[problem.stratum[items], np.arange(len(items))] = 1
    counts[np.arange(strata), len(items) + np.arange(strata)] = 1
    lacking = counts.copy()
    lacking[np.arange(strata), len(items) + strata + np.arange(strata)] = 1
    domains = np.zeros((len(problem.domains), counts.shape[1]))
    np.add.at(domains, problem.group, counts)
    rows = np.vstack([lacking, counts, domains])
    lows = np.concatenate([problem.lower, np.full(strata + len(domains), -np.inf)])
    highs = np.concatenate([np.full(strata, np.inf), problem.upper, problem.sizes])
    return rows, lows, highs


def _clash_rows(problem: Problem, items: Indices, width: int) -> csr_array | None:
    """Build one row a clique and one a conflict between cliques, each at most 1."""
    from scipy.sparse import csr_array

    position = {int(item): index for index, item in enumerate(items)}
    groups = [[position[i] for i in group if i in position] for group in clash_groups(problem, items)]
    groups = [group for group in groups if len(group) > 1]
    if not groups:
        return None
    columns = [column for group in groups for column in group]
    rows = [row for row, group in enumerate(groups) for _ in group]
    return csr_array((np.ones(len(columns)), (rows, columns)), shape=(len(groups), width))


def clash_groups(problem: Problem, items: Iterable[int]) -> Sequence[list[int]]:
    """List sets of which one item at most may be taken: the cliques, then the pairs across them."""
    conflicts = problem.conflicts
    chosen = sorted(int(item) for item in items)
    cliques: dict[int, list[int]] = {}
    for item in chosen:
        cliques.setdefault(int(conflicts.clique[item]), []).append(item)
    pairs = [
        [item, other]
        for item in chosen
        for other in conflicts.of(item).tolist()
        if item < other and conflicts.clique[item] != conflicts.clique[other]
    ]
    return [group for group in cliques.values() if len(group) > 1] + pairs
