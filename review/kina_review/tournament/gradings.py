"""What adjudicators earn: so much for each review that they graded, through the same ledger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kina_build.errors import InputError, Refusal
from kina_review.payrecords import PayRule
from kina_review.records import Grade, Review

Place = tuple[str, str]
"""item_id, round."""


@dataclass(frozen=True)
class Grading:
    """What one adjudicator earns on one item in one round."""

    item_id: str
    round: str
    grader_id: str
    payee_id: str | None
    graded: int
    """Reviews of the item that they graded."""
    amount_minor: int
    rule: str
    """Version of the pay rule."""


def pay_gradings(
    grades: Sequence[Grade], reviews: Sequence[Review], rules: Mapping[Place, PayRule]
) -> tuple[Grading, ...]:
    """Return what the adjudicators of a batch earn; nothing under rules that pay none.

    Args:
        grades: as they came; a blank one is no grade, and a repeated one counts once.
        reviews: the reviews that were graded.
        rules: item and round to the rule that it is paid by.

    Raises:
        InputError: a grade names nobody who could be paid.
        Refusal: somebody graded an item that they reviewed.
    """
    reviewers: dict[Place, set[str]] = defaultdict(set)
    for review in reviews:
        reviewers[review.item_id, review.round] |= {review.reviewer_id, review.payee_id or review.reviewer_id}
    graded: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    payees: dict[str, str | None] = {}
    for grade in grades:
        place = (grade.item_id, grade.round)
        rule = rules.get(place)
        if rule is None or not rule.grade_minor or (grade.review_score is None and not grade.marks):
            continue
        _check(grade, reviewers[place])
        graded[(*place, grade.grader_id)].add(grade.reviewer_id)
        payees[grade.grader_id] = payees.get(grade.grader_id) or grade.payee_id
    return tuple(
        Grading(
            item_id=item_id,
            round=round_,
            grader_id=who,
            payee_id=payees[who],
            graded=len(whose),
            amount_minor=len(whose) * rules[item_id, round_].grade_minor,
            rule=rules[item_id, round_].name,
        )
        for (item_id, round_, who), whose in sorted(graded.items())
    )


def _check(grade: Grade, reviewers: set[str]) -> None:
    if "grader_id" not in grade.model_fields_set:
        raise InputError(
            f"a score of {grade.reviewer_id!r} on item {grade.item_id!r} names no grader, who is to be paid",
            hint="add a column grader_id, or leave out the pay for grades",
        )
    if {grade.grader_id, grade.payee_id or grade.grader_id} & reviewers:
        raise Refusal(
            f"{grade.grader_id!r} graded item {grade.item_id!r}, which they reviewed themselves",
            hint="`kina review graders` gives an item to somebody who did not review it",
        )
