"""Ranks that say what is known: intervals, confidence sets, tiers.

Two kinds of 95 % stand side by side and must not be confused. The percentile interval
*describes* how a rank moves over resamples; as a set for all models at once it covers
the true ranks far less often than 95 %. The confidence sets (marginal: each row alone;
simultaneous: all rows together) are built to cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.ranking.contrasts import Contrasts
from kina_build.ranking.intervals import Floats

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class RankSets:
    """Lowest and highest rank that each model may truly hold."""

    low: Ints
    """Best rank, marginal 95 %."""
    high: Ints
    """Worst rank, marginal 95 %."""
    low_simultaneous: Ints
    high_simultaneous: Ints


def average_ranks(means: Floats) -> Floats:
    """Rank the models of each resample, 1 for the best, ties at their average rank.

    Args:
        means: shape (resamples, models).
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(-means, method="average", axis=1), dtype=np.float64)


def rank_sets(contrasts: Contrasts) -> RankSets:
    """Bound every model's rank by the comparisons it wins and loses for certain."""
    models = len(contrasts.difference)
    beats = contrasts.beats_simultaneous
    return RankSets(
        low=1 + contrasts.beaten_marginal.sum(axis=1),
        high=models - contrasts.beats_marginal.sum(axis=1),
        low_simultaneous=1 + beats.sum(axis=0),
        high_simultaneous=models - beats.sum(axis=1),
    )


def interval_ranks(low: Floats, high: Floats) -> tuple[Ints, Ints]:
    """Bound ranks by non-overlapping intervals of single accuracies (as chat arenas do).

    Blunter than a paired comparison: it ignores that models answered the same items.

    Args:
        low: lower bound of each accuracy.
        high: upper bound of each accuracy.
    """
    better = (low[None, :] > high[:, None]).sum(axis=1)
    worse = (high[None, :] < low[:, None]).sum(axis=1)
    return 1 + better, len(low) - worse


def top_k_probability(ranks: Floats, k: int) -> Floats:
    """Return the share of resamples in which each model ranks k or better."""
    return np.asarray((ranks <= k).mean(axis=0))


def order_models(accuracy: Floats, models: tuple[str, ...]) -> list[int]:
    """Return row numbers by accuracy, best first, equal ones by name."""
    return sorted(range(len(models)), key=lambda row: (-accuracy[row], models[row]))


def find_tiers(order: Sequence[int], beats: NDArray[np.bool_]) -> list[int]:
    """Number tiers down the order: a tier ends where its leader is shown to be better.

    Args:
        order: row numbers, best first.
        beats: [i, j]: i is shown to be better than j, all pairs at once.

    Returns:
        One tier a place of the order, from 1.
    """
    tiers: list[int] = []
    leader = order[0]
    tier = 1
    for row in order:
        if beats[leader, row]:
            leader, tier = row, tier + 1
        tiers.append(tier)
    return tiers
