"""The paired bootstrap: one draw of items serves all models.

A resample is a row of counts, how often each item (or cluster of items) was drawn, and
all means of many resamples are one matrix product. Scores are turned into whole numbers
first, so that the product is exact: equal sums stay equal, whatever BLAS adds them up.

Items are drawn independently. Drawing within 261 disciplines of 3.4 items each shrinks
the standard error to about .84 of the right one (each stratum loses one degree of
freedom of its few); `stratified_counts` draws n_h - 1 and scales up, which does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.progress import Progress, silent
from kina_build.ranking.board import Board
from kina_build.ranking.intervals import Floats, cluster_codes, sum_by_cluster

Counts = NDArray[np.float32]

BLOCK_CELLS = 8_000_000
"""Counts multiplied at a time: 32 MB in float32, enough rows for the product to run at full speed."""

DRAW_CELLS = 1 << 16
"""Draws counted at a time: small enough for the cache."""

MAX_DENOMINATOR = 60
"""Scores that are fractions of up to 60 answers stay exact."""

FINE_UNIT = 1_000_000
"""Levels of a score that is no such fraction; sums stay exact in float64."""

EXACT_FLOAT32 = 2**24
"""Whole numbers up to here are exact in float32."""


@dataclass(frozen=True)
class Resamples:
    """Means of every model in every resample."""

    means: Floats
    """Shape (resamples, models); models of one resample saw the same items."""
    units: int
    """What was drawn: items, or clusters where items share one."""
    seed: int


def resample(board: Board, samples: int, seed: int, on_progress: Progress = silent) -> Resamples:
    """Draw items (or whole clusters) with replacement and average every model on each draw.

    Args:
        board: the scores.
        samples: resamples to draw.
        seed: of the draws.
        on_progress: called with resamples done.
    """
    codes = cluster_codes(board.clusters)
    levels, unit = whole_levels(board.scores)
    sums = sum_by_cluster(levels, codes)
    sizes = np.bincount(codes).astype(np.float64)
    largest = max(sums.max(initial=1.0), sizes.max()) * len(sizes)
    exact: type[np.float32 | np.float64] = np.float32 if largest < EXACT_FLOAT32 else np.float64
    drawn = np.column_stack([sums.T, sizes]).astype(exact)
    means = np.empty((samples, len(board.models)))
    done = 0
    for counts in draw_counts(len(sizes), samples, np.random.default_rng(seed)):
        totals = np.matmul(counts.astype(exact, copy=False), drawn).astype(np.float64)
        means[done : done + len(counts)] = totals[:, :-1] / (totals[:, -1:] * unit)
        done += len(counts)
        on_progress(done, samples)
    return Resamples(means=means, units=len(sizes), seed=seed)


def draw_counts(units: int, samples: int, rng: np.random.Generator) -> Iterator[Counts]:
    """Yield blocks of rows, each saying how often every unit was drawn; rows sum to `units`."""
    block_rows = max(1, BLOCK_CELLS // units)
    draw_rows = max(1, DRAW_CELLS // units)
    for start in range(0, samples, block_rows):
        block = np.empty((min(block_rows, samples - start), units), dtype=np.float32)
        for first in range(0, len(block), draw_rows):
            part = block[first : first + draw_rows]
            picks = rng.integers(0, units, part.shape, dtype=np.int32)
            picks += np.arange(len(part), dtype=np.int32)[:, None] * np.int32(units)
            part[:] = np.bincount(picks.ravel(), minlength=part.size).reshape(part.shape)
        yield block


def stratified_counts(
    strata: NDArray[np.intp], samples: int, rng: np.random.Generator, *, rescaled: bool = True
) -> Floats:
    """Draw within strata, by default n_h - 1 of n_h scaled up (Rao and Wu 1988).

    Args:
        strata: one number an item; each stratum needs two items.
        samples: rows to draw.
        rng: source of the draws.
        rescaled: False draws n_h of n_h, whose standard error is too small by
            sqrt((n_h - 1) / n_h): kept to show the trap.

    Returns:
        Weights, shape (samples, items); rows sum to the number of items.

    Raises:
        ValueError: a stratum of one item, which no draw can vary.
    """
    weights = np.zeros((samples, len(strata)))
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        if len(members) < 2:
            raise ValueError(f"stratum {stratum} holds one item: merge it with others")
        draws = len(members) - 1 if rescaled else len(members)
        picks = rng.integers(0, len(members), (samples, draws))
        flat = picks + np.arange(samples)[:, None] * len(members)
        counts = np.bincount(flat.ravel(), minlength=samples * len(members))
        weights[:, members] = counts.reshape(samples, -1) * (len(members) / draws)
    return weights


def whole_levels(scores: Floats) -> tuple[Floats, int]:
    """Write scores as whole numbers of some unit: (levels, levels a unit of score).

    The unit is the smallest common denominator up to MAX_DENOMINATOR, else FINE_UNIT, to
    which the scores are then rounded.
    """
    values = np.unique(scores)
    for unit in range(1, MAX_DENOMINATOR + 1):
        if np.abs(values * unit - np.rint(values * unit)).max(initial=0.0) < 1e-6:
            return np.rint(scores * unit), unit
    return np.rint(scores * FINE_UNIT), FINE_UNIT
