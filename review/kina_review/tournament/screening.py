"""Which rows count as reviews: complete, in time, by their signer, first of their kind, two an item."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time

from kina_build.errors import Refusal
from kina_review.records import Reason, Review, SetAside
from kina_review.rubric import REVIEWS_PER_ITEM
from kina_review.spelling import check_rounds, check_spelling

ABSENCE: tuple[Reason, ...] = ("forged_author", "late", "draft", "skipped", "cancelled", "missing")
"""Why a reviewer has no review on an item; with several rows, the first of these is named."""
EARNS_NOTHING: frozenset[str] = frozenset({*ABSENCE, "same_payee", "surplus"})
"""Reasons that leave a reviewer without base and bonus."""


@dataclass
class Desk:
    """What lies on the desk for one item in one round."""

    reviews: list[Review] = field(default_factory=list)
    """Those that count, at most two, by reviewer id."""
    absent: dict[str, Reason] = field(default_factory=dict)
    """Reviewers whose rows earn nothing, and why."""
    payees: dict[str, str | None] = field(default_factory=dict)
    """Reviewer id to payee id, where one is known."""
    set_aside: list[SetAside] = field(default_factory=list)


def screen(
    reviews: Sequence[Review], deadline_of: Callable[[tuple[str, str]], datetime | None] = lambda place: None
) -> dict[tuple[str, str], Desk]:
    """Sort rows by item and round into what counts and what does not.

    Args:
        reviews: rows in any order.
        deadline_of: last instant, inclusive, at which a review of an item and round is in time.

    Raises:
        Refusal: an order in time matters and is not known.
    """
    rows: dict[tuple[str, str], dict[str, list[Review]]] = defaultdict(lambda: defaultdict(list))
    for review in reviews:
        rows[review.item_id, review.round][review.reviewer_id].append(review)
    return {
        place: _screen_item(by_reviewer, deadline_of(place)) for place, by_reviewer in sorted(rows.items())
    }


def _screen_item(by_reviewer: dict[str, list[Review]], deadline: datetime | None) -> Desk:
    desk = Desk()
    for reviewer_id, rows in sorted(by_reviewer.items()):
        desk.payees[reviewer_id] = rows[0].payee_id
        review = _first_review(rows, deadline, desk)
        if review is None:
            reasons = {_absence(row, deadline) for row in rows}
            desk.absent[reviewer_id] = next(reason for reason in ABSENCE if reason in reasons)
        else:
            desk.reviews.append(review)
    _void_same_payee(desk)
    _drop_surplus(desk)
    return desk


def _first_review(rows: list[Review], deadline: datetime | None, desk: Desk) -> Review | None:
    counted: list[Review] = []
    for row in _without_copies(rows, desk):
        reason = _absence(row, deadline)
        if reason is None:
            counted.append(row)
        elif reason in ("forged_author", "late"):
            desk.set_aside.append(_aside(row, reason))
    if not counted:
        return None
    counted = _in_time_order(counted, "two different reviews by reviewer {reviewer_id!r}")
    desk.set_aside.extend(_aside(row, "later_review") for row in counted[1:])
    return counted[0]


def _without_copies(rows: list[Review], desk: Desk) -> list[Review]:
    kept: list[Review] = []
    for row in rows:
        if row in kept:
            desk.set_aside.append(_aside(row, "duplicate_row"))
        else:
            kept.append(row)
    return kept


def _absence(row: Review, deadline: datetime | None) -> Reason | None:
    if row.updated_by not in (None, row.reviewer_id):
        return "forged_author"
    if row.status != "submitted":
        return row.status
    if row.submitted_at is None:
        if row.review_score is None and not row.ratings and row.verdict is None:
            return "missing"  # nothing shows that it ever arrived
        if deadline is not None:
            raise Refusal(
                f"the review of item {row.item_id!r} by {row.reviewer_id!r} has no submitted_at",
                hint="with a deadline every review needs the instant at which the server first had it",
            )
        return None
    if deadline is not None and _is_undecided(row.submitted_at, deadline):
        raise Refusal(
            f"the review of item {row.item_id!r} by {row.reviewer_id!r} is of {deadline:%Y-%m-%d}, the day "
            "of the deadline, and tells no time of it",
            hint="write the instant in submitted_at; of a review handed in at midnight T00:00:00.001Z",
        )
    return "late" if deadline is not None and row.submitted_at > deadline else None


def _is_undecided(moment: datetime, deadline: datetime) -> bool:
    """Tell whether a moment is what a day without a time is read as, and the deadline falls into that day."""
    return moment.time() == time() and deadline.time() != time() and moment.date() == deadline.date()


def _in_time_order(rows: list[Review], what: str) -> list[Review]:
    if len(rows) < 2:
        return rows
    times = [row.submitted_at for row in rows]
    if None in times or len(set(times)) < len(times):
        raise Refusal(
            f"item {rows[0].item_id!r}, round {rows[0].round!r}: "
            f"{what.format(reviewer_id=rows[0].reviewer_id)}, and no submitted_at tells which came first",
            hint="fill in submitted_at, or remove the row that should not count",
        )
    return sorted(rows, key=lambda row: row.submitted_at or datetime.max)  # noqa: DTZ901  none is None here


def _void_same_payee(desk: Desk) -> None:
    accounts: dict[str, list[Review]] = defaultdict(list)
    for review in desk.reviews:
        accounts[review.payee_id or review.reviewer_id].append(review)
    for rows in accounts.values():
        if len(rows) > 1:
            _remove(desk, rows, "same_payee")


def _drop_surplus(desk: Desk) -> None:
    if len(desk.reviews) > REVIEWS_PER_ITEM:
        ordered = _in_time_order(desk.reviews, f"{len(desk.reviews)} reviews where two are due")
        _remove(desk, ordered[REVIEWS_PER_ITEM:], "surplus")


def _remove(desk: Desk, rows: list[Review], reason: Reason) -> None:
    gone = {row.reviewer_id for row in rows}
    desk.reviews = [review for review in desk.reviews if review.reviewer_id not in gone]
    desk.absent |= dict.fromkeys(sorted(gone), reason)
    desk.set_aside.extend(_aside(row, reason) for row in sorted(rows, key=lambda row: row.reviewer_id))


def _aside(row: Review, reason: Reason | str) -> SetAside:
    return SetAside.model_validate(
        {
            "item_id": row.item_id,
            "reviewer_id": row.reviewer_id,
            "round": row.round,
            "review_id": row.review_id,
            "reason": reason,
        }
    )


Owner = tuple[str, str, str]
"""item_id, round, reviewer_id."""


def check_reviews(reviews: Sequence[Review]) -> None:
    """Check that items, reviewers and payees have one spelling each, and reviews one owner each.

    Raises:
        Refusal: two ids differ only in how they are written, or
            one review_id stands under two items or reviewers.
    """
    check_spelling("item", (review.item_id for review in reviews))
    check_spelling("reviewer", (review.reviewer_id for review in reviews))
    check_spelling("payee", (review.payee_id for review in reviews if review.payee_id))
    check_rounds((review.item_id, review.round) for review in reviews)
    check_owners({}, ((review.review_id or "", owner_of(review)) for review in reviews))


def owner_of(review: Review) -> Owner:
    """Return whose review of what it is."""
    return review.item_id, review.round, review.reviewer_id


def check_owners(known: Mapping[str, Owner], found: Iterable[tuple[str, Owner]]) -> None:
    """Check that every review_id has one owner, in a run and over all runs before.

    Raises:
        Refusal: it has two.
    """
    owners = dict(known)
    for review_id, owner in found:
        other = owners.setdefault(review_id, owner) if review_id else owner
        if other != owner:
            raise Refusal(
                f"review {review_id!r} stands under item {other[0]!r}, round {other[1]!r}, reviewer "
                f"{other[2]!r}, and under item {owner[0]!r}, round {owner[1]!r}, reviewer {owner[2]!r}: "
                "a review is paid once",
                hint="give it the item and the reviewer it was first settled with",
            )
