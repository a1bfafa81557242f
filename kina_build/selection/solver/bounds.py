"""Upper bounds on the optimum of an instance, in whole numbers.

For any thresholds lambda, one an anchor, and any set S,
    F(S) <= sum_u w_u lambda_u + sum over q in S of price(q),
    price(q) = sum_u w_u max(s(q, u) - lambda_u, 0),
because the item that covers anchor u best pays at least what exceeds lambda_u. Where an anchor
counts through its r best items, r lambda_u stands for lambda_u: the sum of the r largest numbers
is at most r lambda plus what all of them exceed lambda by. The largest
price sum over all sets that meet the constraints therefore bounds the optimum. lambda = the
coverage of a set gives the well-known online bound (Leskovec et al. 2007, section 3.2). The
lambda that gives the least bound is the dual solution of the linear relaxation (Cornuejols,
Fisher and Nemhauser 1977); we walk towards it by subgradients (Held, Wolfe and Crowder 1974).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import SelectionRules
from kina_build.selection.solver.conflicts import Indices
from kina_build.selection.solver.kernels import COMPILED_FROM, sum_gains
from kina_build.selection.solver.problem import Problem, contenders
from kina_build.support.sparse import SparseLevels, rows_of

Floats = NDArray[np.float64]

SHRINK = 0.6
"""Factor on the step after STALL steps without a better bound."""
STALL = 6
FINEST = 20
EXACT_BITS = 53
"""Of a float64."""
THREADED_FROM = 10_000
"""Numbers of a vector from which BLAS adds in several threads."""
LEAST_GAIN = 1e-4
"""Share by which a round must lower the bound, or it is idle."""
IDLE_ROUNDS = 3
"""Idle rounds in a row after which tightening ends."""
LEAST_STEP = 1e-3
"""Share of the Polyak step at which a walk ends."""


@dataclass(frozen=True)
class UpperBound:
    """No set that meets the constraints has an objective above `value`."""

    value: int
    """In steps of 1 / unit."""
    thresholds: NDArray[np.int64]
    """lambda in levels, shape (anchors,)."""
    prices: Floats
    """Shape (items,)."""
    best: Indices
    """The items that reach the largest price sum."""


def bound_at(problem: Problem, thresholds: NDArray[np.floating]) -> UpperBound:
    """Bound the optimum by given thresholds, rounded to whole levels.

    Args:
        problem: the instance, feasible.
        thresholds: lambda in levels, shape (anchors,).
    """
    whole = np.rint(thresholds)
    prices = problem.price(whole)
    among = contenders(problem, prices)
    best = among[dearest(problem, prices[among], among)]
    # a price stays below 2^53, a sum of many prices need not
    value = problem.folds * int(whole @ problem.weights) + sum(map(int, prices[best].tolist()))
    return UpperBound(value, whole.astype(np.int64), prices, best)


def bound_online(problem: Problem, items: tuple[int, ...]) -> UpperBound:
    """Bound the optimum by the coverage of a set: objective plus the largest remaining gains."""
    return bound_at(problem, problem.cover(items))


def tighten(
    problem: Problem, items: tuple[int, ...], start: UpperBound, rules: SelectionRules = SelectionRules()
) -> UpperBound:
    """Lower an upper bound by moving its thresholds.

    Args:
        problem: the instance.
        items: the best set known; its objective is what the walk aims at.
        start: a bound, usually the online one.
        rules: settings.

    Returns:
        The best bound met; at worst `start`.
    """
    goal, best, latest = problem.value(items), start, start
    idle = 0
    for _ in range(rules.dual_rounds):
        active = _active(problem, latest, items, rules.active_items)
        latest = bound_at(problem, _walk(problem, active, latest.thresholds, goal, rules))
        idle = idle + 1 if latest.value > best.value * (1 - LEAST_GAIN) else 0
        best = min(best, latest, key=lambda bound: bound.value)
        if best.value <= goal or idle >= IDLE_ROUNDS:
            break
    return best


def dearest(problem: Problem, prices: Floats, among: Indices) -> Indices:
    """Choose the items of the largest price sum that the constraints (a little relaxed) allow.

    Each stratum first fills its lower quota with its dearest items; the places left go to the
    dearest of the rest within the upper quotas, domain by domain: the best base of the quota matroid. Of each
    clique only the dearest item of a stratum counts; conflicts beyond that are dropped, which
    can only raise the bound.

    Args:
        problem: the instance.
        prices: non-negative, one for each of `among`.
        among: the items to choose from, must-include items among them.

    Returns:
        Positions in `among`.
    """
    chosen = np.isin(among, problem.must)
    held = problem.counts(problem.must)
    order = _sorted_leaders(problem, prices, among)
    strata = problem.stratum[among[order]]
    rank = held[strata] + _rank_within(strata, len(problem.strata))
    claimed = rank < problem.lower[strata]
    spare = np.flatnonzero(~claimed & (rank < problem.upper[strata]))
    free = problem.sizes - problem.by_domain(np.maximum(held, problem.lower))
    domain = problem.group[strata[spare]]
    within = _rank_within(domain, len(problem.domains)) < free[domain]
    parts = [np.flatnonzero(chosen), order[claimed], order[spare[within]]]
    together: Indices = np.concatenate(parts).astype(np.int64)
    return together


def _sorted_leaders(problem: Problem, prices: Floats, among: Indices) -> Indices:
    """Sort the open items by falling price; of a clique's items in one stratum keep the first."""
    shut = problem.barred[among]
    if len(problem.must):
        shut |= np.isin(among, problem.shut_by_must)
    open_items = np.flatnonzero(~shut)
    order: Indices = open_items[np.argsort(-prices[open_items], kind="stable")]
    if not len(problem.conflicts.members):
        return order
    cell = problem.conflicts.clique[among[order]] * len(problem.strata) + problem.stratum[among[order]]
    _, first = np.unique(cell, return_index=True)
    leaders: Indices = order[np.sort(first)]
    return leaders


