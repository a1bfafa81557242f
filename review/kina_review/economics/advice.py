"""What to pay, all numbers side by side: from Delta p, alpha and Delta C to bonuses and spend."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from kina_review.economics.bonus import (
    Check,
    Deviations,
    Drops,
    Watch,
    bonus_for_gain,
    bonus_for_rate,
    check_bonus,
    closing_audit_rate,
    collusion_bonus,
    flat_rate,
    least_bonus,
)
from kina_review.money import format_amount, least_above

NO_WATCH = Watch()


@dataclass(frozen=True)
class Question:
    """What is asked, and what is known besides Delta p and alpha. Money in major units."""

    delta_cost: Fraction
    currency: str
    no_show_rate: Fraction = Fraction(0)
    watch: Watch = NO_WATCH
    whitelist_value: float = 0.0
    """Lambda: continuation value at risk; lowers every private cost."""
    bonus: Fraction | None = None
    """A bonus to be judged."""
    cost_sd: float | None = None
    """Spread of private costs: makes G a normal distribution around Delta C."""
    target_rate: float | None = None
    target_gain: float | None = None
    quality_gain: float | None = None


@dataclass(frozen=True)
class Advice:
    """Bonuses for each aim; None where none is finite or none was asked."""

    b_ic: float | None
    """Threshold against lone shirking: the bonus must lie strictly above."""
    bonus_minor: int | None
    """Least bonus strictly above b_ic, in minor units."""
    b_coal: float | None
    """Threshold against a pair that agrees to shirk, one of them or both: the larger of the two."""
    deviations: Deviations | None
    """Each of the two apart; None where nothing is known of pass rates."""
    closing_audit_rate: float | None
    """Audit rate at which the judged (else the least) bonus also deters both deviations."""
    check: Check | None
    flat_rate: float | None
    b_for_rate: float | None
    b_for_gain: float | None


def advise(
    delta_p: Fraction, drops: Drops | None, asked: Question, delta_p_upper: Fraction | None = None
) -> Advice:
    """Answer a question with Delta p_min, or its lower bound, in hand.

    Args:
        delta_p: Delta p_min, or its lower bound.
        drops: what shirking takes off the pass rates, or its lower bounds; None where unknown.
        asked: the question.
        delta_p_upper: upper bound, where estimated.

    Raises:
        InputError: a target out of reach.
    """
    cost = max(Fraction(0), asked.delta_cost - Fraction(asked.whitelist_value))
    threshold = least_bonus(cost, delta_p, asked.no_show_rate)
    least = None if threshold is None else least_above(threshold, asked.currency)
    pays = asked.bonus if asked.bonus is not None else threshold
    thinned = delta_p * (1 - asked.no_show_rate)
    costs = None if asked.cost_sd is None else NormalDist(float(asked.delta_cost), asked.cost_sd)
    deviations = None if drops is None else collusion_bonus(float(cost), drops, asked.watch)
    return Advice(
        b_ic=None if threshold is None else float(threshold),
        bonus_minor=least,
        b_coal=None if deviations is None else deviations.worst,
        deviations=deviations,
        closing_audit_rate=None
        if drops is None or pays is None
        else closing_audit_rate(float(cost), float(pays), drops, asked.watch),
        check=None if asked.bonus is None else check_bonus(asked.bonus, cost, thinned, delta_p_upper),
        flat_rate=None if costs is None else flat_rate(costs, asked.whitelist_value),
        b_for_rate=None
        if costs is None or asked.target_rate is None
        else bonus_for_rate(costs, asked.target_rate, float(thinned), asked.whitelist_value),
        b_for_gain=None
        if costs is None or asked.target_gain is None or asked.quality_gain is None
        else bonus_for_gain(
            costs, asked.target_gain, asked.quality_gain, float(thinned), asked.whitelist_value
        ),
    )


def report_advice(advice: Advice, asked: Question) -> dict[str, Any]:
    """Return an answer as plain values, with the reason where a number is None; amounts in major units."""
    reasons = {}
    if advice.b_ic is None:
        reasons["b_ic"] = "no finite bonus works: effort does not raise the chance of winning"
    if advice.b_coal is None:
        reasons["b_coal"] = (
            "unknown without pass rates"
            if advice.deviations is None
            else "infinite or not shown: a pair that shirks loses nothing, or too little for a pilot to show"
        )
    check = advice.check
    return {
        "delta_cost": float(asked.delta_cost),
        "currency": asked.currency,
        "b_ic": advice.b_ic,
        "bonus": None if advice.bonus_minor is None else format_amount(advice.bonus_minor, asked.currency),
        "b_coal": advice.b_coal,
        "deviations": {
            "one_shirks": advice.deviations and advice.deviations.one_shirks,
            "both_shirk": advice.deviations and advice.deviations.both_shirk,
        },
        "closing_audit_rate": advice.closing_audit_rate,
        "incentive_compatible": None if check is None else check.compatible,
        "incentive_reason": None if check is None else check.reason,
        "flat_rate": advice.flat_rate,
        "b_for_rate": advice.b_for_rate,
        "b_for_gain": advice.b_for_gain,
        "reasons": reasons,
        "not_proved": ["truthfulness", "absence of collusion"],
    }
