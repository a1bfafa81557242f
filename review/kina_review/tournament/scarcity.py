"""Pay by discipline: which one an item is of, and what makes the pay of scarce ones dearer.

The rule of scarcity: a discipline whose reviewers have x times as many reviews to give, each, as those
of the batch on the whole, is paid x times as much, base and bonus, but never less than the usual pay
and never more than `review.scarcity_most` times it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated

from pydantic import Field

from kina_build.errors import InputError, Refusal
from kina_build.rows.tables import need_rows
from kina_review.payrecords import PayRule, Scarcity
from kina_review.records import Id, Record
from kina_review.rubric import ReviewRules
from kina_review.spelling import check_spelling


class DisciplineRow(Record):
    """How much work a discipline has, and how many people for it."""

    discipline: Id
    items: Annotated[int, Field(gt=0)]
    reviewers: Annotated[int, Field(gt=0)]


def scarcity(rows: Sequence[DisciplineRow], rules: ReviewRules = ReviewRules()) -> dict[str, Fraction]:
    """Return the factor of each discipline's pay.

    Raises:
        InputError: a discipline stands twice.
        Refusal: two differ only by case, blanks or Unicode form.
    """
    names = [row.discipline for row in rows]
    if len(set(names)) < len(names):
        raise InputError(f"discipline {next(n for n in names if names.count(n) > 1)!r} stands twice")
    check_spelling("discipline", names)
    usual = Fraction(sum(row.items for row in rows), sum(row.reviewers for row in rows))
    most = Fraction(rules.scarcity_most)
    return {
        row.discipline: min(most, max(Fraction(1), Fraction(row.items, row.reviewers) / usual))
        for row in sorted(rows, key=lambda row: row.discipline)
    }


def dearer(amount_minor: int, factor: Fraction) -> int:
    """Return an amount times a factor, rounded up to what can be paid."""
    return -int(-(amount_minor * factor) // 1)


def scarce_rules(rules: Sequence[PayRule], factors: Mapping[str, Fraction]) -> list[PayRule]:
    """Return a rule for each discipline in place of each rule: base and bonus by the rule of scarcity.

    Raises:
        InputError: a rule speaks of a discipline already.
    """
    own = [rule for rule in rules if rule.discipline]
    if own:
        raise InputError(
            f"pay rule {own[0].version} has pay of its own for {own[0].discipline!r}",
            hint="give one of the two: a column discipline in --rules, or --scarcity",
        )
    return [_scarce(rule, name, factor) for rule in rules for name, factor in factors.items()]


def _scarce(rule: PayRule, discipline: str, factor: Fraction) -> PayRule:
    usual = Scarcity(factor=str(factor), base_minor=rule.base_minor, bonus_minor=rule.bonus_minor)
    return rule.model_copy(
        update={
            "discipline": discipline,
            "base_minor": dearer(rule.base_minor, factor),
            "bonus_minor": dearer(rule.bonus_minor, factor),
            "scarcity": usual,
        }
    )


def read_disciplines(path: Path) -> dict[str, str]:
    """Read the discipline of each item of a table: item_id or id, and discipline.

    Raises:
        InputError: an unreadable file, a row without an id, or an item of two disciplines.
    """
    found: dict[str, str] = {}
    for row in need_rows(path):
        item_id, name = (_text(row.values, *keys) for keys in (("item_id", "id"), ("discipline",)))
        if not item_id:
            raise InputError(f"{row.file}:{row.line}: neither item_id nor id")
        if name and found.setdefault(item_id, name) != name:
            raise InputError(
                f"{row.file}:{row.line}: item {item_id!r} is of {found[item_id]!r} and of {name!r}"
            )
    return found


def _text(values: Mapping[str, object], *keys: str) -> str:
    return next((text for key in keys if (text := str(values.get(key) or "").strip())), "")


def check_disciplines(
    rules: Sequence[PayRule], disciplines: Mapping[str, str], item_ids: Iterable[str]
) -> None:
    """Check that each item has a discipline where pay goes by it, and each discipline one spelling.

    Raises:
        Refusal: an item has none, or as check_spelling.
    """
    own = {rule.discipline for rule in rules if rule.discipline}
    if not own:
        return
    check_spelling("discipline", {*own, *disciplines.values()})
    lacking = sorted(set(item_ids) - disciplines.keys())
    if lacking:
        raise Refusal(
            f"pay goes by discipline, and item {lacking[0]!r} has none ({len(lacking)} such items)",
            hint="--items FILE says it: a table of item_id and discipline, such as the pool",
        )
