"""The worst that a batch can cost, checked before it opens: B is never scaled afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from kina_build.errors import Refusal, UsageError
from kina_build.rows.tables import read_typed
from kina_review.economics.calibration import PassRates
from kina_review.economics.options import BudgetOptions, CalibrateOptions
from kina_review.money import format_amount, parse_amount, parse_pay
from kina_review.rubric import REVIEWS_PER_ITEM, ReviewRules
from kina_review.tournament.payrules import pay_of
from kina_review.tournament.scarcity import DisciplineRow, dearer, scarcity


@dataclass(frozen=True)
class Budget:
    """The worst case of a batch beside the money there is."""

    items: int
    worst_case_minor: int
    """items * (bonus + 2 * base) * (1 + fee), rounded up."""
    most_items: int | None
    """Items that the budget allows; None if an item costs nothing, or not all cost the same."""
    budget_minor: int


@dataclass(frozen=True)
class Rates:
    """What one item may be paid; minor units."""

    base_minor: int
    """Of each review, and below what grading it costs."""
    grade_minor: int
    bonus_minor: int

    @property
    def item_minor(self) -> int:
        """Return the most that an item costs, without the provider's fee."""
        return self.bonus_minor + REVIEWS_PER_ITEM * (self.base_minor + self.grade_minor)

    def times(self, factor: Fraction) -> Rates:
        """Return dearer rates: what grading costs stays."""
        return Rates(dearer(self.base_minor, factor), self.grade_minor, dearer(self.bonus_minor, factor))


def worst_case(items: int, base_minor: int, bonus_minor: int, fee: Decimal = Decimal(0)) -> int:
    """Return what a batch can cost at most, in minor units, rounded up.

    Where adjudicators are paid, what a review's grade costs belongs to the base.
    """
    return worst_of([(items, Rates(base_minor, 0, bonus_minor))], fee)


def worst_of(parts: Iterable[tuple[int, Rates]], fee: Decimal = Decimal(0)) -> int:
    """Return what items of several rates can cost at most together, in minor units, rounded up."""
    exact = sum(items * rates.item_minor for items, rates in parts) * (1 + Fraction(fee))
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
            hint="take fewer items, or a larger budget"
            if budget.most_items is None
            else f"{budget.most_items} items are the most that fit",
        )


def scarce_rates(
    rates: Rates, work: Sequence[DisciplineRow], rules: ReviewRules = ReviewRules()
) -> list[tuple[int, Rates]]:
    """Return the items of each discipline and what each of them may be paid, by the rule of scarcity."""
    factors = scarcity(work, rules)
    return [(row.items, rates.times(factors[row.discipline])) for row in work]


def check_items(items: int, work: Sequence[DisciplineRow]) -> None:
    """Check that the disciplines' items are those of the batch.

    Raises:
        UsageError: they are more or fewer.
    """
    told = sum(row.items for row in work)
    if told != items:
        raise UsageError(f"--items says {items}, and the --scarcity table has {told}")


def hold_budget(options: BudgetOptions, rules: ReviewRules = ReviewRules()) -> dict[str, Any]:
    """Hold the worst case of a batch against its budget; return the report, amounts in minor units.

    Raises:
        InputError: a bad amount or currency, or an unreadable table.
        Refusal: the batch could cost more than there is.
        UsageError: a fee that is no share, or other items than the table has.
    """
    code = rules.currency if options.currency is None else options.currency
    rates = Rates(
        pay_of("base", options.base, code, rules),
        pay_of("grade_pay", options.grade_pay, code, rules),
        pay_of("bonus", options.bonus, code, rules),
    )
    fee = rules.fee if options.fee is None else _read_share("--fee", options.fee)
    money = parse_pay(options.budget, code, "--budget")
    plan = plan_budget(options.items, money, rates.base_minor + rates.grade_minor, rates.bonus_minor, fee)
    if options.scarcity is not None:
        work = read_typed(options.scarcity, DisciplineRow)
        check_items(options.items, work)
        # how many items of which discipline would fit is not one number
        worst = worst_of(scarce_rates(rates, work, rules), fee)
        plan = replace(plan, worst_case_minor=worst, most_items=None)
    check_budget(plan, code)
    return asdict(plan) | {"currency": code}


def reckon_spend(
    report: dict[str, Any], items: int, options: CalibrateOptions, rules: ReviewRules
) -> dict[str, Any]:
    """Return what a batch costs at worst, and on average where pass rates are known; in major units.

    Args:
        report: of the calibration: currency, bonus, alpha, and the pay of scarce disciplines.
        items: of the batch.
        options: pay and share of high effort.
        rules: the usual pay, and the provider's fee.

    Raises:
        UsageError: no finite bonus to reckon with, or other items than the table has.
    """
    currency = report["currency"]
    paid = options.bonus if options.bonus is not None else report["bonus"]
    if paid is None:
        raise UsageError("there is no finite bonus to reckon the spend with: give --bonus")
    base = pay_of("base", options.base, currency, rules)
    usual = Rates(
        base, pay_of("grade_pay", options.grade_pay, currency, rules), parse_pay(paid, currency, "--bonus")
    )
    parts = [(items, usual)] if options.scarcity is None else _scarce_parts(report, usual, items, options)
    spend: dict[str, Any] = {
        "items": items,
        "worst_case": format_amount(worst_of(parts, rules.fee), currency),
    }
    if report["alpha"]:
        alpha = PassRates(report["alpha"]["LL"], report["alpha"]["HL"], report["alpha"]["HH"])
        bonuses = sum(n * alpha.expected_bonus(one.bonus_minor, options.high_rate) for n, one in parts)
        sure = sum(n * (one.item_minor - one.bonus_minor) for n, one in parts)
        mean = (sure + bonuses) * (1 + float(rules.fee))
        spend |= {"expected": format_amount(round(mean), currency), "high_rate": options.high_rate}
    return spend


def _scarce_parts(
    report: dict[str, Any], usual: Rates, items: int, options: CalibrateOptions
) -> list[tuple[int, Rates]]:
    """Return the items of each discipline and their rates, as the report has them."""
    work = read_typed(options.scarcity, DisciplineRow) if options.scarcity else []
    check_items(items, work)
    lacking = [row.discipline for row in work if row.discipline not in report["scarcity"]]
    if lacking:
        raise UsageError(f"discipline {lacking[0]!r} has no bonus to reckon the spend with: give --bonus")
    currency = report["currency"]
    paid = {name: (one["base"], one["bonus"]) for name, one in report["scarcity"].items()}
    return [
        (
            row.items,
            Rates(
                parse_amount(paid[row.discipline][0], currency),
                usual.grade_minor,
                parse_amount(paid[row.discipline][1], currency),
            ),
        )
        for row in work
    ]


def _read_share(option: str, text: str) -> Decimal:
    try:
        share = Decimal(text)
    except InvalidOperation:
        raise UsageError(f"{option} {text!r} is not a number") from None
    if not share.is_finite() or share < 0:
        raise UsageError(f"{option} {text!r} must be a share such as 0.33")
    return share
