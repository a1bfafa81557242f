"""The cheapest terms of a batch that deter lone shirking and every deviation of a pair.

A higher bar lets fewer bonuses be paid but needs larger ones; audits replace bonus by the fear of a
penalty, and cost money themselves. Bar, bonus, rate of audits and penalty are searched together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from kina_build.errors import Refusal
from kina_review.economics.advice import Question
from kina_review.economics.bonus import Drops, Watch, collusion_bonus, drops_of, least_bonus
from kina_review.economics.calibration import NormalScores, normal_gaps, normal_pass_rates
from kina_review.economics.gaps import count_cells, estimate_gaps, pass_drops, pass_rates
from kina_review.economics.pilot import PilotRow
from kina_review.money import exponent, format_amount, least_above
from kina_review.rubric import AUDIT_RATES, BARS, PENALTY_STEPS, REVIEWS_PER_ITEM, ReviewRules, Tie


@dataclass(frozen=True)
class Point:
    """What is known at one bar."""

    bar: float
    gap: float
    """Delta p_min, or its lower bound."""
    drops: Drops
    pays_hh: float
    """alpha_HH: share of items whose bonus is paid when both work hard."""


@dataclass(frozen=True)
class Costs:
    """What terms are paid with; minor units."""

    base_minor: int
    audit_minor: int
    """One audited item."""
    items: int
    budget_minor: int
    """Most that the batch may cost at worst: what keeps rare bonuses from growing beyond all bounds."""
    grade_minor: int = 0
    """Grading one review: without its score there is no contest."""
    fee: Fraction = Fraction(0)
    """The provider's, as a share of all pay; an audit is not paid through it."""

    @property
    def sure_minor(self) -> int:
        """Return what an item's two reviews cost whoever wins."""
        return REVIEWS_PER_ITEM * (self.base_minor + self.grade_minor)


@dataclass(frozen=True)
class Offer:
    """Terms that deter, and what they cost."""

    bar: float
    bonus_minor: int
    audit_rate: float
    penalty_minor: int
    """Never above the base: it is what every review earns for sure."""
    b_ic: float
    b_coal: float
    expected_minor: float
    """An item: both reviews and their grading, the bonus as often as two hard workers earn it, the fee,
    and its share of audits."""
    worst_minor: int
    """An item: the same, with the bonus for sure."""

    def report(self, currency: str) -> dict[str, Any]:
        """Return the terms as plain values, amounts in major units."""
        return {
            "bar": self.bar,
            "bonus": format_amount(self.bonus_minor, currency),
            "audit_rate": self.audit_rate,
            "penalty": format_amount(self.penalty_minor, currency),
            "b_ic": self.b_ic,
            "b_coal": self.b_coal,
            "expected_an_item": format_amount(round(self.expected_minor), currency),
            "worst_an_item": format_amount(self.worst_minor, currency),
        }

    def spend(self, costs: Costs, currency: str) -> dict[str, Any]:
        """Return what a batch costs under these terms, amounts in major units."""
        return {
            "items": costs.items,
            "worst_case": format_amount(_worst(self, costs), currency),
            "expected": format_amount(round(costs.items * self.expected_minor), currency),
            "high_rate": 1.0,
        }


def find_cheapest(points: Sequence[Point], asked: Question, costs: Costs) -> Offer:
    """Return the terms of least expected cost that deter every deviation and fit the budget.

    Of equally cheap ones those with fewer audits, then with the lower penalty, then with the lower bar.

    Args:
        points: what is known at each bar.
        asked: extra cost of effort, no-shows, what audits see, currency.
        costs: base, grading, price of an audit, the provider's fee, items and budget.

    Raises:
        Refusal: at no bar a finite bonus deters, or none of the terms fits the budget.
    """
    cost = max(Fraction(0), asked.delta_cost - Fraction(asked.whitelist_value))
    offers = [
        offer
        for point in points
        for watch in _watches(asked.watch, costs, asked.currency)
        if (offer := _offer(point, watch, float(cost), asked, costs)) is not None
    ]
    if not offers:
        raise Refusal(
            "at no bar a finite bonus deters shirking, alone and by agreement",
            hint="a pilot with more items, or more careful grading, may show that effort pays",
        )
    fits = [offer for offer in offers if _worst(offer, costs) <= costs.budget_minor]
    if not fits:
        least = min(offers, key=lambda offer: offer.worst_minor)
        raise Refusal(
            f"no terms deter within the budget: the least costs "
            f"{format_amount(_worst(least, costs), asked.currency)} {asked.currency} at worst",
            hint="take fewer items, or a larger budget",
        )
    return min(fits, key=lambda one: (one.expected_minor, one.audit_rate, one.penalty_minor, one.bar))