def _rank_within(groups: Indices, count: int) -> Indices:
    """Number the members of each group from 0 in the order they stand."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=count)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    rank: Indices = np.empty(len(groups), dtype=np.int64)
    rank[order] = np.arange(len(groups)) - starts
    return rank


def _grid(problem: Problem) -> float:
    """Return how finely thresholds are kept: prices are then exact, in whatever order they are added up."""
    largest = int(problem.weights.sum()) * problem.matrix.scale
    return 2.0 ** max(0, min(FINEST, EXACT_BITS - largest.bit_length()))


def _dot(one: Floats, other: Floats) -> float:
    """Multiply two vectors; long ones not by BLAS, whose threads wait for each other and add as they come."""
    return float(one @ other) if len(one) < THREADED_FROM else float((one * other).sum())


def _count_above(levels: Any, chosen: Indices, thresholds: Floats) -> NDArray[Any]:
    """Count, for each anchor, the items above its threshold."""
    if not isinstance(levels, SparseLevels):
        counts: NDArray[Any] = (levels[chosen] > thresholds).sum(axis=0)
        return counts
    _, columns, values = levels.pairs(chosen)
    return np.bincount(columns[values > thresholds[columns]], minlength=len(thresholds))


def _active(problem: Problem, bound: UpperBound, items: tuple[int, ...], count: int) -> Indices:
    """Return the items that the walk looks at: the dearest, those in the bound and in the set."""
    if len(bound.prices) <= count:
        return np.arange(len(bound.prices))
    dear = np.argpartition(-bound.prices, count)[:count]
    together: Indices = np.unique(np.concatenate([dear, bound.best, np.array(items, dtype=np.int64)]))
    return together


def _walk(
    problem: Problem, active: Indices, start: NDArray[np.int64], goal: int, rules: SelectionRules
) -> Floats:
    """Take Polyak steps on the bound over the active items; return the best thresholds met."""
    levels, weights = rows_of(problem.matrix.levels, active), problem.weights
    compiled_from = 0 if len(problem.stratum) >= rules.compiled_from_items else COMPILED_FROM
    floor, grid = problem.cover(problem.must), _grid(problem)
    here = best = np.maximum(start.astype(np.float64), floor)
    least, step, stalled = np.inf, 1.0, 0
    for _ in range(rules.dual_steps):
        prices = sum_gains(levels, weights, here, compiled_from)
        chosen = dearest(problem, prices, active)
        value = problem.folds * _dot(here, weights) + float(prices[chosen].sum())
        if value < least * (1 - 1e-9):
            least, best, stalled = value, here, 0
        else:
            stalled += 1
            if stalled >= STALL:
                step, stalled, here = step * SHRINK, 0, best
                if step < LEAST_STEP:
                    break
                continue
        slope = weights * (float(problem.folds) - _count_above(levels, chosen, here))
        length = _dot(slope, slope)
        if length == 0 or value <= goal:
            break
        moved = here - step * (value - goal) / length * slope
        here = np.clip(np.rint(moved * grid) / grid, floor, problem.matrix.scale)
    return best
