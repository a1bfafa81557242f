"""Who grades which review: adjudicators who reviewed nothing of the item, evenly loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kina_build.errors import Refusal, UsageError
from kina_build.rows.tables import read_typed
from kina_review.desk.assignment import seeded_hash
from kina_review.desk.options import GradersOptions
from kina_review.desk.planning import report_loads
from kina_review.instants import read_end
from kina_review.intake import read_reviewers, read_reviews
from kina_review.records import Assignment, Id, Instant, Record, Review, Reviewer


@dataclass(frozen=True)
class Grading:
    """Who grades which review."""

    assignments: list[Assignment]

    @property
    def report(self) -> dict[str, Any]:
        """Return how many assignments each adjudicator has."""
        return report_loads(self.assignments)


def check_grading(options: GradersOptions) -> None:
    """Check that what belongs to an appeal is given together.

    Raises:
        UsageError: it is not.
    """
    lone = (options.appeals is None) != (options.earlier is None)
    if lone or (options.until is not None and options.appeals is None):
        raise UsageError("--appeals and --earlier go together, and --until with them")


def plan_graders(options: GradersOptions) -> Grading:
    """Read reviews and adjudicators, and give both reviews of each item to one of them.

    Raises:
        InputError: an unreadable file.
        Refusal: nobody may grade an item, or an appeal is late or about nothing.
        UsageError: as check_grading.
    """
    check_grading(options)
    rows, people = read_reviews(options.reviews).records, read_reviewers(options.graders).records
    if options.appeals is None or options.earlier is None:
        return Grading(plan_grading(rows, people, seed=options.seed))
    return Grading(
        plan_appeals(
            read_typed(options.appeals, Appeal),
            rows,
            read_typed(options.earlier, Assignment),
            people,
            seed=options.seed,
            until=read_end(options.until, "--until") if options.until else None,
        )
    )


Place = tuple[str, str]
"""item_id, round."""


class Appeal(Record):
    """A reviewer's objection to the grade of their review of one item."""

    item_id: Id
    reviewer_id: Id
    round: Id = "1"
    made_at: Instant | None = None
    reason: str | None = None


def plan_grading(reviews: Sequence[Review], graders: Sequence[Reviewer], *, seed: int) -> list[Assignment]:
    """Give both reviews of an item to one adjudicator, who compares them on one scale.

    Args:
        reviews: submitted ones are graded.
        graders: adjudicators; nobody grades an item they reviewed, or for their own payee.
        seed: breaks ties of load.

    Raises:
        Refusal: an item that no adjudicator may grade.
    """
    return _plan(_by_item(reviews), graders, seed=seed, kind="grading")


def plan_appeals(
    appeals: Sequence[Appeal],
    reviews: Sequence[Review],
    earlier: Sequence[Assignment],
    graders: Sequence[Reviewer],
    *,
    seed: int,
    until: datetime | None = None,
) -> list[Assignment]:
    """Give both reviews of an item that somebody appeals about to an adjudicator who has not graded it.

    Args:
        appeals: of reviewers about the grade of their own review.
        reviews: all that were graded.
        earlier: grading assignments so far; whoever stands there for an item is not asked again.
        graders: adjudicators, as for plan_grading.
        seed: breaks ties of load.
        until: last instant of an appeal, inclusive.

    Raises:
        Refusal: appeals that are late or about nothing that was graded, each named; an item that no other
            adjudicator may grade.
    """
    pairs = _by_item(reviews)
    graded = {(slot.item_id, slot.round, slot.review_of) for slot in earlier}
    wrong = [fault for appeal in appeals if (fault := _fault_of(appeal, graded, until))]
    if wrong:
        raise Refusal(
            *wrong, hint="take them out, or give the grading plan and the deadline they were made under"
        )
    busy: dict[Place, set[str]] = {}
    for slot in earlier:
        busy.setdefault((slot.item_id, slot.round), set()).add(slot.reviewer_id)
    named = {(appeal.item_id, appeal.round) for appeal in appeals}
    again = {place: pair for place, pair in pairs.items() if place in named}
    return _plan(again, graders, seed=seed, kind="appeal", busy=busy)


def _fault_of(appeal: Appeal, graded: set[tuple[str, str, str | None]], until: datetime | None) -> str:
    who = f"appeal of {appeal.reviewer_id!r} on item {appeal.item_id!r}"
    if (appeal.item_id, appeal.round, appeal.reviewer_id) not in graded:
        return f"{who}: no review of theirs on it was graded"
    if until is None:
        return ""
    if appeal.made_at is None:
        return f"{who}: no made_at says when it was made"
    return (
        f"{who}: made at {appeal.made_at.isoformat()}, after the deadline" if appeal.made_at > until else ""
    )


def _by_item(reviews: Sequence[Review]) -> dict[Place, list[Review]]:
    by_item: dict[Place, list[Review]] = {}
    for review in reviews:
        if review.status == "submitted":
            by_item.setdefault((review.item_id, review.round), []).append(review)
    return by_item


def _plan(
    by_item: Mapping[Place, Sequence[Review]],
    graders: Sequence[Reviewer],
    *,
    seed: int,
    kind: str,
    busy: Mapping[Place, set[str]] | None = None,
) -> list[Assignment]:
    load = {grader.reviewer_id: 0 for grader in graders}
    payee = {grader.reviewer_id: grader.payee_id for grader in graders}
    plan: list[Assignment] = []
    for (item_id, round_), pair in sorted(by_item.items()):
        involved = {review.reviewer_id for review in pair} | (busy or {}).get((item_id, round_), set())
        paid = {review.payee_id for review in pair if review.payee_id}
        able = [name for name in load if name not in involved and payee[name] not in paid]
        if not able:
            raise Refusal(
                f"no adjudicator may grade the reviews of {item_id}",
                hint="add one who did not review it" + (" and has not graded it" if busy else ""),
            )
        grader = min(able, key=lambda name: (load[name], seeded_hash(seed, f"{kind}\0{name}")))
        for review in pair:
            load[grader] += 1
            slot = f"{kind}\0{item_id}\0{round_}\0{review.reviewer_id}"
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
