"""What an item's pay rests on, as the ledger keeps it: reviews, scores, a finding, the terms.

A later run is held against it. New facts are posted; a fact that is gone, or is told otherwise
now, is no correction until somebody says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal

from pydantic import Field

from kina_build.rows.jsonl import canonical
from kina_review.payrecords import LedgerEntry
from kina_review.records import Finding, Grade, Record, Review

OWN = "review"
"""Begin of the grader id of a score that stands in the review itself."""

MIDNIGHT = "T00:00:00"
"""In an instant that was written as a day."""

Place = tuple[str, str]
"""item_id, round."""


class Handed(Record):
    """One row that a reviewer handed in."""

    status: str
    at: str = ""
    review_id: str = ""
    by: str = ""
    """Who wrote it last, where the desk tells."""
    flaws: tuple[str, ...] = ()
    """Kinds of the flaws it names: whoever named the flaw of a failed item is not penalised."""


class Evidence(Record):
    """All that decides the pay of one item in one round, beside the pay rule."""

    reviews: dict[str, tuple[Handed, ...]] = Field(default_factory=dict)
    """Reviewer id to what they handed in."""
    scores: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Reviewer id to grader id to the score, or the marks."""
    finding: Finding | None = None
    deadline: datetime | None = None
    penalty_minor: int | None = 0
    """None: nobody said it yet, and the usual one is in another currency."""


class Change(Record):
    """One fact that is not what it was."""

    how: Literal["missing", "altered", "terms"]
    text: str


def gather(
    reviews: Iterable[Review], grades: Iterable[Grade], findings: Mapping[Place, Finding]
) -> dict[Place, Evidence]:
    """Collect the evidence of each item and round; the terms are filled in by the settlement."""
    rows: dict[Place, dict[str, set[Handed]]] = {}
    scores: dict[Place, dict[str, dict[str, str]]] = {}
    for review in reviews:
        place = (review.item_id, review.round)
        rows.setdefault(place, {}).setdefault(review.reviewer_id, set()).add(_handed(review))
        if review.review_score is not None:
            own = scores.setdefault(place, {}).setdefault(review.reviewer_id, {})
            own[f"{OWN} {review.review_id or _moment(review)}".strip()] = str(review.review_score)
    for grade in grades:
        if grade.review_score is None and not grade.marks:
            continue  # a blank cell: not graded yet
        own = scores.setdefault((grade.item_id, grade.round), {}).setdefault(grade.reviewer_id, {})
        own[grade.grader_id] = (
            canonical(grade.marks) if grade.review_score is None else str(grade.review_score)
        )
    return {
        place: Evidence(
            reviews={who: tuple(sorted(own, key=_order)) for who, own in sorted(people.items())},
            scores={who: dict(sorted(own.items())) for who, own in sorted(scores.get(place, {}).items())},
            finding=findings.get(place),
        )
        for place, people in sorted(rows.items())
    }


def _handed(review: Review) -> Handed:
    return Handed(
        status=review.status,
        at=_moment(review),
        review_id=review.review_id or "",
        by=review.updated_by or "",
        flaws=tuple(sorted({flaw.kind for flaw in review.flaws})),
    )


def _moment(review: Review) -> str:
    return review.submitted_at.isoformat() if review.submitted_at else ""


def _order(row: Handed) -> tuple[str, str, str, str]:
    return (row.at, row.review_id, row.status, row.by)


def read_evidence(entries: Iterable[LedgerEntry]) -> dict[Place, Evidence]:
    """Return the latest evidence of each item and round."""
    latest = {(entry.item_id, entry.round): entry.reason for entry in entries}
    return {place: Evidence.model_validate_json(text) for place, text in latest.items()}


def evidence_line(place: Place, evidence: Evidence) -> LedgerEntry:
    """Return the line that keeps the evidence of an item and round."""
    text = canonical(evidence.model_dump(mode="json", exclude_defaults=True))
    return LedgerEntry(seq=0, kind="evidence", item_id=place[0], round=place[1], reason=text)


def find_moved(known: Mapping[Place, Evidence], now: Mapping[Place, Evidence]) -> tuple[Place, Place] | None:
    """Return an item and round of the ledger, and the new one that holds its very reviews; None: no such.

    Reviews are known by who handed them in when, unless both have an id of their own. Two people who
    handed in two items at the same instants are possible where many stand under one stamp: then nothing
    is said.
    """
    everything = {**known, **now}
    of = {place: _stamp(one) for place, one in everything.items()}
    times = Counter(of.values())
    gone = {stamp: place for place, stamp in of.items() if place not in now}
    for place in sorted(now.keys() - known.keys()):
        stamp = of[place]
        if len(stamp) > 1 and stamp in gone and times[stamp] == 2:
            before = gone[stamp]
            if not (_has_ids(everything[before]) and _has_ids(everything[place])):
                return before, place
    return None


def _has_ids(one: Evidence) -> bool:
    """Tell whether each review has an id: then `check_owners` tells two of them apart."""
    return all(row.review_id for own in one.reviews.values() for row in own if row.status == "submitted")


def _stamp(one: Evidence) -> frozenset[tuple[str, str]]:
    """Return who handed in when; nothing where a review has a day and no time of it."""
    rows = [(who, row) for who, own in one.reviews.items() for row in own if row.status == "submitted"]
    if any(not row.at or MIDNIGHT in row.at for _, row in rows):
        return frozenset()
    found = frozenset((who, row.at) for who, row in rows)
    return found if len({who for who, _ in found}) > 1 else frozenset()


def compare(before: Evidence, now: Evidence, *, takes_back: bool) -> list[Change]:
    """List what is gone or told otherwise; what was added is no change of what was there.

    Args:
        before: of the ledger.
        now: of this run.
        takes_back: the run lowers somebody's pay: then a deadline that is new is a changed term too.
    """
    found = [
        change
        for who, rows in before.reviews.items()
        for change in _rows(who, rows, now.reviews.get(who, ()))
    ]
    for who, graders in before.scores.items():
        found += _scores(who, graders, now.scores.get(who, {}))
    if before.finding is not None and now.finding != before.finding:
        how: Literal["missing", "altered"] = "missing" if now.finding is None else "altered"
        found.append(Change(how=how, text=f"the audit's finding is {how}"))
    if before.deadline != now.deadline and (before.deadline is not None or takes_back):
        found.append(Change(how="terms", text=f"the deadline was {before.deadline}, and is {now.deadline}"))
    if before.penalty_minor not in (None, now.penalty_minor):
        text = f"the penalty was {before.penalty_minor} minor units, and is {now.penalty_minor}"
        found.append(Change(how="terms", text=text))
    return found


def _rows(who: str, before: Sequence[Handed], now: Sequence[Handed]) -> list[Change]:
    gone = [row for row in before if row.status == "submitted" and row not in now]
    fresh = [row for row in now if row not in before]
    if gone and fresh:
        return [
            Change(
                how="altered", text=f"the review by {who!r} of {gone[0].at or 'no date'} is told otherwise"
            )
        ]
    return [
        Change(how="missing", text=f"the review by {who!r} of {row.at or 'no date'} is missing")
        for row in gone
    ]


def _scores(who: str, before: Mapping[str, str], now: Mapping[str, str]) -> list[Change]:
    found = []
    for grader, score in before.items():
        if grader not in now:
            found.append(Change(how="missing", text=f"the score {score} of {who!r} is missing"))
        elif now[grader] != score:
            found.append(
                Change(how="altered", text=f"the score of {who!r} was {score}, and is {now[grader]}")
            )
    return found
