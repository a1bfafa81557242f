"""Which theorem covers the constraints that a greedy run met, and never a stronger one."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from kina_build.selection.conflicts import Conflicts
from kina_build.selection.problem import Problem
from kina_build.selection.records import EXACT_NEIGHBOURS, STATEMENTS, Guarantee


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
