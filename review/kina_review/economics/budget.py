"""The worst that a batch can cost, checked before it opens: B is never scaled afterwards."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from kina_build.errors import Refusal, UsageError
from kina_review.economics.options import BudgetOptions
from kina_review.money import format_amount, parse_amount
from kina_review.rubric import REVIEWS_PER_ITEM, ReviewRules


@dataclass(frozen=True)
class Budget:
    """The worst case of a batch beside the money there is."""

    items: int
    worst_case_minor: int
    """items * (bonus + 2 * base) * (1 + fee), rounded up."""
    most_items: int | None
    """Items that the budget allows; None if an item costs nothing."""
    budget_minor: int


def worst_case(items: int, base_minor: int, bonus_minor: int, fee: Decimal = Decimal(0)) -> int:
    """Return what a batch can cost at most, in minor units, rounded up.

    Where adjudicators are paid, what a review's grade costs belongs to the base.
    """
    exact = items * (bonus_minor + REVIEWS_PER_ITEM * base_minor) * (1 + Fraction(fee))
    return -(-exact.numerator // exact.denominator)


def plan_budget(
    items: int, budget_minor: int, base_minor: int, bonus_minor: int, fee: Decimal = Decimal(0)
) -> Budget:
    """Hold a batch against a budget."""
    one = (bonus_minor + REVIEWS_PER_ITEM * base_minor) * (1 + Fraction(fee))
    most = int(budget_minor / one) if one else None
    return Budget(items, worst_case(items, base_minor, bonus_minor, fee), most, budget_minor)


def check_budget(budget: Budget, currency: str) -> None:
    """Refuse a batch that could cost more than there is.

    Raises:
        Refusal: the worst case is beyond the budget; the hint says how many items fit.
    """
    if budget.worst_case_minor > budget.budget_minor:
        raise Refusal(
            f"{budget.items} items can cost {format_amount(budget.worst_case_minor, currency)} {currency}, "
            f"beyond the budget of {format_amount(budget.budget_minor, currency)}",
            hint=f"{budget.most_items} items are the most that fit",
        )


def hold_budget(options: BudgetOptions, rules: ReviewRules = ReviewRules()) -> dict[str, Any]:
    """Hold the worst case of a batch against its budget; return the report, amounts in minor units.

    Raises:
        InputError: a bad amount or currency.
        Refusal: the batch could cost more than there is.
        UsageError: a fee that is no share.
    """
    code = options.currency or rules.currency
    plan = plan_budget(
        options.items,
        parse_amount(options.budget, code),
        parse_amount(options.base if options.base is not None else rules.base, code)
        + parse_amount(rules.grade_pay, code),
        parse_amount(options.bonus if options.bonus is not None else rules.bonus, code),
        rules.fee if options.fee is None else _read_share("--fee", options.fee),
    )
    check_budget(plan, code)
    return asdict(plan) | {"currency": code}


def _read_share(option: str, text: str) -> Decimal:
    try:
        share = Decimal(text)
    except InvalidOperation:
        raise UsageError(f"{option} {text!r} is not a number") from None
    if not share.is_finite() or share < 0:
        raise UsageError(f"{option} {text!r} must be a share such as 0.33")
    return share
