"""How large the bonus must be: against lone shirking, against shirking together, and for targets.

What this does not prove, and nobody should claim: truthfulness, or absence of collusion.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from kina_build.errors import InputError
from review.calibration import PassRates


@dataclass(frozen=True)
class Check:
    """Whether a bonus makes effort worth its cost; None: the data cannot tell."""

    compatible: bool | None
    reason: str
    threshold: Fraction | None
    """B must lie strictly above this; None: no finite bonus works, or none is known."""


@dataclass(frozen=True)
class Watch:
    """What audits add against partners who shirk together."""

    audit_rate: float = 0.0
    """a."""
    penalty: float = 0.0
    """Pi: what a flagged item costs each reviewer, in major units."""
    flagged_ll: float = 0.0
    """phi_LL: chance that an audit flags an item of two low efforts."""
    flagged_hh: float = 0.0

    @property
    def deterrence(self) -> float:
        """Return 2 a Pi (phi_LL - phi_HH): what shirking together loses to audits."""
        return 2 * self.audit_rate * self.penalty * (self.flagged_ll - self.flagged_hh)


def least_bonus(
    delta_cost: Fraction, delta_p: Fraction, no_show_rate: Fraction = Fraction(0)
) -> Fraction | None:
    """Return the threshold B_IC = Delta C / Delta p_min, or None where no finite bonus works.

    A lone review earns no bonus, so that no-shows of opponents thin the gap (corollary 1a).
    """
    gap = delta_p * (1 - no_show_rate)
    return max(Fraction(0), delta_cost) / gap if gap > 0 else None


def check_bonus(
    bonus: Fraction, delta_cost: Fraction, delta_p: Fraction, delta_p_upper: Fraction | None = None
) -> Check:
    """Say whether a bonus lies strictly above Delta C / Delta p_min.

    Args:
        bonus: B, major units.
        delta_cost: Delta C, major units.
        delta_p: Delta p_min, or the lower end of its interval.
        delta_p_upper: upper end, where Delta p_min was estimated.
    """
    threshold = least_bonus(delta_cost, delta_p)
    if threshold is None:
        if delta_p_upper is not None and delta_p_upper > 0:
            return Check(None, "gap not shown to be positive", None)
        return Check(False, "no finite bonus works", None)
    if bonus > threshold:
        return Check(True, "ok", threshold)
    return Check(False, "equal is not above" if bonus == threshold else "below the threshold", threshold)


def collusion_bonus(delta_cost: float, rates: PassRates, watch: Watch = Watch()) -> float | None:
    """Return B_coal = [2 Delta C - 2 a Pi (phi_LL - phi_HH)]+ / (alpha_HH - alpha_LL), or None if infinite.

    Two partners who agree to shirk still split what the bar lets through; without a bar
    that is always the whole bonus, and no bonus deters them.
    """
    temptation = max(0.0, 2 * delta_cost - watch.deterrence)
    if temptation == 0:
        return 0.0
    gain = rates.hh - rates.ll
    return temptation / gain if gain > 0 else None


def closing_audit_rate(delta_cost: float, bonus: float, rates: PassRates, watch: Watch) -> float | None:
    """Return the audit rate at which a bonus also deters shirking together; None if none does."""
    open_ = 2 * delta_cost - bonus * (rates.hh - rates.ll)
    if open_ <= 0:
        return 0.0
    grip = 2 * watch.penalty * (watch.flagged_ll - watch.flagged_hh)
    return open_ / grip if grip > 0 and open_ <= grip else None


def bonus_for_rate(
    costs: NormalDist, target_rate: float, delta_p: float, whitelist_value: float = 0.0
) -> float | None:
    """Return B >= [G^-1(pi*)]+ / Delta p_min: a share pi* of reviewers works hard (corollary 1b).

    Args:
        costs: G, the distribution of the private extra cost of effort.
        target_rate: pi*.
        delta_p: Delta p_min.
        whitelist_value: Lambda, what being struck off the list would cost; lowers every kappa.

    Raises:
        InputError: a rate outside (0, 1).
    """
    if not 0 < target_rate < 1:
        raise InputError(f"the rate of high effort must lie between 0 and 1, and is {target_rate:g}")
    cost = max(0.0, costs.inv_cdf(target_rate) - whitelist_value)
    if cost == 0:
        return 0.0
    return cost / delta_p if delta_p > 0 else None


def flat_rate(costs: NormalDist, whitelist_value: float = 0.0) -> float:
    """Return pi_flat = G(0): who works hard for flat pay (theorem 1)."""
    return costs.cdf(whitelist_value)


def bonus_for_gain(
    costs: NormalDist, gain: float, quality_gain: float, delta_p: float, whitelist_value: float = 0.0
) -> float | None:
    """Return B for a mean gain in quality over flat pay (corollary 1c).

    Args:
        costs: G.
        gain: eta, the wanted gain in mean quality.
        quality_gain: Delta_Q, what one high effort adds to mean quality.
        delta_p: Delta p_min.
        whitelist_value: Lambda.

    Raises:
        InputError: effort adds nothing, or the gain needs a rate of 1 or more.
    """
    if quality_gain <= 0:
        raise InputError("effort must add to quality: --quality-gain must be positive")
    rate = flat_rate(costs, whitelist_value) + gain / quality_gain
    if rate >= 1:
        raise InputError(
            f"a gain of {gain:g} would need a rate of high effort of {rate:.2f}: it is out of reach"
        )
    return bonus_for_rate(costs, rate, delta_p, whitelist_value)