def _watches(known: Watch, costs: Costs, currency: str) -> Iterable[Watch]:
    for rate in AUDIT_RATES:
        for step in range(PENALTY_STEPS + 1) if rate else (0,):
            penalty = costs.base_minor * step // PENALTY_STEPS
            yield replace(known, audit_rate=rate, penalty=penalty / 10 ** exponent(currency))


def _offer(point: Point, watch: Watch, cost: float, asked: Question, costs: Costs) -> Offer | None:
    alone = least_bonus(Fraction(cost), Fraction(point.gap), asked.no_show_rate)
    together = collusion_bonus(cost, point.drops, watch).worst
    if alone is None or together is None:
        return None
    bonus = least_above(max(alone, Fraction(together)), asked.currency)
    more, audits = 1 + costs.fee, _exact(watch.audit_rate) * costs.audit_minor
    return Offer(
        bar=point.bar,
        bonus_minor=bonus,
        audit_rate=watch.audit_rate,
        penalty_minor=round(watch.penalty * 10 ** exponent(asked.currency)),
        b_ic=float(alone),
        b_coal=together,
        expected_minor=float((costs.sure_minor + bonus * Fraction(point.pays_hh)) * more + audits),
        worst_minor=-int(-((costs.sure_minor + bonus) * more + audits) // 1),
    )


def _exact(rate: float) -> Fraction:
    return Fraction(str(rate))  # 0.1 as it is written, not as a binary float has it


def _worst(offer: Offer, costs: Costs) -> int:
    audits = -int(-(_exact(offer.audit_rate) * costs.audit_minor * costs.items) // 1)
    pay = (costs.sure_minor + offer.bonus_minor) * costs.items * (1 + costs.fee)
    return -(-pay.numerator // pay.denominator) + audits


def normal_points(low: float, high: float, sd: float) -> list[Point]:
    """Return what assumed normal scores give at bars from far below low effort to far above high."""
    start, end = low - 2 * sd, high + 3 * sd
    bars = (start + (end - start) * n / (BARS - 1) for n in range(BARS))
    return [_normal_point(NormalScores(low, high, sd, bar)) for bar in bars]


def _normal_point(scores: NormalScores) -> Point:
    rates = normal_pass_rates(scores)
    return Point(scores.bar, normal_gaps(scores).least, drops_of(rates), rates.hh)


def pilot_points(rows: Sequence[PilotRow], tie: Tie, rules: ReviewRules = ReviewRules()) -> list[Point]:
    """Return the lower bounds that a pilot gives at each score that it saw as the bar.

    Raises:
        Refusal: the pilot lacks a pair of efforts.
    """
    return [pilot_point(rows, float(bar), tie, rules) for bar in sorted({row.review_score for row in rows})]


def pilot_point(rows: Sequence[PilotRow], bar: float, tie: Tie, rules: ReviewRules = ReviewRules()) -> Point:
    """Return the lower bounds that a pilot gives at one bar.

    Raises:
        Refusal: the pilot lacks a pair of efforts.
    """
    cells = count_cells(rows, bar, tie)
    gap = estimate_gaps(cells, rules).least.lower
    return Point(bar, gap, pass_drops(cells, rules), pass_rates(cells).hh)
