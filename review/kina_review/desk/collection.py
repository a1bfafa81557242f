"""Annotations to reviews and grades: what counts becomes one, what does not is set aside with a reason.

The desk protects nothing: anyone who can log in may annotate, edit, import and sign as
anyone. So every annotation is held against the local map of who was given what: it counts
only on the task that was pushed for its reviewer, and only if the server itself saw that
reviewer write it last (an imported annotation names no writer).

Two rules choose among several texts. Of one annotation, the last text counts that its author
wrote before the snapshot, as any pull kept it: a later edit, by whomever, changes nothing.
Of several annotations of one person on one item, the first complete one counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from pydantic import Field, ValidationError

from kina_build.jsonl import describe
from kina_review.desk.labelling import MARK_PREFIX, WHOLE_ITEM
from kina_review.records import Assignment, Flaw, Grade, Instant, Record, Review
from kina_review.rubric import CRITERION_NAMES, TOP_RATING

Result = TypeVar("Result", Review, Grade)

Fault = Literal[
    "unknown_task",
    "foreign_task",
    "not_assigned",
    "unproven_author",
    "forged_author",
    "edited_by_other",
    "deleted_user",
    "duplicate",
    "skipped",
    "draft",
    "incomplete",
    "impossible_value",
    "late_edit",
]
"""Why an annotation is not used."""

SAME_WRITE_S = 2.0
"""Seconds between the two time stamps of an annotation that was written only once."""


class Annotation(Record):
    """One annotation as a desk or a worksheet gave it, before anything is believed."""

    annotation_id: str
    assignment_id: str | None
    """Of the task it is on; None where the task carries none of ours."""
    task_id: int | None = None
    """The desk's number of that task; None on a worksheet."""
    author: str | None
    """Account that signs it; None when the account was deleted."""
    updated_by: str | None = None
    """Account that wrote it last; None where it was imported, or that account was deleted."""
    created_at: Instant | None = None
    """By the server's clock; of a worksheet, when it was handed in."""
    updated_at: Instant | None = None
    lead_time_s: float | None = None
    """The browser's word, not the server's."""
    skipped: bool = False
    draft: bool = False
    values: dict[str, Any] = Field(default_factory=dict)
    """Control name to value."""


class Quarantined(Record):
    """One annotation that is not used."""

    annotation_id: str
    assignment_id: str | None
    item_id: str | None
    reviewer_id: str | None
    """Who was assigned, not who signed."""
    reason: Fault
    detail: str
    author: str | None


class Collected(Record, Generic[Result]):
    """Everything a pull found."""

    results: tuple[Result, ...]
    """For reviews: good ones, and a row with status missing, skipped or draft for each slot without."""
    quarantine: tuple[Quarantined, ...]


@dataclass(frozen=True)
class Desk:
    """Against what annotations are held."""

    accounts: Mapping[str, str]
    """Reviewer id to account on the desk."""
    tasks: Mapping[str, int] | None = None
    """Assignment id to the task that was pushed; None for worksheets, where the file proves the author."""
    snapshot: datetime | None = None
    """Instant after which a text no longer counts."""


def collect_reviews(
    annotations: Sequence[Annotation],
    assignments: Sequence[Assignment],
    desk: Desk,
    *,
    payees: Mapping[str, str] | None = None,
) -> Collected[Review]:
    """Hold annotations of the reviewers' desk against the assignments.

    Args:
        annotations: what the desk exported, in any order, beside texts that earlier pulls kept.
        assignments: who was given what; assignment_id is the opaque id on the task.
        desk: accounts, pushed tasks and the snapshot.
        payees: reviewer_id to payee_id.
    """
    found, quarantine = _sort_out(annotations, assignments, desk, read_review)
    reviews = []
    for slot in sorted(assignments, key=lambda slot: (slot.item_id, slot.reviewer_id)):
        faults = [fault.reason for fault in quarantine if fault.assignment_id == slot.assignment_id]
        review = found.get(str(slot.assignment_id)) or _absent(slot, faults)
        payee = (payees or {}).get(slot.reviewer_id)
        reviews.append(review.model_copy(update={"payee_id": payee}) if payee else review)
    return Collected(results=tuple(reviews), quarantine=tuple(quarantine))


