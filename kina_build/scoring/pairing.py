"""One-to-one pairing of predicted and gold entries, and the precision and recall it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Quality:
    """Precision, recall and their harmonic mean."""

    p: float
    r: float
    f1: float


def quality(p: float, r: float) -> Quality:
    """Return P, R and F1 = 2PR/(P+R), which is 0 where both are 0."""
    return Quality(p, r, 2 * p * r / (p + r) if p + r > 0 else 0.0)


def mean_quality(parts: Sequence[Quality]) -> Quality:
    """Average P, R and F1 each by itself; all 0 for no parts."""
    if not parts:
        return Quality(0.0, 0.0, 0.0)
    n = len(parts)
    return Quality(sum(q.p for q in parts) / n, sum(q.r for q in parts) / n, sum(q.f1 for q in parts) / n)


def pair_up(fits: Sequence[Sequence[int]], n_gold: int) -> list[int]:
    """Pair predictions with golds so that as many as possible find one (Hopcroft-Karp).

    Args:
        fits: for each prediction, the golds it may stand for.
        n_gold: how many golds there are.

    Returns:
        For each prediction its gold, or -1.
    """
    wanted = [gold for golds in fits for gold in golds]
    if all(len(golds) <= 1 for golds in fits) and len(set(wanted)) == len(wanted):
        return [golds[0] if golds else -1 for golds in fits]  # nobody competes: the common case
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    starts = np.cumsum([0, *(len(golds) for golds in fits)])
    graph = csr_array((np.ones(len(wanted)), np.array(wanted), starts), shape=(len(fits), n_gold))
    return [int(gold) for gold in maximum_bipartite_matching(graph, perm_type="column")]


def pair_greedily(fits: Sequence[Sequence[int]]) -> list[int]:
    """Pair predictions in their order, each with the first gold still free."""
    taken: set[int] = set()
    pairs: list[int] = []
    for golds in fits:
        free = next((gold for gold in golds if gold not in taken), -1)
        taken.add(free)
        pairs.append(free)
    return pairs
