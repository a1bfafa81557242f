"""Whose text an annotation is, and whether it was written in time: the desk itself protects nothing.

Anyone who can log in may annotate, edit, import and sign as anyone. So every annotation is held
against the local map of who was given what: it counts only on the task that was pushed for its
reviewer, and only if the server itself saw that reviewer write it last (an imported annotation
names no writer). Of one annotation, the last text counts that its author wrote before the
snapshot, as any pull kept it: a later edit, by whomever, changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from kina_review.records import Assignment, Instant, Record
from kina_review.rubric import SAME_WRITE_S

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


@dataclass(frozen=True)
class Desk:
    """Against what annotations are held."""

    accounts: Mapping[str, str]
    """Reviewer id to account on the desk."""
    tasks: Mapping[str, int] | None = None
    """Assignment id to the task that was pushed; None for worksheets, where the file proves the author."""
    snapshot: datetime | None = None
    """Instant after which a text no longer counts."""


def merge_texts(kept: Sequence[Annotation], seen: Sequence[Annotation]) -> list[Annotation]:
    """Return every text once, by annotation and time; of two copies the one that was kept first."""
    texts = {_text_key(text): text for text in [*seen, *kept]}
    return [texts[key] for key in sorted(texts)]


def by_annotation(annotations: Sequence[Annotation]) -> list[list[Annotation]]:
    """Return the texts of each annotation, oldest first; annotations by age."""
    groups: dict[str, list[Annotation]] = {}
    for text in merge_texts(annotations, ()):
        groups.setdefault(text.annotation_id, []).append(text)
    return sorted(groups.values(), key=lambda texts: _age(texts[0]))


def last_good(
    texts: Sequence[Annotation], slot: Assignment | None, desk: Desk
) -> tuple[Annotation, Sequence[Annotation]]:
    """Return the last text that its author wrote in time, and those after it; else the last, alone."""
    good = [n for n, text in enumerate(texts) if fault_of_text(text, slot, desk) is None]
    return (texts[good[-1]], texts[good[-1] + 1 :]) if good else (texts[-1], ())


def fault_of_text(annotation: Annotation, slot: Assignment | None, desk: Desk) -> tuple[Fault, str] | None:
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


def _written_once(annotation: Annotation) -> bool:
    if annotation.created_at is None or annotation.updated_at is None:
        return True
    return (annotation.updated_at - annotation.created_at).total_seconds() < SAME_WRITE_S


def _text_key(text: Annotation) -> tuple[str, str]:
    written = text.updated_at or text.created_at
    return text.annotation_id, written.isoformat() if written else ""


def _age(annotation: Annotation) -> tuple[str, str]:
    created = annotation.created_at.isoformat() if annotation.created_at else ""
    return created, annotation.annotation_id