def collect_grades(
    annotations: Sequence[Annotation], assignments: Sequence[Assignment], desk: Desk
) -> Collected[Grade]:
    """Hold annotations of the adjudicators' desk against its assignments; as collect_reviews."""
    found, quarantine = _sort_out(annotations, assignments, desk, read_grade)
    grades = sorted(found.values(), key=lambda grade: (grade.item_id, grade.reviewer_id, grade.grader_id))
    return Collected(results=tuple(grades), quarantine=tuple(quarantine))


def merge_texts(kept: Sequence[Annotation], seen: Sequence[Annotation]) -> list[Annotation]:
    """Return every text once, by annotation and time; of two copies the one that was kept first."""
    texts = {_text_key(text): text for text in [*seen, *kept]}
    return [texts[key] for key in sorted(texts)]


def _sort_out(
    annotations: Sequence[Annotation],
    assignments: Sequence[Assignment],
    desk: Desk,
    read: Callable[[Annotation, Assignment], Result],
) -> tuple[dict[str, Result], list[Quarantined]]:
    """Return the first believable result of each assignment, and all that is set aside."""
    given = {slot.assignment_id: slot for slot in assignments if slot.assignment_id}
    found: dict[str, Result] = {}
    quarantine: list[Quarantined] = []
    for texts in _by_annotation(annotations):
        slot = given.get(texts[-1].assignment_id or "")
        chosen, later = _last_good(texts, slot, desk)
        fault = _fault_of(chosen, slot, desk, grading=read is read_grade)
        if fault is None and slot is not None and slot.assignment_id in found:
            fault = ("duplicate", "a complete one of the same person came before")
        if fault is None and slot is not None:
            try:
                found[str(slot.assignment_id)] = read(chosen, slot)
            except ValidationError as error:
                fault = ("impossible_value", "; ".join(describe(error)))
        if fault is not None:
            quarantine.append(_set_aside(chosen, slot, *fault))
        faults = [(text, _fault_of_text(text, slot, desk)) for text in later]
        quarantine += [_set_aside(text, slot, *fault) for text, fault in faults if fault]
    return found, sorted(quarantine, key=lambda fault: (fault.annotation_id, fault.reason))


def _by_annotation(annotations: Sequence[Annotation]) -> list[list[Annotation]]:
    """Return the texts of each annotation, oldest first; annotations by age."""
    groups: dict[str, list[Annotation]] = {}
    for text in merge_texts(annotations, ()):
        groups.setdefault(text.annotation_id, []).append(text)
    return sorted(groups.values(), key=lambda texts: _age(texts[0]))


def _last_good(
    texts: Sequence[Annotation], slot: Assignment | None, desk: Desk
) -> tuple[Annotation, Sequence[Annotation]]:
    """Return the last text that its author wrote in time, and those after it; else the last, alone."""
    good = [n for n, text in enumerate(texts) if _fault_of_text(text, slot, desk) is None]
    return (texts[good[-1]], texts[good[-1] + 1 :]) if good else (texts[-1], ())


def _fault_of(
    annotation: Annotation, slot: Assignment | None, desk: Desk, *, grading: bool
) -> tuple[Fault, str] | None:
    return _fault_of_text(annotation, slot, desk) or _fault_of_content(annotation, grading=grading)


def _fault_of_text(annotation: Annotation, slot: Assignment | None, desk: Desk) -> tuple[Fault, str] | None:
    """Tell why a text is not its reviewer's own, or not of the time that counts."""
    if slot is None:
        return "unknown_task", "the task is not one of this batch"
    if desk.tasks is not None and annotation.task_id != desk.tasks.get(str(slot.assignment_id)):
        return "foreign_task", f"on task {annotation.task_id}, which was not pushed for this assignment"
    return _fault_of_author(annotation, slot, desk) or _fault_of_time(annotation, desk)


def _fault_of_author(annotation: Annotation, slot: Assignment, desk: Desk) -> tuple[Fault, str] | None:
    account = desk.accounts.get(slot.reviewer_id)
    if annotation.author is None:
        return "deleted_user", "its author's account was deleted; nobody can vouch for it"
    if annotation.author != account:
        return "not_assigned", f"signed by {annotation.author}, who was not given this item"
    # neither a draft nor a worksheet names who wrote it last
    editor = annotation.updated_by or (account if annotation.draft or desk.tasks is None else None)
    if editor is None:
        return "unproven_author", f"signed as {account}, but the desk saw nobody write it: it was imported"
    if editor == account:
        return None
    forged = _written_once(annotation)
    return ("forged_author" if forged else "edited_by_other"), (
        f"signed as {account} but written by {editor}" if forged else f"last written by {editor}"
    )


