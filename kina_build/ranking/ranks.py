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

from kina_build.ranking.board import Board
from kina_build.ranking.bootstrap import Resamples
from kina_build.ranking.intervals import Floats, cluster_codes, cluster_residuals, two_sided_z

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


CHUNK_ROWS = 1000
"""Resamples compared at a time; keeps the temporary arrays in the cache."""


@dataclass(frozen=True)
class Contrasts:
    """Paired comparisons of all models, as square arrays over board.models."""

    difference: Floats
    """difference[i, j] = accuracy of i less accuracy of j."""
    se: Floats
    """Its standard error over items (or clusters); 0 where two rows differ by a constant."""
    win: Floats
    """Share of resamples in which i beats j, ties counting half."""
    critical: Floats
    """Shape (models,): for the differences of one model with all others, jointly."""
    critical_simultaneous: float
    """For all differences of the board, jointly."""
    level: float

    @property
    def beaten_marginal(self) -> NDArray[np.bool_]:
        """Return [i, j]: j is better than i, at the level for the row of i alone."""
        return np.asarray(-self.difference > self.critical[:, None] * self.se + TINY)

    @property
    def beats_marginal(self) -> NDArray[np.bool_]:
        """Return [i, j]: i is better than j, at the level for the row of i alone."""
        return np.asarray(self.difference > self.critical[:, None] * self.se + TINY)

    @property
    def beats_simultaneous(self) -> NDArray[np.bool_]:
        """Return [i, j]: i is better than j, at the level for all pairs at once."""
        return np.asarray(self.difference > self.critical_simultaneous * self.se + TINY)


TINY = 1e-12
"""Differences below this are rounding, not score."""


def compare_all(board: Board, resamples: Resamples, level: float) -> Contrasts:
    """Compare every pair of models on the same items.

    Args:
        board: the scores.
        resamples: of the same board.
        level: confidence of each row's set, and of all sets at once.
    """
    difference = board.accuracy[:, None] - board.accuracy[None, :]
    difference[np.abs(difference) < TINY] = 0.0
    se = paired_standard_errors(board)
    peaks, signs = _scan(resamples.means, difference, se)
    # a handful of discordant items makes a coarse bootstrap: never bolder than one normal test
    floor = two_sided_z(level)
    return Contrasts(
        difference=difference,
        se=se,
        win=(1 + signs / len(resamples.means)) / 2,
        critical=np.maximum(np.quantile(peaks, level, axis=0, method="higher"), floor),
        critical_simultaneous=max(float(np.quantile(peaks.max(axis=1), level, method="higher")), floor),
        level=level,
    )


def paired_standard_errors(board: Board) -> Floats:
    """Return the standard error of every paired difference of means, shape (models, models)."""
    residuals = cluster_residuals(board.scores, cluster_codes(board.clusters))
    units = residuals.shape[1]
    product = residuals @ residuals.T
    squares = np.diag(product)
    spread = squares[:, None] + squares[None, :] - 2 * product
    # rounding leaves 1e-16 where two rows are equal
    spread[spread < 1e-9] = 0.0
    return np.asarray(np.sqrt(spread * units / max(units - 1, 1)) / board.scores.shape[1])


def _scan(means: Floats, difference: Floats, se: Floats) -> tuple[Floats, Floats]:
    """Return the largest studentised deviation a row and resample, and the summed signs a pair."""
    models = means.shape[1]
    inverse = np.divide(1.0, se, out=np.zeros_like(se), where=se > 0)
    peaks = np.zeros_like(means)
    signs = np.zeros((models, models))
    for start in range(0, len(means), CHUNK_ROWS):
        rows = np.ascontiguousarray(means[start : start + CHUNK_ROWS])
        peak = peaks[start : start + CHUNK_ROWS]
        for i in range(models - 1):
            gaps = rows[:, i, None] - rows[:, i + 1 :]
            signs[i, i + 1 :] += np.sign(gaps).sum(axis=0)
            gaps -= difference[i, i + 1 :]
            gaps *= inverse[i, i + 1 :]
            np.abs(gaps, out=gaps)
            np.maximum(peak[:, i], gaps.max(axis=1), out=peak[:, i])
            np.maximum(peak[:, i + 1 :], gaps, out=peak[:, i + 1 :])
    return peaks, signs - signs.T
