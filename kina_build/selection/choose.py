"""Choose the set of one domain: fill, improve if asked, bound, and say what is guaranteed."""

from __future__ import annotations

from dataclasses import dataclass

from kina_build.config import SelectionRules
from kina_build.selection.bounds import UpperBound, bound_online, tighten
from kina_build.selection.cuts import prove
from kina_build.selection.greedy import Picks
from kina_build.selection.guarantee import guarantee_of, state
from kina_build.selection.improve import climb, improve_set
from kina_build.selection.problem import Problem
from kina_build.selection.records import Guarantee, Method, Proof
from kina_build.selection.repair import Filled, fill
from kina_build.selection.shortage import Shortage


@dataclass(frozen=True)
class Choice:
    """A chosen set with its bounds, in indices and whole numbers."""

    problem: Problem
    """As solved: with --allow-shortfall its sizes and lower quotas may be less than asked."""
    asked: Problem
    """As asked."""
    picks: Picks
    greedy: Picks
    method: Method
    shortage: Shortage | None
    proof: Proof | None
    """What shows the shortage, if there is one."""
    online: UpperBound
    tight: UpperBound
    guarantee: Guarantee


def choose(
    problem: Problem,
    rules: SelectionRules = SelectionRules(),
    *,
    allow_shortfall: bool = False,
    improve: bool = False,
    seed: int = 0,
) -> Choice:
    """Select the items of one domain, or of several that conflicts join.

    Args:
        problem: the instance as asked.
        rules: settings.
        allow_shortfall: take the fullest set that can be had where the constraints cannot be met.
        improve: search on from the greedy set.
        seed: of the search.

    Raises:
        Infeasible: no set meets the constraints.
    """
    filled = fill(problem, rules, allow_shortfall=allow_shortfall)
    solved, picks = filled.problem, filled.picks
    method: Method = "repaired" if filled.repaired else "greedy"
    online = bound_online(solved, picks.items)
    if filled.repaired:
        picks = climb(solved, picks, online, rules)
        online = bound_online(solved, picks.items)
    tight = tighten(solved, picks.items, online, rules)
    if improve:
        better = improve_set(solved, picks, tight, rules, seed=seed)
        if better.value > picks.value:
            picks, method = better, "improved"
            online = bound_online(solved, picks.items)
            tight = min(tighten(solved, picks.items, tight, rules), online, key=lambda bound: bound.value)
    proof = None if filled.shortage is None else _prove(problem, solved, picks)
    return Choice(
        problem=solved,
        asked=problem,
        picks=picks,
        greedy=filled.greedy,
        method=method,
        shortage=filled.shortage,
        proof=proof,
        online=online,
        tight=tight,
        guarantee=_guarantee(solved, filled, proof),
    )


def _prove(asked: Problem, solved: Problem, picks: Picks) -> Proof | None:
    tied = set(asked.conflicts.tied.tolist())
    conflicted = [item for item in picks.items if item in tied]
    return prove(asked, asked.counts(picks.items), conflicted, asked.lower - solved.lower)


def _guarantee(problem: Problem, filled: Filled, proof: Proof | None) -> Guarantee:
    if filled.shortage is not None:
        return state("unshown" if proof is None else "shortfall")
    return state("repaired") if filled.repaired else guarantee_of(problem)
