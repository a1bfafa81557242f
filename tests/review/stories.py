"""Small factories for review stories: who handed in what, and when."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from kina_review.money import parse_amount
from kina_review.payrecords import Award, PayRule
from kina_review.records import Review
from kina_review.tournament.settlement import Settlement, Terms, settle

HOURS = {1: "2026-03-01T01:00:00Z", 2: "2026-03-01T02:00:00Z", 3: "2026-03-01T03:00:00Z"}


def rule(
    base: str = "2.00", bonus: str = "5.00", bar: str = "14", currency: str = "USD", **more: Any
) -> PayRule:
    more.setdefault("tie", "split")
    return PayRule(
        currency=currency,
        base_minor=parse_amount(base, currency),
        bonus_minor=parse_amount(bonus, currency),
        bar=Decimal(bar),
        **more,
    )


def review(
    reviewer: str, score: str | None = None, hour: int | None = 1, item: str = "it-1", **more: Any
) -> Review:
    return Review(
        item_id=item,
        reviewer_id=reviewer,
        review_score=None if score is None else Decimal(score),
        submitted_at=HOURS[hour] if hour else None,
        **more,
    )


def settled(*reviews: Review, rules: PayRule | tuple[PayRule, ...] | None = None, **more: Any) -> Settlement:
    given = (rules,) if isinstance(rules, PayRule) else rules or (rule(),)
    names = {"seed", "deadline", "penalty_minor"}
    terms = Terms(given, **{key: value for key, value in more.items() if key in names})
    return settle(reviews, terms, **{key: value for key, value in more.items() if key not in names})


def pay(settlement: Settlement) -> dict[str, int]:
    """Return what each reviewer earns over all items, in minor units."""
    earned: dict[str, int] = {}
    for award in settlement.awards:
        earned[award.reviewer_id] = earned.get(award.reviewer_id, 0) + total(award)
    return earned


def total(award: Award) -> int:
    return award.base_minor + award.bonus_minor + award.penalty_minor


def reasons(settlement: Settlement) -> dict[str, str]:
    return {award.reviewer_id: award.reason for award in settlement.awards}
