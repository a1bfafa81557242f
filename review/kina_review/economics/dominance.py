"""The first-order check of the released quality: tournament against flat pay, with its band.

Source: Massart, The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality (1990).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Dominance:
    """The first-order check: F_tournament <= F_flat everywhere, up to a band."""

    holds: bool
    """At no point is the tournament worse by more than the band: dominance is not contradicted."""
    worst: float
    """Largest F_tournament - F_flat."""
    worst_at: float
    band: float
    """Two-sample DKW band: sqrt(ln(2/alpha)/2) (1/sqrt(n) + 1/sqrt(m)), alpha shared between both."""
    mean_gain: float


def check_dominance(flat: Floats, tournament: Floats, confidence: float = 0.95) -> Dominance:
    """Check F_tournament <= F_flat on two sorted samples.

    Source: Massart's constant for the Dvoretzky-Kiefer-Wolfowitz inequality (1990).
    """
    if not len(flat) or not len(tournament):
        return Dominance(False, math.nan, math.nan, math.inf, math.nan)
    grid = np.concatenate([flat, tournament])
    excess = ecdf(tournament, grid) - ecdf(flat, grid)
    at = int(excess.argmax())
    # each sample gets half of the error
    band = math.sqrt(math.log(4 / (1 - confidence)) / 2) * (
        1 / math.sqrt(len(flat)) + 1 / math.sqrt(len(tournament))
    )
    worst = float(excess[at])
    gain = float(tournament.mean() - flat.mean())
    return Dominance(bool(worst <= band), worst, float(grid[at]), band, gain)


def ecdf(sample: Floats, at: Floats) -> Floats:
    """Return the share of a sorted sample that is at most each point."""
    return np.searchsorted(sample, at, side="right") / len(sample)
