"""Who grades which review: adjudicators who reviewed nothing of the item, evenly loaded."""

from __future__ import annotations

from collections.abc import Sequence

from kina_build.errors import Refusal
from review.assignment import seeded_hash
from review.records import Assignment, Review, Reviewer


def plan_grading(reviews: Sequence[Review], graders: Sequence[Reviewer], *, seed: int) -> list[Assignment]:
    """Give both reviews of an item to one adjudicator, who compares them on one scale.

    Args:
        reviews: submitted ones are graded.
        graders: adjudicators; nobody grades an item they reviewed, or for their own payee.
        seed: breaks ties of load.

    Raises:
        Refusal: an item that no adjudicator may grade.
    """
    by_item: dict[tuple[str, str], list[Review]] = {}
    for review in reviews:
        if review.status == "submitted":
            by_item.setdefault((review.item_id, review.round), []).append(review)
    load = {grader.reviewer_id: 0 for grader in graders}
    payee = {grader.reviewer_id: grader.payee_id for grader in graders}
    plan: list[Assignment] = []
    for (item_id, round_), pair in sorted(by_item.items()):
        involved = {review.reviewer_id for review in pair}
        paid = {review.payee_id for review in pair if review.payee_id}
        able = [name for name in load if name not in involved and payee[name] not in paid]
        if not able:
            raise Refusal(
                f"no adjudicator may grade the reviews of {item_id}", hint="add one who did not review it"
            )
        grader = min(able, key=lambda name: (load[name], seeded_hash(seed, f"grading\0{name}")))
        for review in pair:
            load[grader] += 1
            slot = f"grading\0{item_id}\0{round_}\0{review.reviewer_id}"
            plan.append(
                Assignment(
                    item_id=item_id,
                    reviewer_id=grader,
                    round=round_,
                    review_of=review.reviewer_id,
                    assignment_id=seeded_hash(seed, slot)[:16],
                )
            )
    return plan
