"""A bonus for each discipline: from its own part of a pilot, and dearer where reviewers are scarce.

The rule of scarcity: a discipline whose reviewers have x times as many reviews to give, each, as those
of the batch on the whole, is paid x times as much, base and bonus, but never less than the usual pay
and never more than `review.scarcity_most` times it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any

from pydantic import Field

from kina_build.errors import InputError, KinaError, Refusal
from kina_review.economics.bonus import least_bonus
from kina_review.economics.gaps import check_gaps, count_cells, estimate_gaps
from kina_review.economics.pilot import PilotRow
from kina_review.money import format_amount, least_above
from kina_review.records import Id, Record
from kina_review.rubric import REVIEWS_PER_ITEM, ReviewRules, Tie


class DisciplineRow(Record):
    """How much work a discipline has, and how many people for it."""

    discipline: Id
    items: Annotated[int, Field(gt=0)]
    reviewers: Annotated[int, Field(gt=0)]


def scarcity(rows: Sequence[DisciplineRow], rules: ReviewRules = ReviewRules()) -> dict[str, Fraction]:
    """Return the factor of each discipline's pay.

    Raises:
        InputError: a discipline stands twice.
    """
    names = [row.discipline for row in rows]
    if len(set(names)) < len(names):
        raise InputError(f"discipline {next(n for n in names if names.count(n) > 1)!r} stands twice")
    usual = Fraction(sum(row.items for row in rows), sum(row.reviewers for row in rows))
    most = Fraction(rules.scarcity_most)
    return {
        row.discipline: min(most, max(Fraction(1), Fraction(row.items, row.reviewers) / usual))
        for row in sorted(rows, key=lambda row: row.discipline)
    }


def bonus_by_discipline(
    rows: Sequence[PilotRow],
    cost: Fraction,
    bar: float,
    *,
    tie: Tie,
    currency: str,
    rules: ReviewRules = ReviewRules(),
) -> dict[str, dict[str, Any]]:
    """Return the least bonus of each discipline of a pilot, or why its part of it cannot tell.

    Raises:
        InputError: a row without a discipline, or an item of two.
    """
    parts: dict[str, list[PilotRow]] = defaultdict(list)
    of_item: dict[str, str | None] = {}
    for row in rows:
        if row.discipline is None or of_item.setdefault(row.item_id, row.discipline) != row.discipline:
            raise InputError(
                f"pilot item {row.item_id!r} has no discipline of its own",
                hint="--by-discipline needs the column discipline, one for both rows of an item",
            )
        parts[row.discipline].append(row)
    return {
        name: _bonus(part, cost, bar, tie=tie, currency=currency, rules=rules)
        for name, part in sorted(parts.items())
    }


def _bonus(
    rows: Sequence[PilotRow], cost: Fraction, bar: float, *, tie: Tie, currency: str, rules: ReviewRules
) -> dict[str, Any]:
    items = len(rows) // REVIEWS_PER_ITEM
    try:
        cells = count_cells(rows, bar, tie)
        gaps = estimate_gaps(cells, rules)
        check_gaps(cells, gaps, rules)
    except Refusal as refused:
        return {"items": items, "bonus": None, "b_ic": None, "reason": _told(refused)}
    threshold = least_bonus(cost, Fraction(gaps.least.lower), Fraction(rules.no_show_rate))
    if threshold is None:
        return {"items": items, "bonus": None, "b_ic": None, "reason": "no finite bonus works"}
    least = format_amount(least_above(threshold, currency), currency)
    return {"items": items, "bonus": least, "b_ic": float(threshold), "reason": None}


def _told(error: KinaError) -> str:
    return "; ".join((*error.lines, *([error.hint] if error.hint else ())))


def scale_pay(
    factors: Mapping[str, Fraction], base_minor: int, bonuses: Mapping[str, int], currency: str
) -> dict[str, dict[str, Any]]:
    """Return base and bonus of each discipline after the rule of scarcity, rounded up to what can be paid.

    Args:
        factors: as scarcity gives them.
        base_minor: the usual base.
        bonuses: discipline to its bonus before the rule, minor units.
        currency: of both.
    """
    return {
        name: {
            "factor": float(factor),
            "base": format_amount(-int(-(base_minor * factor) // 1), currency),
            "bonus": format_amount(-int(-(bonuses[name] * factor) // 1), currency),
        }
        for name, factor in factors.items()
        if name in bonuses
    }
