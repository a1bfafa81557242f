"""Where to put the bar, from a pilot's scores: where the densities cross, and the mode of high effort."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from statistics import stdev

from kina_build.errors import Refusal
from kina_review.pilot import PilotRow

DISCRETE_SHARE = 0.5
"""Scores count as a scale of steps when distinct values are at most this share of them."""


def pilot_bars(rows: Sequence[PilotRow]) -> dict[str, Decimal]:
    """Return both candidates for the bar.

    The crossing is the score at which P(high >= tau) - P(low >= tau) is largest: for two
    efforts that bar gives the largest Delta p against every opponent. The mode of high
    effort is the proposal of arXiv 2412.01139.

    Raises:
        Refusal: a pilot without one of the efforts.
    """
    high = [row.review_score for row in rows if row.effort == "H"]
    low = [row.review_score for row in rows if row.effort == "L"]
    if not high or not low:
        raise Refusal("the pilot has reviews of one effort only: no bar can be chosen")
    return {"crossing": _crossing(high, low), "mode": _mode(high)}


def _crossing(high: Sequence[Decimal], low: Sequence[Decimal]) -> Decimal:
    counts_high, counts_low = Counter(high), Counter(low)
    above_high, above_low = 0, 0
    best, best_gap = max(high), -1.0
    for score in sorted(set(high) | set(low), reverse=True):
        above_high += counts_high[score]
        above_low += counts_low[score]
        gap = above_high / len(high) - above_low / len(low)
        if gap >= best_gap:  # of equal bars the lowest: it lets most honest work pass
            best, best_gap = score, gap
    return best


def _mode(scores: Sequence[Decimal]) -> Decimal:
    counts = Counter(scores)
    if len(counts) <= DISCRETE_SHARE * len(scores) or len(counts) == 1:
        most = max(counts.values())
        return min(score for score, count in counts.items() if count == most)
    ordered = sorted(counts)
    densities = _densities([float(score) for score in scores], [float(score) for score in ordered])
    return ordered[densities.index(max(densities))]


def _densities(scores: Sequence[float], at: Sequence[float]) -> list[float]:
    """Estimate a density up to a factor: Gaussian kernels, Silverman's rule of thumb."""
    width = 1.06 * stdev(scores) * len(scores) ** -0.2
    return [sum(math.exp(-(((x - score) / width) ** 2) / 2) for score in scores) for x in at]
