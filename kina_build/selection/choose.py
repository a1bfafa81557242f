"""Choose the set of one domain: fill, improve if asked, bound, and say what is guaranteed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kina_build.config import SelectionRules
from kina_build.selection.bounds import UpperBound, bound_online, tighten
from kina_build.selection.greedy import Picks
from kina_build.selection.guarantee import guarantee_of, state
from kina_build.selection.improve import climb, improve_set
from kina_build.selection.problem import Problem
from kina_build.selection.records import Guarantee, Method
from kina_build.selection.repair import Filled, fill
from kina_build.selection.shortage import Shortage


@dataclass(frozen=True)
class Choice:
    """A chosen set with its bounds, in indices and whole numbers."""

    problem: Problem
    """As solved: with --allow-shortfall its size and lower quotas may be less than asked."""
    asked: int
    """Items asked for."""
    picks: Picks
    greedy: Picks
    method: Method
    shortage: Shortage | None
    withheld: tuple[int, ...]
    """Items left out because an earlier domain took one they conflict with."""
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
    withheld: Iterable[int] = (),
) -> Choice:
    """Select the items of one domain.

    Args:
        problem: the instance as asked.
        rules: settings.
        allow_shortfall: take the fullest set that can be had where the constraints cannot be met.
        improve: search on from the greedy set.
        seed: of the search.
        withheld: items not to take; the bounds hold for sets with them too.

    Raises:
        Infeasible: no set meets the constraints.
    """
    held_back = tuple(sorted(withheld))
    filled = fill(_bar(problem, held_back), rules, allow_shortfall=allow_shortfall)
    solved = filled.problem
    picks = filled.picks
    method: Method = "repaired" if filled.repaired else "greedy"
    whole = solved if not held_back else problem.relaxed(solved.size, solved.lower)
    online = bound_online(whole, picks.items)
    if filled.repaired:
        picks = climb(solved, picks, online, rules)
        online = bound_online(whole, picks.items)
    tight = tighten(whole, picks.items, online, rules)
    if improve:
        better = improve_set(solved, picks, tight, rules, seed=seed)
        if better.value > picks.value:
            picks, method = better, "improved"
            online = bound_online(whole, picks.items)
            tight = min(tighten(whole, picks.items, tight, rules), online, key=lambda bound: bound.value)
    return Choice(
        problem=whole,
        asked=problem.size,
        picks=picks,
        greedy=filled.greedy,
        method=method,
        shortage=filled.shortage,
        withheld=held_back,
        online=online,
        tight=tight,
        guarantee=_guarantee(whole, filled, held_back),
    )


def _bar(problem: Problem, items: tuple[int, ...]) -> Problem:
    if not items:
        return problem
    barred = problem.barred.copy()
    barred[list(items)] = True
    return problem.without(barred)


def _guarantee(problem: Problem, filled: Filled, withheld: tuple[int, ...]) -> Guarantee:
    if filled.shortage is not None:
        return state("shortfall")
    if withheld:
        return state("withheld")
    return state("repaired") if filled.repaired else guarantee_of(problem)
