"""Reviews, grades and findings from tables that people keep: columns to fields, words to one spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.rows.jsonl import describe
from kina_build.rows.source import each
from kina_build.rows.tables import Row, hint_at
from kina_review.export_entry import Entry
from kina_review.exports import read_export
from kina_review.records import Decision, Finding, Grade, Review, Reviewer
from kina_review.rubric import CRITERION_NAMES, TOP_RATING
from kina_review.spelling import check_spelling
from kina_review.tableforms import PLAIN, TableForm, read_rows

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
    """Columns that no field is called after, and what else of an export was not taken over."""
    ratings: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    """Of an export, by item and reviewer: ratings by criterion on the tool's own scale."""


def read_reviews(paths: Path | Sequence[Path], form: TableForm = PLAIN) -> Table[Review]:
    """Read reviews: tables, or exports of Label Studio, Argilla, doccano and Prodigy.

    In a table a column named after a criterion holds its rating, `flaws` kinds joined by ";".
    Ratings of an export stand on its own scale; they become marks only where the form says
    how that scale begins.

    Args:
        paths: a file or several, each told by its content.
        form: how tables are written, as far as somebody states it.

    Raises:
        InputError: unreadable file, no rows, or an export that does not tell what a review needs.
        RowErrors: rows that are no reviews.
    """
    return _read(paths, Review, marks="ratings", form=form, exports=True)


def read_grades(paths: Path | Sequence[Path]) -> Table[Grade]:
    """Read grades of reviews: a review_score, or a mark in a column per criterion.

    Raises:
        InputError: unreadable file, or no rows.
        RowErrors: rows that are no grades.
    """
    table = _read(paths, Grade, marks="marks")
    if table.ignored and not any(one.marks or one.review_score is not None for one in table.records):
        raise InputError(
            f"{', '.join(map(str, each(paths)))}: no score and no mark in it; columns not read: "
            f"{', '.join(table.ignored)}",
            hint="call the column review_score, or as the six criteria are called",
        )
    return table


def read_findings(paths: Path | Sequence[Path]) -> Table[Finding]:
    """Read audit findings; `failed` holds reviewer ids joined by ";".

    Raises:
        InputError: unreadable file, no rows, or a flaw of an item that is said to have none.
        RowErrors: rows that are no findings.
    """
    table = _read(paths, Finding)
    for one in table.records:
        if one.flaw and not one.flawed:
            raise InputError(
                f"the finding on item {one.item_id!r} names {one.flaw} and says that the item is not flawed",
                hint="flawed says whether the item fails; leave flaw blank where it does not",
            )
    return table


def read_decisions(paths: Path | Sequence[Path]) -> Table[Decision]:
    """Read decisions on items; in a table without objects `opinions` is left out.

    Raises:
        InputError: unreadable file, no rows, or two decisions on one item.
        RowErrors: rows that are no decisions.
    """
    table = _read(paths, Decision)
    seen: dict[str, str] = {}
    for one in table.records:
        if seen.setdefault(one.item_id, one.decision) != one.decision:
            raise InputError(
                f"item {one.item_id!r} has two decisions: {seen[one.item_id]} and {one.decision}"
            )
    return table


def read_reviewers(path: Path) -> Table[Reviewer]:
    """Read reviewers; `fields` and `conflicts` hold several values joined by ";".

    Raises:
        InputError: unreadable file, no rows, or an id twice.
        RowErrors: rows that are no reviewers.
        Refusal: two ids differ only in how they are written.
    """
    table = _read(path, Reviewer)
    ids = [person.reviewer_id for person in table.records]
    if len(set(ids)) < len(ids):
        twice = next(i for i in ids if ids.count(i) > 1)
        raise InputError(f"{path}: reviewer {twice!r} stands more than once")
    check_spelling("reviewer", ids)
    return table


def _read(
    paths: Path | Sequence[Path],
    model: type[Record],
    marks: str = "",
    form: TableForm = PLAIN,
    *,
    exports: bool = False,
) -> Table[Record]:
    known = set(model.model_fields) | (set(CRITERION_NAMES) if marks else set())
    found = [_entries(path, known, marks, form, exports=exports) for path in each(paths)]
    entries = [entry for part, _ in found for entry in part]
    records: list[Record] = []
    faults: list[RowFault] = []
    for entry in entries:
        try:
            records.append(model.model_validate(_scaled(entry, form)))
        except ValidationError as error:
            faults.extend(map(entry.row.fault, describe(error)))
        except ValueError as error:
            faults.append(entry.row.fault(str(error)))
    if faults:
        needed = [name for name, info in model.model_fields.items() if info.is_required()]
        raise RowErrors(
            faults, hint=hint_at([entry.row for entry in entries], f"needed columns: {', '.join(needed)}")
        )
    ignored = {column for _, columns in found for column in columns}
    ignored |= {left for entry in entries for left in entry.unread}
    if form.lowest_rating is None:
        ignored |= {f"{name} (rated on a scale of its own)" for entry in entries for name in entry.ratings}
    return Table(records, tuple(sorted(ignored)), _ratings(entries))


def _entries(
    path: Path, known: set[str], marks: str, form: TableForm, *, exports: bool
) -> tuple[list[Entry], set[str]]:
    """Return what one file holds, and the columns of a table of ours that no field is called after."""
    rows = read_rows(path, form)
    if not rows:
        raise InputError(f"{path}: no rows below the header")
    found = read_export(rows, form.snapshot) if exports else None
    if found is not None:
        return found, set()
    return _own(rows, known, marks), {key for row in rows for key in row.values} - known


def _own(rows: Sequence[Row], known: set[str], marks: str) -> list[Entry]:
    return [Entry(row, _fields(row.values, known, marks)) for row in rows]


def _ratings(entries: Sequence[Entry]) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {
        (str(entry.fields.get("item_id")), str(entry.fields.get("reviewer_id"))): entry.ratings
        for entry in entries
        if entry.ratings
    }


def _scaled(entry: Entry, form: TableForm) -> dict[str, Any]:
    """Return an export's review, with its ratings as marks where the scale is stated.

    Raises:
        ValueError: a rating outside of that scale.
    """
    if not entry.ratings or form.lowest_rating is None:
        return entry.fields
    marks = {name: _step(name, value, form.lowest_rating) for name, value in entry.ratings.items()}
    return entry.fields | {"ratings": entry.fields.get("ratings", {}) | marks}


def _step(name: str, value: Any, lowest: int) -> int:
    if isinstance(value, int) and lowest <= value <= lowest + TOP_RATING:
        return value - lowest
    raise ValueError(f"{name} is {value!r}, not {lowest} to {lowest + TOP_RATING}")


def _fields(values: Mapping[str, Any], known: set[str], marks: str) -> dict[str, Any]:
    fields = {key: value for key, value in values.items() if key in known and value not in (None, "")}
    for name in CRITERION_NAMES if marks else ():
        if name in fields:
            fields[marks] = {**fields.get(marks, {}), name: fields.pop(name)}
    for key, build in LISTS.items():
        if isinstance(fields.get(key), str):
            fields[key] = [build(part.strip()) for part in fields[key].split(";") if part.strip()]
    if isinstance(fields.get("opinions"), str):
        del fields["opinions"]  # what each reviewer thought is no single cell, and no money hangs on it
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
