"""Fill a set that greedy had to leave short because conflicts closed the way.

First one pick goes and greedy refills without it, for as long as the set grows: a 1-1 swap
and what it opens. Where no single pick stands in the way, the set is rebuilt from a fullest
one that HiGHS finds among the conflicted items; that model is exact, so whatever can be met
is met. Swaps of two for two are therefore not needed to reach the size. For the value, single
swaps uphill follow (`climb` in improve.py): on 87 repaired sets of random instances they
brought the mean from .91 to .96 of the proven optimum, and --improve, whose refills exchange
several items at once, to .98.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kina_build.config import SelectionRules
from kina_build.selection.solver.gains import StandingGains
from kina_build.selection.solver.greedy import Picks, order_picks, pick_greedily
from kina_build.selection.solver.problem import Problem
from kina_build.selection.solver.shortage import Infeasible, Shortage, describe_shortage, fullest


@dataclass(frozen=True)
class Filled:
    """A set of full size, and the problem it solves."""

    problem: Problem
    """As asked, or with the size and lower quotas that can be had."""
    greedy: Picks
    picks: Picks
    repaired: bool
    """Whether greedy alone stopped short."""
    shortage: Shortage | None
    """What the problem as asked lacks; None where it can be met."""


def fill(
    problem: Problem, rules: SelectionRules = SelectionRules(), *, allow_shortfall: bool = False
) -> Filled:
    """Pick greedily, repair what stops short, and refuse what cannot be met.

    Args:
        problem: the instance as asked.
        rules: settings.
        allow_shortfall: take the fullest set that can be had instead of refusing.

    Raises:
        Infeasible: no set meets the constraints; names strata or clusters.
    """
    shortage = None
    if not surely_feasible(problem):
        supply = fullest(problem)
        if supply.size < problem.size or supply.missing.any():
            shortage = describe_shortage(problem, supply)
            if not allow_shortfall:
                raise Infeasible(shortage.told(problem.size), shortage)
            problem = problem.relaxed(supply.sizes, problem.lower - supply.missing)
    greedy = pick_greedily(problem, rules)
    if len(greedy.items) == problem.size:
        return Filled(problem, greedy, greedy, repaired=False, shortage=shortage)
    picks = _exchange(problem, greedy, rules) or _rebuild(problem, rules)
    return Filled(problem, greedy, order_picks(problem, picks.items), repaired=True, shortage=shortage)


def surely_feasible(problem: Problem) -> bool:
    """Tell without search that the constraints can be met: items free of conflict suffice."""
    lone = ~problem.barred
    lone[problem.conflicts.tied] = False
    lone[problem.must] = False
    held = problem.counts(problem.must)
    supply = held + np.bincount(problem.stratum[lone], minlength=len(problem.strata))
    enough = (supply >= problem.lower).all() and (held <= problem.upper).all()
    claimed = problem.by_domain(problem.lower.clip(min=held))
    reachable = problem.by_domain(supply.clip(max=problem.upper))
    return bool(enough and (claimed <= problem.sizes).all() and (problem.sizes <= reachable).all())


def _exchange(problem: Problem, greedy: Picks, rules: SelectionRules) -> Picks | None:
    """Take one pick out, refill greedily without it, keep what grew; None when nothing grows more.

    The pick of least gain goes first, so the set loses little.
    """
    picks = greedy
    fixed = set(problem.must.tolist())
    compiled = len(problem.stratum) >= rules.compiled_from_items
    standing = StandingGains(problem, rules.block_items) if compiled else None
    while len(picks.items) < problem.size:
        grown = None
        for item in reversed([item for item in picks.items if item not in fixed]):
            kept = [other for other in picks.items if other != item]
            refilled = pick_greedily(problem, rules, given=kept, without=[item], standing=standing)
            if len(refilled.items) > len(picks.items):
                grown = refilled
                break
        if grown is None:
            return None
        picks = grown
    return picks


def _rebuild(problem: Problem, rules: SelectionRules) -> Picks:
    """Start from the conflicted items of a fullest set and add the rest greedily."""
    start = sorted({*problem.must.tolist(), *fullest(problem).conflicted})
    return pick_greedily(problem, rules, given=start)
