"""The review desk as files: one CSV worksheet a person, out to them and back, with the same checks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.items.model import Item
from kina_build.rows.jsonl import describe
from kina_build.rows.outputs import make_folder
from kina_build.rows.tables import Row, write_csv
from kina_review.desk.authorship import Annotation
from kina_review.desk.labelling import MARK_PREFIX, Purpose
from kina_review.records import Assignment, Review
from kina_review.rubric import CRITERION_NAMES
from kina_review.tableforms import read_rows

SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]*")
"""Reviewer ids that can be file names."""
SHOWN = ("assignment_id", "path", "material", "question", "options", "key", "explanation", "source")
GRADED = ("verdict_given", "ratings_given", "flaws_given", "rationale_given")
ANSWERS = (*(MARK_PREFIX + name for name in CRITERION_NAMES), "verdict", "flaws", "rationale")
"""Columns to fill in; flaws as kind/severity/option joined by ";"."""
HANDED_IN = "handed_in_at"
"""Column for the instant at which a worksheet came in, filled in by whoever receives it."""


def write_worksheets(
    folder: Path,
    purpose: Purpose,
    assignments: Sequence[Assignment],
    items: Mapping[str, Item],
    reviews: Mapping[tuple[str, str], Review] | None = None,
) -> list[Path]:
    """Write one worksheet for each person who has assignments.

    Args:
        folder: where to; files are named after the person.
        purpose: reviewing items or grading reviews.
        assignments: who gets what.
        items: by item_id.
        reviews: by (item_id, reviewer_id), for grading.

    Raises:
        InputError: an id that cannot be a file name, or a sheet there that somebody has begun to fill in.
    """
    by_person: dict[str, list[Assignment]] = {}
    for slot in sorted(assignments, key=lambda slot: (slot.reviewer_id, str(slot.assignment_id))):
        if not SAFE_NAME.fullmatch(slot.reviewer_id):
            raise InputError(f"reviewer {slot.reviewer_id!r} cannot be the name of a worksheet")
        by_person.setdefault(slot.reviewer_id, []).append(slot)
    shown = SHOWN + (GRADED if purpose == "grading" else ())
    answers = ANSWERS if purpose == "review" else ANSWERS[: len(CRITERION_NAMES)]
    sheets = {
        folder / f"{person}.csv": [_row(slot, items[slot.item_id], (reviews or {})) for slot in slots]
        for person, slots in by_person.items()
    }
    for file in sheets:
        _refuse_answers(file)
    make_folder(folder)  # only now: who is refused finds no folder begun
    for file, rows in sheets.items():
        write_csv(file, [*shown, *answers, HANDED_IN], rows)
    return list(sheets)


def _refuse_answers(file: Path) -> None:
    """Refuse to write over what a person has filled in: it stands nowhere else."""
    filled = file.is_file() and [row for row in read_rows(file) if _is_answered(row)]
    if filled:
        raise InputError(
            f"{file}:{filled[0].line}: holds answers ({len(filled)} rows), which would be lost",
            hint="name another --folder, or collect them by `kina review pull` and move the sheets away",
        )


def _is_answered(row: Row) -> bool:
    return any(row.values.get(name) for name in ANSWERS)


def read_worksheets(folder: Path, handed_in: datetime | None = None) -> list[Annotation]:
    """Read filled-in worksheets back; the file's name says whose it is.

    Rows without a single answer are left out: they are simply not done yet. What a spreadsheet
    makes of a file when it saves it (its encoding, its delimiter) is undone.

    Args:
        folder: of the worksheets.
        handed_in: when they came in; a row that says so itself in `handed_in_at` goes before.

    Raises:
        InputError: no such folder, no worksheet in it, or an unreadable one.
        RowErrors: rows whose handed_in_at is no instant.
    """
    files = sorted(folder.glob("*.csv")) if folder.is_dir() else []
    if not files:
        raise InputError(f"{folder}: no worksheets (*.csv) there")
    found: list[Annotation] = []
    seen: set[str] = set()
    faults: list[RowFault] = []
    for file in files:
        for row in read_rows(file):
            if not _is_answered(row):
                continue
            try:
                found.append(_annotation(file.stem, row, handed_in, seen))
            except ValidationError as error:
                faults.extend(row.fault(text.replace("created_at", HANDED_IN)) for text in describe(error))
    if faults:
        raise RowErrors(faults, hint=f"{HANDED_IN} holds an instant such as 2026-03-31T23:59:59Z")
    return found


def _annotation(person: str, row: Row, handed_in: datetime | None, seen: set[str]) -> Annotation:
    # known by its assignment, so that a sorted worksheet holds the same reviews as before
    name = f"{person}:{row.values.get('assignment_id', '')}"
    if name in seen:
        name += f":{row.line}"
    seen.add(name)
    return Annotation.model_validate(
        {
            "annotation_id": name,
            "assignment_id": row.values.get("assignment_id"),
            "author": person,
            "created_at": row.values.get(HANDED_IN, handed_in),
            "values": _answers(row.values),
        }
    )


def _row(slot: Assignment, item: Item, reviews: Mapping[tuple[str, str], Review]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "assignment_id": slot.assignment_id,
        "path": " > ".join(item.path),
        "material": item.question_material,
        "question": item.question,
        "options": "\n".join(f"{option.key}: {option.answer}" for option in item.options),
        "key": item.correct_answer,
        "explanation": item.explanation,
        "source": item.question_source,
    }
    if slot.review_of:
        review = reviews[slot.item_id, slot.review_of]
        row |= {
            "verdict_given": review.verdict,
            "ratings_given": "; ".join(f"{name} {mark}" for name, mark in review.ratings.items()),
            "flaws_given": "; ".join(f"{f.kind}/{f.severity}/{f.option or 'item'}" for f in review.flaws),
            "rationale_given": review.rationale,
        }
    return row


def _answers(values: Mapping[str, Any]) -> dict[str, Any]:
    answers = {name: str(values[name]).strip() for name in ANSWERS if name in values}
    if "flaws" in answers:
        flaws = [flaw.strip() for flaw in answers["flaws"].split(";")]
        return answers | {"flaws": [flaw.split("/") for flaw in flaws if flaw]}
    return answers
