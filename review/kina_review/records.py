"""What the review side keeps: reviewers, assignments, reviews, contests, decisions, audits."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from kina_review.instants import check_instant, to_utc
from kina_review.rubric import CRITERION_NAMES, TOP_RATING
from kina_review.words import FlawKind, Status, Verdict, read_flaw_kind, read_status, read_verdict

NOISE = Decimal("1e-9")
"""Digits of a score beyond this come from binary floats, not from people."""


def _drop_noise(score: Decimal) -> Decimal:
    return score.quantize(NOISE).normalize() + Decimal(0)


def _known_criteria(marks: dict[str, int]) -> dict[str, int]:
    for name, mark in marks.items():
        if name not in CRITERION_NAMES:
            raise ValueError(f"{name!r} is no criterion; they are {', '.join(CRITERION_NAMES)}")
        if not 0 <= mark <= TOP_RATING:
            raise ValueError(f"{name} is {mark}, not 0 to {TOP_RATING}")
    return marks


Id = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""An id as it stands but for outer blanks: never matched by number or by case."""
Instant = Annotated[datetime, BeforeValidator(check_instant), AfterValidator(to_utc)]
"""A moment in UTC; one without an offset is taken to be UTC."""
Score = Annotated[Decimal, Field(ge=-1_000_000, le=1_000_000), AfterValidator(_drop_noise)]
"""An exact decimal."""
Marks = Annotated[dict[str, int], AfterValidator(_known_criteria)]
"""Criterion name to a whole mark from 0 to 4."""
Severity = Literal["minor", "major", "critical"]


class Record(BaseModel):
    """Base of all records: frozen, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Reviewer(Record):
    """One person's account as a reviewer."""

    reviewer_id: Id
    payee_id: Id | None = None
    """Who is paid; two accounts with one payee are one person."""
    affiliation: str | None = None
    fields: tuple[str, ...] = ()
    """Disciplines or fields of expertise; empty means all."""
    conflicts: tuple[str, ...] = ()
    """Authors and reviewers whose work this person must not meet."""
    account: str | None = None
    """E-mail of their account on the review desk."""
    capacity: Annotated[int, Field(ge=0)] | None = None
    """Most items in all; None means no own limit."""


class Assignment(Record):
    """One item given to one reviewer."""

    item_id: Id
    reviewer_id: Id
    round: Id = "1"
    assignment_id: Id | None = None
    """Opaque id that the review desk shows."""
    review_of: Id | None = None
    """On the adjudicators' desk: the reviewer whose review of the item is graded."""


class Flaw(Record):
    """One fault that somebody names in an item."""

    kind: Annotated[FlawKind, BeforeValidator(read_flaw_kind)]
    severity: Severity = "major"
    option: str | None = None
    """Key of the option it concerns."""
    note: str | None = None


class Review(Record):
    """What one reviewer handed in on one item.

    The ratings, verdict and flaws are about the item and decide its fate; the
    review_score is about the review itself and decides pay.
    """

    item_id: Id
    reviewer_id: Id
    round: Id = "1"
    review_id: Id | None = None
    """The desk's own id; repeated exports of one review share it."""
    assignment_id: Id | None = None
    payee_id: Id | None = None
    status: Annotated[Status, BeforeValidator(read_status)] = "submitted"
    submitted_at: Instant | None = None
    """When the server first saw it complete."""
    updated_by: Id | None = None
    """Who wrote it last, where the desk tells."""
    ratings: Marks = Field(default_factory=dict)
    verdict: Annotated[Verdict, BeforeValidator(read_verdict)] | None = None
    flaws: tuple[Flaw, ...] = ()
    rationale: str | None = None
    lead_time_s: Annotated[float, Field(ge=0)] | None = None
    review_score: Score | None = None
    """The adjudicator's blind grade of this review; None while ungraded."""


class Grade(Record):
    """What one adjudicator gives one review: a score, or a mark on each criterion."""

    item_id: Id
    reviewer_id: Id
    """Whose review it is."""
    round: Id = "1"
    grader_id: Id = "1"
    payee_id: Id | None = None
    """Who is paid for the grade; None is the grader."""
    review_score: Score | None = None
    marks: Marks = Field(default_factory=dict)


Reason = Literal[
    "win",
    "loss",
    "tie_split",
    "tie_strict",
    "tie_coin_win",
    "tie_coin_loss",
    "below_bar",
    "no_contest",
    "contest_incomplete",
    "promoted",
    "audit_failed",
    "missing",
    "draft",
    "skipped",
    "cancelled",
    "late",
    "forged_author",
    "same_payee",
    "surplus",
]


class SetAside(Record):
    """One row that does not count, and why."""

    item_id: str
    reviewer_id: str
    round: str
    review_id: str | None = None
    reason: Literal["duplicate_row", "later_review"] | Reason


ContestStatus = Literal["decided", "open", "no_contest"]


class Contest(Record):
    """The comparison of an item's two reviews in one round."""

    item_id: str
    round: str
    rule: str
    status: ContestStatus
    scores: dict[str, str]
    """Reviewer id to exact score: a decimal, or a fraction such as "43/3"."""
    winners: tuple[str, ...] = ()
    tied: bool = False
    """Equal scores at or above the bar."""


class Decision(Record):
    """What becomes of an item."""

    item_id: str
    decision: Literal["accept", "revise", "reject", "escalate"]
    """escalate: a person has to look."""
    reason: str = ""
    """Why; a release quotes it for what it withholds."""
    opinions: dict[str, Verdict] = Field(default_factory=dict)
    """Reviewer id to the opinion that the ratings, flaws and verdict amount to."""
    corrected_answer: str | None = None
    """The right key, where people accept the item with another one than the pool's."""


class Audit(Record):
    """A committed random draw of approved items."""

    commitment: str
    """sha256 of the seed, published before the batch opened."""
    rate: Decimal
    approved: int
    """Items the draw was made from."""
    item_ids: tuple[str, ...]
    """Drawn items, in draw order."""


class Finding(Record):
    """What the auditor found on one drawn item."""

    item_id: Id
    round: Id = "1"
    flawed: bool
    flaw: Annotated[FlawKind, BeforeValidator(read_flaw_kind)] | None = None
    failed: tuple[str, ...] = ()
    """Reviewers whose review fails the audit: out of the contest, base kept."""
