"""Choose the set of one domain: fill, improve if asked, bound, and say what is guaranteed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from kina_build.config import SelectionRules
from kina_build.selection.guarantees import EXACT_NEIGHBOURS, STATEMENTS, Guarantee, Proof
from kina_build.selection.records import Method
from kina_build.selection.solver.bounds import UpperBound, bound_online, tighten
from kina_build.selection.solver.conflicts import Conflicts
from kina_build.selection.solver.cuts import prove
from kina_build.selection.solver.exact import bound_by_relaxation, solve
from kina_build.selection.solver.greedy import Picks, order_picks
from kina_build.selection.solver.improve import climb, improve_set
from kina_build.selection.solver.problem import Problem
from kina_build.selection.solver.repair import Filled, fill
from kina_build.selection.solver.shortage import Shortage


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
    carried: int
    """Items that gain something of the paper's objective: what follows them finds the anchors full."""


def choose(
    problem: Problem,
    rules: SelectionRules = SelectionRules(),
    *,
    allow_shortfall: bool = False,
    improve: bool = False,
    exact: bool = False,
    seed: int = 0,
    folds: int | None = None,
) -> Choice:
    """Select the items of one domain, or of several that conflicts join.

    Past saturation, where the anchors are full before the set is, an anchor counts through its
    r best items, with the least r that leaves no pick without a gain.

    Args:
        problem: the instance as asked.
        rules: settings.
        allow_shortfall: take the fullest set that can be had where the constraints cannot be met.
        improve: search on from the greedy set.
        exact: search on, and ask HiGHS for the optimum; what it says is not believed, only its set is used.
        seed: of the search.
        folds: r, no more than the items of a set; None: as many as it takes.

    Raises:
        Infeasible: no set meets the constraints.
        UsageError: too many items are left for an exact solution.
    """

    def work(count: int) -> Filled:
        return fill(problem.folded(count), rules, allow_shortfall=allow_shortfall)

    plain = work(1)
    count = 1 if folds is None else max(1, min(folds, problem.size))
    filled = _least_fold(work, plain) if folds is None else plain if count == 1 else work(count)
    solved, picks = filled.problem, filled.picks
    method: Method = "repaired" if filled.repaired else "greedy"
    online = bound_online(solved, picks.items)
    if filled.repaired:
        picks = climb(solved, picks, online, rules)
        online = bound_online(solved, picks.items)
    tight = tighten(solved, picks.items, online, rules)
    better = improve_set(solved, picks, tight, rules, seed=seed) if improve or exact else picks
    if exact:
        tight = bound_by_relaxation(solved, better.items, tight, rules)
        optimum = solve(solved, better.items, tight, rules)
        better = better if optimum.value <= better.value else order_picks(solved, optimum.items)
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
        carried=len(plain.picks.items) - plain.picks.gains.count(0),
    )


def _least_fold(work: Callable[[int], Filled], plain: Filled) -> Filled:
    """Return the fill at an r that leaves no pick idle, where r - 1 leaves some.

    r is doubled, then halved in: where every item counts, none that supports anything is idle.
    """
    if not _idles(plain):
        return plain
    low, high, found = 1, 2, work(2)
    while _idles(found):
        low, high = high, min(2 * high, plain.problem.size)
        found = work(high)
    while high - low > 1:
        middle = (low + high) // 2
        tried = work(middle)
        low, high, found = (middle, high, found) if _idles(tried) else (low, middle, tried)
    return found


def _idles(filled: Filled) -> bool:
    """Tell whether a pick that supports anything gains nothing."""
    central, fixed = filled.problem.centrality, set(filled.problem.must.tolist())
    picks = zip(filled.picks.items, filled.picks.gains, strict=True)
    return any(not gain and central[item] > 0 and item not in fixed for item, gain in picks)


def _prove(asked: Problem, solved: Problem, picks: Picks) -> Proof | None:
    tied = set(asked.conflicts.tied.tolist())
    conflicted = [item for item in picks.items if item in tied]
    return prove(asked, asked.counts(picks.items), conflicted, asked.lower - solved.lower)


