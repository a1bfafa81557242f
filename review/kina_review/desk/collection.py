"""Annotations to reviews and grades: what counts becomes one, what does not is set aside with a reason.

Whose text it is, and which of several texts counts, is told in `authorship`. Of several
annotations of one person on one item, the first complete one counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from kina_build.rows.jsonl import describe
from kina_review.desk.authorship import Annotation, Desk, Fault, by_annotation, fault_of_text, last_good
from kina_review.desk.labelling import MARK_PREFIX, WHOLE_ITEM
from kina_review.records import Assignment, Flaw, Grade, Record, Review
from kina_review.rubric import CRITERION_NAMES, TOP_RATING

Result = TypeVar("Result", Review, Grade)


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
    for texts in by_annotation(annotations):
        slot = given.get(texts[-1].assignment_id or "")
        chosen, later = last_good(texts, slot, desk)
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
        faults = [(text, fault_of_text(text, slot, desk)) for text in later]
        quarantine += [_set_aside(text, slot, *fault) for text, fault in faults if fault]
    return found, sorted(quarantine, key=lambda fault: (fault.annotation_id, fault.reason))


def _fault_of(
    annotation: Annotation, slot: Assignment | None, desk: Desk, *, grading: bool
) -> tuple[Fault, str] | None:
    return fault_of_text(annotation, slot, desk) or _fault_of_content(annotation, grading=grading)


def _fault_of_content(annotation: Annotation, *, grading: bool) -> tuple[Fault, str] | None:
    if annotation.draft:
        return "draft", "saved but never submitted"
    if annotation.skipped:
        return "skipped", "the reviewer skipped it"
    missing = [name for name in _required(grading=grading) if _is_blank(annotation.values.get(name))]
    if missing:
        return "incomplete", f"no {', '.join(name.removeprefix(MARK_PREFIX) for name in missing)}"
    return None


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
