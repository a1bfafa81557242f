"""Pay rules and the moments from which they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import cast, get_args

from kina_build.errors import InputError, Refusal
from kina_build.rows.tables import read_typed
from kina_review.money import parse_pay
from kina_review.records import Id, Instant, PayRule, Record
from kina_review.rubric import ReviewRules, Tie


def rule_at(rules: Sequence[PayRule], moment: datetime | None) -> PayRule:
    """Return the rule in force at a moment: the latest that had begun.

    Raises:
        Refusal: the moment is unknown among several rules, or before all of them.
    """
    if len(rules) == 1 and rules[0].valid_from is None:
        return rules[0]
    if moment is None:
        raise Refusal("pay rules have dates, and a review has no submitted_at: no rule can be chosen")
    begun = [rule for rule in rules if _begin(rule) <= moment]
    if not begun:
        raise Refusal(f"no pay rule was in force on {moment:%Y-%m-%d}")
    return max(begun, key=_begin)


def check_rules(rules: Sequence[PayRule]) -> None:
    """Check that every moment has one rule and all rules pay in one currency.

    Raises:
        InputError: no rules, two of one version or one beginning, or two currencies.
    """
    if not rules:
        raise InputError("no pay rule is given")
    for what, values in (
        ("version", [rule.version for rule in rules]),
        ("valid_from", [_begin(rule) for rule in rules]),
    ):
        if len(set(values)) != len(values):
            raise InputError(f"two pay rules have the same {what}")
    if len({rule.currency for rule in rules}) > 1:
        raise InputError("pay rules of one settlement must share one currency")


def _begin(rule: PayRule) -> datetime:
    return rule.valid_from or datetime.min.replace(tzinfo=UTC)


class RuleRow(Record):
    """A pay rule as people write it, in major units."""

    version: Id
    valid_from: Instant | None = None
    currency: str
    base: Decimal
    bonus: Decimal
    bar: Decimal
    tie: Tie | None = None
    grade: Decimal = Decimal(0)
    """What an adjudicator earns for each review graded."""


def pay_rule(row: RuleRow, where: str) -> PayRule:
    """Return a rule in minor units.

    Raises:
        InputError: an amount finer than the currency, or below zero; the message begins with where.
    """
    return PayRule(
        version=row.version,
        valid_from=row.valid_from,
        currency=row.currency,
        base_minor=parse_pay(row.base, row.currency, f"{where}: base"),
        bonus_minor=parse_pay(row.bonus, row.currency, f"{where}: bonus"),
        bar=row.bar,
        tie=row.tie,
        grade_minor=parse_pay(row.grade, row.currency, f"{where}: grade"),
    )


def read_pay_rules(path: Path) -> list[PayRule]:
    """Read pay rules with dates from a table; a rule without a tie rule refuses ties.

    Raises:
        InputError: unreadable file, bad amounts, or rules that contradict each other.
    """
    rules = [pay_rule(row, str(path)) for row in read_typed(path, RuleRow)]
    check_rules(rules)
    return rules


def build_pay_rule(
    version: str, given: Mapping[str, str | None], numbers: ReviewRules = ReviewRules()
) -> PayRule:
    """Build the one rule of a settlement from what is given and, else, the [review] page.

    Raises:
        InputError: a bad amount, bar or currency.
    """
    currency = given.get("currency") or numbers.currency
    bar = given.get("bar")
    return PayRule(
        version=version,
        currency=currency,
        base_minor=parse_pay(given.get("base") or numbers.base, currency, "--base"),
        bonus_minor=parse_pay(given.get("bonus") or numbers.bonus, currency, "--bonus"),
        bar=numbers.bar if bar is None else _parse_bar(bar),
        tie=_tie(given.get("tie") or numbers.tie),
        grade_minor=parse_pay(given.get("grade_pay") or numbers.grade_pay, currency, "--grade-pay"),
    )


def _tie(word: str) -> Tie:
    if word not in get_args(Tie):
        raise InputError(f"tie {word!r} is not one of {', '.join(get_args(Tie))}")
    return cast("Tie", word)


def _parse_bar(text: str) -> Decimal:
    try:
        bar = Decimal(text)
    except InvalidOperation:
        raise InputError(f"the bar {text!r} is not a number") from None
    if not bar.is_finite():
        raise InputError(f"the bar {text!r} is not a finite number")
    return bar
