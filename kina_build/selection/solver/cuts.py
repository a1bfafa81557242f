"""Show by counting that no set holds more than was found: two cuts of a network of quotas and cliques.

Items flow from their domain (at most its size) through their stratum (at most its quota) to
their clique (at most one). Whatever separates the source from the sink bounds every set, and a
stranger adds its capacity up in whole numbers. With quotas and clusters the least cut is what
can be had; with pairwise conflicts the cliques are a cover and the cut may lie above it.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from kina_build.selection.guarantees import Cut, Proof
from kina_build.selection.solver.conflicts import Indices
from kina_build.selection.solver.problem import Problem


def prove(problem: Problem, counts: Indices, conflicted: Collection[int], missing: Indices) -> Proof | None:
    """Return the cuts that show a shortfall to be forced, or None where none does.

    Args:
        problem: the instance as asked.
        counts: items found of each stratum.
        conflicted: those of them that are in some conflict.
        missing: items lacking to each lower quota.
    """
    over = problem.by_domain(np.maximum(problem.counts(problem.must) - problem.lower, 0))
    lower, filled = _least_cut(problem, problem.lower, np.maximum(problem.sizes - over, 0))
    if int(problem.lower.sum() - missing.sum()) != filled:
        return None
    size = _cut_beside(problem, counts, conflicted, problem.lower - missing)
    return None if size is None else Proof(lower=lower, size=size)


def _cut_beside(problem: Problem, counts: Indices, conflicted: Collection[int], lower: Indices) -> Cut | None:
    """Return the cut that a set fills, or None where one more item could flow past it.

    What can be reached from the source by adding an item here and taking one away there, without
    going below a lower quota, is one side of the cut.
    """
    least = np.maximum(lower, problem.counts(problem.must))
    ties = _Ties(problem, conflicted)
    spare = ties.lone > counts - problem.counts(conflicted)
    domains = set(np.flatnonzero(problem.by_domain(counts) < problem.sizes).tolist())
    strata: set[int] = set()
    edge = list(domains)
    while edge:
        domain = edge.pop()
        new = {h for h in np.flatnonzero(problem.group == domain).tolist() if counts[h] < problem.upper[h]}
        waiting = list(new - strata)
        while waiting:
            h = waiting.pop()
            if h in strata:
                continue
            strata.add(h)
            users = ties.users(h)
            if spare[h] or users is None:
                return None
            waiting += users
            home = int(problem.group[h])
            if counts[h] > least[h] and home not in domains:
                domains.add(home)
                edge.append(home)
    return Cut(
        domains=tuple(name for d, name in enumerate(problem.domains) if d not in domains),
        strata=tuple(problem.places(h) for h in sorted(strata)),
    )


class _Ties:
    """The cliques of each stratum, and the stratum whose item uses a clique."""

    def __init__(self, problem: Problem, conflicted: Collection[int]) -> None:
        tied = problem.conflicts.tied[~problem.barred[problem.conflicts.tied]]
        open_items = np.bincount(problem.stratum[~problem.barred], minlength=len(problem.strata))
        self.lone = open_items - problem.counts(tied)
        self._cliques: dict[int, set[int]] = {}
        for item in tied.tolist():
            self._cliques.setdefault(int(problem.stratum[item]), set()).add(
                int(problem.conflicts.clique[item])
            )
        must = set(problem.must.tolist())
        clique = problem.conflicts.clique
        self._user = {int(clique[i]): None if i in must else int(problem.stratum[i]) for i in conflicted}

    def users(self, stratum: int) -> list[int] | None:
        """Return the strata whose items could give way to one of this; None where a clique is free."""
        cliques = self._cliques.get(stratum, set())
        if not cliques <= self._user.keys():
            return None
        return [user for c in cliques if (user := self._user[c]) is not None]


def _least_cut(problem: Problem, quotas: Indices, sizes: Indices) -> tuple[Cut, int]:
    """Return the least cut and its capacity."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    open_items = np.flatnonzero(~problem.barred)
    _, clique = np.unique(problem.conflicts.clique[open_items], return_inverse=True)
    cells = np.unique(np.stack([problem.stratum[open_items], clique]), axis=1)
    domains, strata, cliques = len(problem.domains), len(problem.strata), int(clique.max(initial=-1)) + 1
    at_strata, at_cliques = 1 + domains, 1 + domains + strata
    sink = at_cliques + cliques
    arcs = [
        (np.zeros(domains, dtype=np.int64), 1 + np.arange(domains), sizes),
        (1 + problem.group, at_strata + np.arange(strata), quotas),
        (at_strata + cells[0], at_cliques + cells[1], np.ones(cells.shape[1], dtype=np.int64)),
        (at_cliques + np.arange(cliques), np.full(cliques, sink), np.ones(cliques, dtype=np.int64)),
    ]
    rows, columns, room = (np.concatenate(part) for part in zip(*arcs, strict=True))
    shape = (sink + 1, sink + 1)
    # what more than all items could pass is never cut
    wide = np.minimum(room, len(open_items) + 1).astype(np.int32)
    network = csr_array((wide, (rows, columns)), shape=shape)
    answer = maximum_flow(network, 0, sink)
    left = csr_array(network - answer.flow)
    left.eliminate_zeros()
    reached = _mask(breadth_first_order(left, 0, return_predecessors=False), sink + 1)
    whole = np.flatnonzero(~reached[1:at_strata])
    counted = np.flatnonzero(reached[at_strata:at_cliques] & reached[1 + problem.group])
    cut = Cut(
        domains=tuple(problem.domains[d] for d in whole.tolist()),
        strata=tuple(problem.places(h) for h in counted.tolist()),
    )
    return cut, int(answer.flow_value)


def _mask(nodes: NDArray[np.integer], count: int) -> NDArray[np.bool_]:
    mask = np.zeros(count, dtype=bool)
    mask[nodes] = True
    return mask