def _guarantee(problem: Problem, filled: Filled, proof: Proof | None) -> Guarantee:
    if filled.shortage is not None:
        return state("unshown" if proof is None else "shortfall")
    return state("repaired") if filled.repaired else guarantee_of(problem)


def guarantee_of(problem: Problem) -> Guarantee:
    """Name the worst-case guarantee of the greedy picks for a monotone submodular objective.

    It compares with the best set that meets the same constraints and holds the same
    must-include items. Constraints that cannot bind do not count.
    """
    quotas = has_quotas(problem)
    if not len(problem.conflicts.members):
        return state("quotas" if quotas else "cardinality")
    k = largest_clash(problem.conflicts)
    if k > 1:
        return state("pairs and quotas" if quotas else "pairs", k)
    return state("two matroids" if quotas and spans_strata(problem) else "clusters")


def state(kind: str, k: int | None = None) -> Guarantee:
    """Turn a kind of STATEMENTS into a guarantee.

    Args:
        kind: key of STATEMENTS.
        k: of the k-extendible system, for the kinds about pairs.
    """
    parts = (k or 0) + (2 if kind == "pairs and quotas" else 1)
    theorem, factor = {
        "cardinality": ("cardinality", 1 - 1 / math.e),
        "quotas": ("matroid", 1 / 2),
        "clusters": ("matroid", 1 / 2),
        "two matroids": ("two matroids", 1 / 3),
        "pairs": ("k-extendible", 1 / parts),
        "pairs and quotas": ("k-extendible", 1 / parts),
    }.get(kind, ("none", 0.0))
    text = STATEMENTS[kind].format(k=k, parts=parts)
    return Guarantee(theorem=theorem, factor=factor, k=k, statement=text)


def has_quotas(problem: Problem) -> bool:
    """Tell whether stratum bounds can bind at all."""
    if len(problem.domains) > 1:
        return True
    supply = np.bincount(problem.stratum, minlength=len(problem.strata))
    tight = problem.upper < np.minimum(supply, problem.size)
    return bool((problem.lower > 0).any() and np.count_nonzero(supply) > 1) or bool(tight.any())


def spans_strata(problem: Problem) -> bool:
    """Tell whether some clique has items of two strata."""
    tied, stratum = problem.conflicts.tied, problem.stratum
    return bool((stratum[tied] != stratum[problem.conflicts.clique[tied]]).any())


def largest_clash(conflicts: Conflicts) -> int:
    """Return the k of the conflict system: most items, free of conflict, that one item rules out.

    Clusters are cliques, so k = 1. Above EXACT_NEIGHBOURS a greedy clique cover
    gives an upper bound of k, which is safe: the factor only falls.
    """
    if conflicts.mode == "clusters":
        return 1
    near = {item: frozenset(conflicts.of(item).tolist()) for item in conflicts.tied.tolist()}
    few = {True: _independent, False: _cover}
    return max(few[len(around) <= EXACT_NEIGHBOURS](around, near) for around in near.values())


def _independent(items: frozenset[int], near: dict[int, frozenset[int]]) -> int:
    """Return the size of the largest set of items without a conflict among them."""
    if not items:
        return 0
    degree = {item: len(near[item] & items) for item in sorted(items)}
    lonely = [item for item, count in degree.items() if count <= 1]
    if lonely:  # an item with at most one conflict is in some largest set
        return 1 + _independent(items - near[lonely[0]] - {lonely[0]}, near)
    busiest = max(degree, key=lambda item: degree[item])
    without = _independent(items - {busiest}, near)
    return max(without, 1 + _independent(items - near[busiest] - {busiest}, near))


def _cover(items: Iterable[int], near: dict[int, frozenset[int]]) -> int:
    """Return the size of a greedy cover by cliques: at least the largest independent set."""
    cliques: list[list[int]] = []
    for item in sorted(items):
        home = next((c for c in cliques if near[item].issuperset(c)), None)
        if home is None:
            cliques.append([item])
        else:
            home.append(item)
    return len(cliques)
