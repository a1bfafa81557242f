"""Reviews, grades and findings from tables that people keep: columns to fields, words to one spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.jsonl import describe
from kina_build.tables import hint_at, need_rows
from review.records import Finding, Grade, Review, Reviewer
from review.rubric import CRITERION_NAMES

Record = TypeVar("Record", bound=BaseModel)

LISTS: Mapping[str, Callable[[str], Any]] = {
    "flaws": lambda kind: {"kind": kind},
    "failed": str,
    "fields": str,
    "conflicts": str,
}
"""Columns whose cells hold several values joined by ";"."""


@dataclass(frozen=True)
class Table(Generic[Record]):
    """Records of one file or several, and what of them was not read."""

    records: list[Record]
    ignored: tuple[str, ...]
    """Columns that no field is called after."""


def read_reviews(paths: Path | Sequence[Path]) -> Table[Review]:
    """Read reviews; a column named after a criterion holds its rating, `flaws` kinds joined by ";".

    Raises:
        InputError: unreadable file, or no rows.
        RowErrors: rows that are no reviews.
    """
    return _read(paths, Review, marks="ratings")


def read_grades(paths: Path | Sequence[Path]) -> Table[Grade]:
    """Read grades of reviews: a review_score, or a mark in a column per criterion.

    Raises:
        InputError: unreadable file, or no rows.
        RowErrors: rows that are no grades.
    """
    return _read(paths, Grade, marks="marks")


def read_findings(paths: Path | Sequence[Path]) -> Table[Finding]:
    """Read audit findings; `failed` holds reviewer ids joined by ";".

    Raises:
        InputError: unreadable file, or no rows.
        RowErrors: rows that are no findings.
    """
    return _read(paths, Finding)


def read_reviewers(path: Path) -> Table[Reviewer]:
    """Read reviewers; `fields` and `conflicts` hold several values joined by ";".

    Raises:
        InputError: unreadable file, no rows, or an id twice.
        RowErrors: rows that are no reviewers.
    """
    table = _read(path, Reviewer)
    ids = [person.reviewer_id for person in table.records]
    if len(set(ids)) < len(ids):
        twice = next(i for i in ids if ids.count(i) > 1)
        raise InputError(f"{path}: reviewer {twice!r} stands more than once")
    return table


def _read(paths: Path | Sequence[Path], model: type[Record], marks: str = "") -> Table[Record]:
    rows = need_rows(paths)
    known = set(model.model_fields) | (set(CRITERION_NAMES) if marks else set())
    records: list[Record] = []
    faults: list[RowFault] = []
    for row in rows:
        try:
            records.append(model.model_validate(_fields(row.values, known, marks)))
        except ValidationError as error:
            faults.extend(map(row.fault, describe(error)))
    if faults:
        needed = [name for name, info in model.model_fields.items() if info.is_required()]
        raise RowErrors(faults, hint=hint_at(rows, f"needed columns: {', '.join(needed)}"))
    return Table(records, tuple(sorted({key for row in rows for key in row.values} - known)))


def _fields(values: Mapping[str, Any], known: set[str], marks: str) -> dict[str, Any]:
    fields = {key: value for key, value in values.items() if key in known and value not in (None, "")}
    for name in CRITERION_NAMES if marks else ():
        if name in fields:
            fields[marks] = {**fields.get(marks, {}), name: fields.pop(name)}
    for key, build in LISTS.items():
        if isinstance(fields.get(key), str):
            fields[key] = [build(part.strip()) for part in fields[key].split(";") if part.strip()]
    return fields


def settle_payees(reviews: Sequence[Review]) -> list[Review]:
    """Give every row of a reviewer the one payee that any of their rows names.

    Raises:
        InputError: a reviewer with two payees.
    """
    payees: dict[str, str] = {}
    for review in reviews:
        if review.payee_id and payees.setdefault(review.reviewer_id, review.payee_id) != review.payee_id:
            raise InputError(
                f"reviewer {review.reviewer_id!r} has two payees: "
                f"{payees[review.reviewer_id]!r} and {review.payee_id!r}"
            )
    return [
        review
        if review.payee_id == payees.get(review.reviewer_id)
        else review.model_copy(update={"payee_id": payees[review.reviewer_id]})
        for review in reviews
    ]
