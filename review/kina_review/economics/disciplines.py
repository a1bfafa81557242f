"""A bonus for each discipline from its own part of a pilot, and what the rule of scarcity makes of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from kina_build.errors import InputError, KinaError, Refusal
from kina_build.rows.tables import read_typed
from kina_review.economics.advice import Question, advise
from kina_review.economics.gaps import check_gaps, count_cells, estimate_gaps, pass_drops
from kina_review.economics.options import CalibrateOptions
from kina_review.economics.pilot import PilotRow
from kina_review.money import format_amount, parse_amount
from kina_review.rubric import REVIEWS_PER_ITEM, ReviewRules, Tie
from kina_review.tournament.payrules import pay_of
from kina_review.tournament.scarcity import DisciplineRow, dearer, scarcity


def bonus_by_discipline(
    rows: Sequence[PilotRow], asked: Question, bar: float, *, tie: Tie, rules: ReviewRules = ReviewRules()
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
    return {name: _bonus(part, asked, bar, tie=tie, rules=rules) for name, part in sorted(parts.items())}


def _bonus(
    rows: Sequence[PilotRow], asked: Question, bar: float, *, tie: Tie, rules: ReviewRules
) -> dict[str, Any]:
    nothing = {"items": len(rows) // REVIEWS_PER_ITEM, "bonus": None, "b_ic": None, "b_coal": None}
    try:
        cells = count_cells(rows, bar, tie)
        gaps = estimate_gaps(cells, rules)
        check_gaps(cells, gaps, rules)
    except Refusal as refused:
        return nothing | {"reason": _told(refused)}
    advice = advise(Fraction(gaps.least.lower), pass_drops(cells, rules), asked)
    if advice.bonus_minor is None:
        return nothing | {"reason": "no finite bonus works"}
    bonus = format_amount(advice.bonus_minor, asked.currency)
    return nothing | {"bonus": bonus, "b_ic": advice.b_ic, "b_coal": advice.b_coal, "reason": None}


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
            "base": format_amount(dearer(base_minor, factor), currency),
            "bonus": format_amount(dearer(bonuses[name], factor), currency),
        }
        for name, factor in factors.items()
        if name in bonuses
    }


def scarce_pay(report: dict[str, Any], options: CalibrateOptions, rules: ReviewRules) -> dict[str, Any]:
    """Return base and bonus of each discipline after the rule of scarcity; none without a bonus."""
    currency, general = report["currency"], options.bonus or report["bonus"]
    given = {} if options.bonus else report.get("disciplines", {})
    own = {name: one["bonus"] for name, one in given.items()}
    factors = scarcity(read_typed(options.scarcity, DisciplineRow) if options.scarcity else [], rules)
    bonuses = {
        name: parse_amount(bonus, currency)
        for name in factors
        if (bonus := own.get(name) if name in own else general) is not None
    }
    base = pay_of("base", options.base, currency, rules)
    return scale_pay(factors, base, bonuses, currency)
