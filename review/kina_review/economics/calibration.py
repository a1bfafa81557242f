"""How much effort moves the chance of winning, when scores are known to be normal.

Delta p(e) = P(win | high, opponent e) - P(win | low, opponent e) = E[F_L(T) - F_H(T)] with
T = max(opponent's score, tau); alpha_uv = P(max score >= tau) (paper, section 3.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from kina_build.errors import InputError

REACH_SD = 12.0
"""Standard deviations beyond which a normal score never lies, for all that floats can tell."""
PANELS = 2000
"""Panels of Simpson's rule over that reach: each under .015 standard deviations wide."""


@dataclass(frozen=True)
class NormalScores:
    """Scores of low and high effort: N(low_mean, sd) and N(high_mean, sd)."""

    low_mean: float
    high_mean: float
    sd: float
    bar: float
    """tau; minus infinity: no bar."""


@dataclass(frozen=True)
class Gaps:
    """Delta p: what high effort adds to the chance of winning, by the opponent's effort."""

    low: float
    """Against a low-effort opponent."""
    high: float

    @property
    def least(self) -> float:
        """Return Delta p_min, on which the bonus must rest."""
        return min(self.low, self.high)


@dataclass(frozen=True)
class PassRates:
    """alpha: the chance that the better of two scores reaches the bar, by the pair's efforts."""

    ll: float
    hl: float
    hh: float

    def expected_bonus(self, bonus: float, high_rate: float) -> float:
        """Return the expected bonus an item when a share of reviewers works hard (section 3.2)."""
        low_rate = 1 - high_rate
        return bonus * (high_rate**2 * self.hh + 2 * high_rate * low_rate * self.hl + low_rate**2 * self.ll)


def normal_gaps(scores: NormalScores) -> Gaps:
    """Return Delta p against low and high effort, by Simpson's rule (error below 1e-8).

    Raises:
        InputError: a spread that is not positive.
    """
    _check(scores)
    return Gaps(low=_gap(scores, scores.low_mean), high=_gap(scores, scores.high_mean))


def normal_pass_rates(scores: NormalScores) -> PassRates:
    """Return alpha for the three pairs of efforts.

    Raises:
        InputError: a spread that is not positive.
    """
    _check(scores)
    low, high = _cdf(scores.bar, scores.low_mean, scores.sd), _cdf(scores.bar, scores.high_mean, scores.sd)
    return PassRates(ll=1 - low * low, hl=1 - low * high, hh=1 - high * high)


def normal_bars(scores: NormalScores) -> dict[str, float]:
    """Return the two candidates for the bar: where the densities cross, and the mode of high effort.

    The crossing maximises Delta p against every opponent, since d/dtau Delta p(e) =
    F_e(tau) (f_L(tau) - f_H(tau)); the mode is proposed by arXiv 2412.01139.
    """
    return {"crossing": (scores.low_mean + scores.high_mean) / 2, "mode": scores.high_mean}


def _gap(scores: NormalScores, opponent_mean: float) -> float:
    def difference(score: float) -> float:
        return _cdf(score, scores.low_mean, scores.sd) - _cdf(score, scores.high_mean, scores.sd)

    def weighted(score: float) -> float:
        z = (score - opponent_mean) / scores.sd
        return difference(score) * math.exp(-z * z / 2) / (scores.sd * math.sqrt(2 * math.pi))

    # the opponent's density is nothing beyond its own reach, however far apart the means are
    start = max(scores.bar, opponent_mean - REACH_SD * scores.sd)
    end = max(start, opponent_mean + REACH_SD * scores.sd)
    at_bar = 0.0 if scores.bar == -math.inf else difference(scores.bar)
    return _cdf(scores.bar, opponent_mean, scores.sd) * at_bar + _simpson(weighted, start, end)


def _simpson(function: Callable[[float], float], start: float, end: float) -> float:
    step = (end - start) / PANELS
    inner = sum((4 if n % 2 else 2) * function(start + n * step) for n in range(1, PANELS))
    return step / 3 * (function(start) + inner + function(end))


def _cdf(score: float, mean: float, sd: float) -> float:
    return 0.5 * math.erfc((mean - score) / (sd * math.sqrt(2)))


def _check(scores: NormalScores) -> None:
    if not scores.sd > 0 or not math.isfinite(scores.sd):
        raise InputError(f"the spread of scores must be positive, not {scores.sd:g}")
    if not (math.isfinite(scores.low_mean) and math.isfinite(scores.high_mean)) or math.isnan(scores.bar):
        raise InputError("the means of scores must be finite numbers, and the bar a number")
