"""The proven optimum of an instance, by HiGHS, where it is small enough.

The program has one binary an item and one variable a level of an anchor: z[u, l] says that
some taken item reaches level l of anchor u (the radius formulation of Cornuejols, Nemhauser
and Wolsey 1990), or how many do, up to the r that count. Items that the dual bound prices out
of every better set are left away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import SelectionRules
from kina_build.errors import UsageError
from kina_build.selection.solver.bounds import UpperBound, bound_at, tighten
from kina_build.selection.solver.conflicts import Indices
from kina_build.selection.solver.problem import Problem
from kina_build.selection.solver.shortage import clash_groups
from kina_build.support.sparse import pairs_of

if TYPE_CHECKING:
    from scipy.optimize import LinearConstraint

Entries = tuple[list[Any], list[Any], list[Any]]
"""Rows, columns and values of a sparse matrix, in pieces."""

NEARLY = 1e-6
"""Share by which the solver may miss a whole number."""
OBJECTIVE_RANGE = 1e5
"""Size the objective is brought to: HiGHS stops at an absolute gap of 1e-6, here 1e-11 of the optimum."""


@dataclass(frozen=True)
class Optimum:
    """The best set found by the solver."""

    items: tuple[int, ...]
    value: int
    """In steps of 1 / unit, recomputed from the items."""
    proven: bool
    """Whether the solver closed the gap within its time."""
    considered: int
    """Items the solver looked at; the dual bound excluded the others."""


def solve(
    problem: Problem, known: Sequence[int], upper: UpperBound, rules: SelectionRules = SelectionRules()
) -> Optimum:
    """Find the optimum, starting from a known set and a bound.

    Args:
        problem: the instance, feasible.
        known: a set that meets the constraints; the better, the fewer items are left.
        upper: a dual bound of the same instance.
        rules: settings.

    Raises:
        UsageError: too many items are left for an exact solution.
    """
    value = problem.value(known)
    if value >= upper.value:
        return Optimum(tuple(known), value, proven=True, considered=0)
    items = survivors(problem, known, upper)
    if len(items) > rules.exact_items:
        raise UsageError(
            f"{len(items)} items could be in the optimum: too many for an exact solution",
            hint=f"selection.exact_items in kina.toml allows {rules.exact_items}",
        )
    shares, proven = _ask_highs(problem, items, rules.exact_seconds)
    chosen = [] if shares is None else items[np.rint(shares) > 0].tolist()
    best = chosen if chosen and problem.allows(chosen) and problem.value(chosen) > value else list(known)
    return Optimum(tuple(best), problem.value(best), proven, len(items))


def bound_by_relaxation(
    problem: Problem, known: Sequence[int], upper: UpperBound, rules: SelectionRules = SelectionRules()
) -> UpperBound:
    """Lower a bound by the thresholds at which the linear relaxation has its optimum.

    There an anchor is full up to the largest level that its fractional items reach together, and
    that level is its dual price; the solver's numbers only propose it, the bound is in whole numbers.

    Args:
        problem: the instance, feasible.
        known: a set that meets the constraints.
        upper: a bound of the same instance.
        rules: settings.
    """
    items = survivors(problem, known, upper)
    if problem.value(known) >= upper.value or len(items) > rules.exact_items:
        return upper
    shares = _ask_highs(problem, items, rules.exact_seconds, whole=False)[0]
    if shares is None:
        return upper
    found = bound_at(problem, _full_levels(problem, items, shares))
    return min(upper, found, tighten(problem, tuple(known), found, rules), key=lambda bound: bound.value)


def _full_levels(problem: Problem, items: Indices, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest level of each anchor that items, taken by their shares, reach as often as counts."""
    rows, anchors, levels = pairs_of(problem.matrix.levels, items)
    order = np.lexsort((-levels.astype(np.int64), anchors))
    rows, anchors, levels = rows[order], anchors[order], levels[order]
    total = np.cumsum(shares[rows])
    first = np.searchsorted(anchors, anchors)
    inside = total - total[first] + shares[rows[first]]
    full = np.zeros(len(problem.weights))
    reached = inside >= problem.folds - NEARLY
    np.maximum.at(full, anchors[reached], levels[reached])
    return full


