"""Pay rules and the moments from which they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import cast, get_args

from kina_build.errors import InputError, Refusal
from kina_build.rows.tables import read_typed
from kina_review.money import exponent, parse_pay
from kina_review.payrecords import PayRule
from kina_review.records import Id, Instant, Record
from kina_review.rubric import ReviewRules, Tie


def rule_at(rules: Sequence[PayRule], moment: datetime | None, discipline: str | None = None) -> PayRule:
    """Return the rule of a discipline in force at a moment: of the latest version that had begun.

    Raises:
        Refusal: the moment is unknown among several rules, or before all of them, or no rule of the
            version speaks of the discipline.
    """
    if len({rule.version for rule in rules}) == 1 and rules[0].valid_from is None:
        return rule_of(rules, rules[0].version, discipline)
    if moment is None:
        raise Refusal("pay rules have dates, and a review has no submitted_at: no rule can be chosen")
    begun = [rule for rule in rules if _begin(rule) <= moment]
    if not begun:
        raise Refusal(f"no pay rule was in force on {moment:%Y-%m-%d}")
    return rule_of(rules, max(begun, key=_begin).version, discipline)


def rule_of(rules: Sequence[PayRule], version: str, discipline: str | None) -> PayRule:
    """Return a version's rule of a discipline: its own, else the one that speaks of no discipline.

    Raises:
        Refusal: there is neither.
    """
    found = {rule.discipline: rule for rule in rules if rule.version == version}
    if discipline not in found and None not in found:
        raise Refusal(
            f"pay rule {version} says nothing of discipline {discipline!r}",
            hint=f"it speaks of {', '.join(sorted(filter(None, found)))}",
        )
    return found.get(discipline) or found[None]


def check_rules(rules: Sequence[PayRule]) -> None:
    """Check that every moment and discipline has one rule and all rules pay in one currency.

    Raises:
        InputError: no rules, two of one version and discipline, two versions of one beginning, a
            version of two beginnings, or two currencies.
    """
    if not rules:
        raise InputError("no pay rule is given")
    names = [rule.name for rule in rules]
    if len(set(names)) < len(names):
        raise InputError(
            "two pay rules have the same version", hint="rules of one version need a discipline each"
        )
    begins = {(rule.version, _begin(rule)) for rule in rules}
    if len({version for version, _ in begins}) < len(begins):
        raise InputError("the pay rules of one version must have the same valid_from")
    if len({begin for _, begin in begins}) < len(begins):
        raise InputError("two pay rules have the same valid_from")
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
    discipline: Id | None = None
    """Whose items it pays; blank: those of which no other row of the version speaks."""


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
        discipline=row.discipline,
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
    if not version.strip():
        raise InputError("the version of the pay rule is blank")
    currency = numbers.currency if given.get("currency") is None else str(given["currency"])
    bar, tie = given.get("bar"), given.get("tie")
    return PayRule(
        version=version,
        currency=currency,
        base_minor=pay_of("base", given.get("base"), currency, numbers),
        bonus_minor=pay_of("bonus", given.get("bonus"), currency, numbers),
        bar=numbers.bar if bar is None else _parse_bar(bar),
        tie=_tie(numbers.tie if tie is None else tie),
        grade_minor=pay_of("grade_pay", given.get("grade_pay"), currency, numbers),
    )


def pay_of(name: str, given: str | None, currency: str, numbers: ReviewRules = ReviewRules()) -> int:
    """Return base, bonus or grade_pay in minor units: as given, else as the [review] page has it.

    What is given and empty (`--base "$PAY"` with PAY unset) is a slip, never the usual pay.

    Raises:
        InputError: a bad amount, or the usual one is in another currency.
    """
    option, usual = f"--{name.replace('_', '-')}", getattr(numbers, name)
    exponent(currency)
    if given is None and usual and currency != numbers.currency:
        raise InputError(
            f"the usual {name.replace('_', ' ')} is {usual} {numbers.currency}, and pay is in {currency}",
            hint=f"give {option} in {currency}",
        )
    return parse_pay(usual if given is None else given, currency, option)


def usual_penalty(currency: str, numbers: ReviewRules = ReviewRules()) -> int | None:
    """Return the [review] page's penalty in minor units; None: it is in another currency.

    Raises:
        InputError: it is finer than its currency.
    """
    if currency != numbers.currency and numbers.penalty:
        return None
    return parse_pay(numbers.penalty, currency, "review.penalty")


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