def _fault_of_time(annotation: Annotation, desk: Desk) -> tuple[Fault, str] | None:
    written = annotation.updated_at or annotation.created_at
    if desk.snapshot is None or written is None or written <= desk.snapshot:
        return None
    if annotation.created_at is None or annotation.created_at > desk.snapshot:
        return "late_edit", "written after the snapshot"
    return "late_edit", "changed after the snapshot; only a text that an earlier pull kept could count"


def _fault_of_content(annotation: Annotation, *, grading: bool) -> tuple[Fault, str] | None:
    if annotation.draft:
        return "draft", "saved but never submitted"
    if annotation.skipped:
        return "skipped", "the reviewer skipped it"
    missing = [name for name in _required(grading=grading) if _is_blank(annotation.values.get(name))]
    if missing:
        return "incomplete", f"no {', '.join(name.removeprefix(MARK_PREFIX) for name in missing)}"
    return None


def _written_once(annotation: Annotation) -> bool:
    if annotation.created_at is None or annotation.updated_at is None:
        return True
    return (annotation.updated_at - annotation.created_at).total_seconds() < SAME_WRITE_S


def read_review(annotation: Annotation, slot: Assignment) -> Review:
    """Read a complete annotation as the review of an assignment.

    Raises:
        ValidationError: an impossible rating, an unknown verdict or flaw.
    """
    values = annotation.values
    return Review.model_validate(
        {
            "item_id": slot.item_id,
            "reviewer_id": slot.reviewer_id,
            "round": slot.round,
            "review_id": annotation.annotation_id,
            "assignment_id": slot.assignment_id,
            "submitted_at": annotation.created_at,
            "ratings": {name: _mark(values[MARK_PREFIX + name]) for name in CRITERION_NAMES},
            "verdict": _single(values["verdict"]),
            "flaws": [_flaw(path) for path in values.get("flaws") or []],
            "rationale": _single(values["rationale"]),
            "lead_time_s": annotation.lead_time_s,
        }
    )


def read_grade(annotation: Annotation, slot: Assignment) -> Grade:
    """Read a complete annotation as the grade of the review that an assignment names.

    Raises:
        ValidationError: an impossible mark.
    """
    values = annotation.values
    return Grade.model_validate(
        {
            "item_id": slot.item_id,
            "reviewer_id": slot.review_of,
            "round": slot.round,
            "grader_id": slot.reviewer_id,
            "marks": {name: _mark(values[MARK_PREFIX + name]) for name in CRITERION_NAMES},
        }
    )


def _required(*, grading: bool) -> list[str]:
    marks = [MARK_PREFIX + name for name in CRITERION_NAMES]
    return marks if grading else [*marks, "verdict", "rationale"]


def _mark(value: Any) -> Any:
    """Return the number before the level's name; what is no mark stays as it is, to be refused."""
    text = str(_single(value)).split(" ")[0]
    marks = {str(mark): mark for mark in range(TOP_RATING + 1)}
    return marks.get(text, f"{_single(value)!r} is no rating")


def _single(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _is_blank(value: Any) -> bool:
    return value in (None, []) or not str(_single(value)).strip()


def _flaw(path: Any) -> Flaw:
    kind, severity, option = [*map(str, path), "", ""][:3]
    return Flaw.model_validate(
        {"kind": kind, "severity": severity, "option": None if option in ("", WHOLE_ITEM) else option}
    )


def _absent(slot: Assignment, reasons: Sequence[Fault]) -> Review:
    status = next((word for word in ("draft", "skipped") if word in reasons), "missing")
    return Review.model_validate(
        {
            "item_id": slot.item_id,
            "reviewer_id": slot.reviewer_id,
            "round": slot.round,
            "assignment_id": slot.assignment_id,
            "status": status,
        }
    )


def _set_aside(annotation: Annotation, slot: Assignment | None, reason: Fault, detail: str) -> Quarantined:
    return Quarantined(
        annotation_id=annotation.annotation_id,
        assignment_id=annotation.assignment_id,
        item_id=slot.item_id if slot else None,
        reviewer_id=slot.reviewer_id if slot else None,
        reason=reason,
        detail=detail,
        author=annotation.author,
    )


def _text_key(text: Annotation) -> tuple[str, str]:
    written = text.updated_at or text.created_at
    return text.annotation_id, written.isoformat() if written else ""


def _age(annotation: Annotation) -> tuple[str, str]:
    created = annotation.created_at.isoformat() if annotation.created_at else ""
    return created, annotation.annotation_id