def survivors(problem: Problem, known: Sequence[int], upper: UpperBound) -> Indices:
    """Return the items that may be in a set better than the known one.

    The best price sum with item q forced in replaces one item of `upper.best`, so it is at
    most upper.value - (cheapest of them) + price(q).
    """
    swappable = np.setdiff1d(upper.best, problem.must)
    full = len(upper.best) == problem.size and len(swappable) > 0
    cheapest = float(upper.prices[swappable].min()) if full else 0.0
    reach = upper.value - cheapest + upper.prices
    kept = np.flatnonzero((reach > problem.value(known)) & ~problem.barred)
    return np.union1d(kept, np.array([*known, *problem.must], dtype=np.int64))


def _ask_highs(
    problem: Problem, items: Indices, seconds: float, *, whole: bool = True
) -> tuple[NDArray[np.float64] | None, bool]:
    """Return the share of each item in the best solution, and whether that is proven; whole or fractional."""
    from scipy.optimize import Bounds, milp

    gains, levels, rows = _level_rows(problem, items)
    width = len(items) + len(gains)
    scale = OBJECTIVE_RANGE / max(1.0, float(gains.sum()))
    least = np.concatenate([np.isin(items, problem.must), np.zeros(len(gains))]).astype(float)
    answer = milp(
        -np.concatenate([np.zeros(len(items)), gains * scale]),
        integrality=np.concatenate([np.full(len(items), whole), np.zeros(len(gains))]).astype(np.int64),
        bounds=Bounds(least, np.append(np.ones(len(items)), np.full(len(gains), float(problem.folds)))),
        constraints=[_at_most_zero(rows, levels, width), *_set_rows(problem, items, width)],
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
    if answer.x is None:
        return None, False
    return answer.x[: len(items)], bool(answer.status == 0)


def _level_rows(problem: Problem, items: Indices) -> tuple[NDArray[np.float64], int, Entries]:
    """Build z[u, l] - z[u, next l] - sum of items at level l <= 0 for each anchor and level met.

    Returns:
        What each z adds to the objective, the number of rows, and the entries of the rows.
    """
    holders, anchors, held = pairs_of(problem.matrix.levels, items)
    order = np.lexsort((holders, anchors))
    holders, held = holders[order], held[order].astype(np.int64)
    ends = np.searchsorted(anchors[order], np.arange(len(problem.weights) + 1))
    gains: list[float] = []
    rows: list[Any] = []
    columns: list[Any] = []
    values: list[Any] = []
    for anchor in np.flatnonzero(problem.weights > 0).tolist():
        own = slice(ends[anchor], ends[anchor + 1])
        met = np.unique(held[own])
        steps = np.diff(np.concatenate([[0], met]))
        first = len(gains)
        gains += (steps * problem.weights[anchor]).tolist()
        z = first + np.arange(len(met))
        at = first + np.searchsorted(met, held[own])
        rows += [z, z[:-1], at]
        columns += [len(items) + z, len(items) + z[:-1] + 1, holders[own]]
        values += [np.ones(len(z)), -np.ones(max(0, len(z) - 1)), -np.ones(len(at))]
    return np.array(gains), len(gains), (rows, columns, values)


def _at_most_zero(entries: Entries, count: int, width: int) -> LinearConstraint:
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array

    rows, columns, values = (np.concatenate(part) if part else np.zeros(0, dtype=int) for part in entries)
    return LinearConstraint(csr_array((values, (rows, columns)), shape=(count, width)), -np.inf, 0)


def _set_rows(problem: Problem, items: Indices, width: int) -> list[LinearConstraint]:
    """Build the rows on items alone: size, quotas, cliques and pairs."""
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array

    strata, domains = len(problem.strata), len(problem.domains)
    counts = np.zeros((strata + domains, width))
    counts[problem.stratum[items], np.arange(len(items))] = 1
    counts[strata + problem.group[problem.stratum[items]], np.arange(len(items))] = 1
    lows, highs = (np.append(bound, problem.sizes) for bound in (problem.lower, problem.upper))
    found = [LinearConstraint(csr_array(counts), lows, highs)]
    position = {int(item): index for index, item in enumerate(items)}
    groups = clash_groups(problem, items)
    if groups:
        columns = [position[item] for group in groups for item in group if item in position]
        rows = [row for row, group in enumerate(groups) for item in group if item in position]
        table = csr_array((np.ones(len(columns)), (rows, columns)), shape=(len(groups), width))
        found.append(LinearConstraint(table, -np.inf, 1))
    return found
