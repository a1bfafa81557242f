"""How large the bonus must be: against lone shirking, against every deviation of a pair, for targets.

What this does not prove, and nobody should claim: truthfulness, or absence of collusion.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from kina_build.errors import InputError
from kina_review.economics.calibration import PassRates


@dataclass(frozen=True)
class Check:
    """Whether a bonus makes effort worth its cost; None: the data cannot tell."""

    compatible: bool | None
    reason: str
    threshold: Fraction | None
    """B must lie strictly above this; None: no finite bonus works, or none is known."""


PENALISED = 2
"""Reviewers of an item who are penalised when its audit finds the flaw, unless a dissent exempts one."""


@dataclass(frozen=True)
class Watch:
    """What audits add against partners who shirk."""

    audit_rate: float = 0.0
    """a."""
    penalty: float = 0.0
    """Pi: what a flagged item costs each reviewer, in major units."""
    flagged_ll: float = 0.0
    """phi_LL: chance that an audit flags an item of two low efforts."""
    flagged_hh: float = 0.0
    flagged_hl: float | None = None
    """phi_HL; None is as for two high efforts: then audits do nothing against one who shirks."""
    penalised_hl: float = PENALISED
    """x_HL: expected number penalised then; 1 where the other's logged dissent exempts them."""

    @property
    def grip_one(self) -> float:
        """Return x_HL phi_HL - x_HH phi_HH: what one shirker adds to the pair's expected penalties."""
        mixed = self.flagged_hh if self.flagged_hl is None else self.flagged_hl
        return self.penalised_hl * mixed - PENALISED * self.flagged_hh

    @property
    def grip_both(self) -> float:
        """Return x_LL phi_LL - x_HH phi_HH."""
        return PENALISED * (self.flagged_ll - self.flagged_hh)

    @property
    def deterrence(self) -> float:
        """Return a Pi (x_LL phi_LL - x_HH phi_HH): what shirking together loses to audits."""
        return self.audit_rate * self.penalty * self.grip_both


@dataclass(frozen=True)
class Drops:
    """What shirking takes off the chance that the pair is paid the bonus."""

    one_shirks: float
    """alpha_HH - alpha_HL, or its lower bound."""
    both_shirk: float
    """alpha_HH - alpha_LL, or its lower bound."""


@dataclass(frozen=True)
class Deviations:
    """The bonus that deters each deviation of a pair that works hard; None: no finite one."""

    one_shirks: float | None
    both_shirk: float | None

    @property
    def worst(self) -> float | None:
        """Return B_coal, the largest of them; None where a deviation has no finite bonus."""
        if self.one_shirks is None or self.both_shirk is None:
            return None
        return max(self.one_shirks, self.both_shirk)


def drops_of(rates: PassRates) -> Drops:
    """Return the drops of known pass rates."""
    return Drops(rates.hh - rates.hl, rates.hh - rates.ll)


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


def collusion_bonus(delta_cost: float, drops: Drops, watch: Watch = Watch()) -> Deviations:
    """Return [n Delta C - a Pi (x_e phi_e - x_HH phi_HH)]+ / (alpha_HH - alpha_e) for each deviation e.

    A pair may agree that one of them shirks (n = 1) or both (n = 2), and share what the bar lets
    through. Without a bar that is always the whole bonus, and no bonus deters them.
    """
    force = watch.audit_rate * watch.penalty
    return Deviations(
        one_shirks=_deterring(delta_cost - force * watch.grip_one, drops.one_shirks),
        both_shirk=_deterring(2 * delta_cost - force * watch.grip_both, drops.both_shirk),
    )


def _deterring(temptation: float, drop: float) -> float | None:
    return max(0.0, temptation) / drop if drop > 0 else None


def closing_audit_rate(delta_cost: float, bonus: float, drops: Drops, watch: Watch) -> float | None:
    """Return the audit rate at which a bonus also deters every deviation of a pair; None if none does."""
    rates = [
        _closing(delta_cost - bonus * drops.one_shirks, watch.penalty * watch.grip_one),
        _closing(2 * delta_cost - bonus * drops.both_shirk, watch.penalty * watch.grip_both),
    ]
    found = [rate for rate in rates if rate is not None]
    return max(found) if len(found) == len(rates) else None


def _closing(open_: float, grip: float) -> float | None:
    if open_ <= 0:
        return 0.0
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
