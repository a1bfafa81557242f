"""Tables as people's programs save them: encoding, delimiter, decimal comma, dates, names of columns.

What has one reading is read without asking; what has several is refused until somebody
states which (`kina review import`): a comma before three digits, a date without a zone, an
id in an encoding that is only guessed.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.rows.jsonl import decode
from kina_build.rows.kinds import name_kind
from kina_build.rows.source import Source, open_source
from kina_build.rows.tables import PARQUET, Row, parse_table, read_table
from kina_review.instants import DateForm, read_local

UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
GUESS = "windows-1252"
"""What spreadsheets of Western Europe and America save, where it is not UTF-8."""
IDS = ("item_id", "reviewer_id", "assignment_id", "review_id", "payee_id")
"""Columns that a guessed encoding must not touch: a wrong letter there is another person."""
DATES = ("submitted_at",)
NUMBERS = ("review_score", "lead_time_s")
COMMA = re.compile(r"[+-]?\d+,\d+")
"""A number with a comma: 14,5 matches, 1.234,5 must not."""
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
"""What could also be a thousand with its separator: 1,234 matches, 14,5 must not."""


@dataclass(frozen=True)
class TableForm:
    """How a table is written, as far as somebody states it."""

    encoding: str = ""
    """Empty: detected."""
    delimiter: str = ""
    """Of CSV; empty: the one that cuts the header into most columns."""
    decimal: Literal["", ".", ","] = ""
    """Empty: a point, or a comma where it cannot separate thousands."""
    dates: DateForm | None = None
    """None: ISO 8601."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Column of the file to the field that it holds."""
    snapshot: datetime | None = None
    """Instant after which a text of an export does not count; None: the last one counts."""
    lowest_rating: int | None = None
    """Least step of another tool's ratings of five steps; None: they stand on a scale that is not known."""


PLAIN = TableForm()
"""Of a table of which nobody states anything."""


def read_rows(path: Path, form: TableForm = PLAIN) -> list[Row]:
    """Read the rows of one table with fields under our names and values in our spelling.

    Raises:
        InputError: as kina_build.rows.tables.read_table; an encoding that does not fit, a column that is not
            there, or two columns for one field.
        RowErrors: as read_table; values with several readings.
    """
    source = open_source(path)
    guessed = False
    if source.data.startswith(PARQUET):
        rows = read_table(path)
    else:
        text, guessed = _decode(source, form.encoding)
        rows = parse_table(text, source, form.delimiter)
    faults: list[RowFault] = []
    named = _rename(rows, form, source.name)
    faults += [] if form.decimal else [fault for name in NUMBERS for fault in _mixed(named, name)]
    rows = [_respell(row, form, faults) for row in named]
    faults += [fault for row in rows for fault in _doubtful(row)] if guessed else []
    if faults:
        raise RowErrors(faults)
    return rows


def _decode(source: Source, encoding: str) -> tuple[str, bool]:
    """Return the text and whether its encoding was guessed."""
    try:
        if encoding:
            return source.data.decode(encoding).removeprefix("\ufeff"), False
        if source.data.startswith(UTF16_MARKS):
            return source.data.decode("utf-16"), False
    except (UnicodeError, LookupError) as error:
        raise InputError(f"{source.name}: cannot be read as {encoding or 'UTF-16'} ({error})") from None
    try:
        return decode(source), False
    except InputError:
        if name_kind(source.data) is not None or _is_binary(source.data):
            raise
    try:
        return source.data.decode(GUESS), True
    except UnicodeDecodeError:
        raise InputError(
            f"{source.name}: neither UTF-8 nor {GUESS}",
            hint="save it as UTF-8, or say what it is: `kina review import --encoding`",
        ) from None


def _is_binary(data: bytes) -> bool:
    """Tell whether bytes are no text of any encoding that is one byte a letter, or none at all."""
    return not data.strip() or any(byte < 32 and byte not in b"\t\n\r\f" for byte in data)


def _rename(rows: list[Row], form: TableForm, name: str) -> list[Row]:
    known = {column for row in rows for column in row.values}
    for theirs, ours in form.columns.items():
        if theirs not in known:
            raise InputError(f"{name}: no column {theirs!r}; there are {', '.join(sorted(known)[:20])}")
        if ours in known and ours not in form.columns:
            raise InputError(f"{name}: {ours!r} and {theirs!r} would both be {ours!r}")
    return [
        Row(row.line, {form.columns.get(key, key): value for key, value in row.values.items()}, row.file)
        for row in rows
    ]


def _respell(row: Row, form: TableForm, faults: list[RowFault]) -> Row:
    values = dict(row.values)
    try:
        for name in values.keys() & set(NUMBERS):
            values[name] = _number(values[name], form.decimal)
        for name in values.keys() & set(DATES):
            if form.dates is not None:
                days = form.dates.pattern == "excel"  # other dates have points of their own: 01.03.2026
                given = _number(values[name], form.decimal) if days else values[name]
                values[name] = read_local(given, form.dates)
    except ValueError as error:
        faults.append(row.fault(str(error)))
    return Row(row.line, values, row.file)


def _number(value: Any, decimal: str) -> Any:
    """Return a number with a point, where its comma can only be one.

    Raises:
        ValueError: the comma may separate thousands, or the point does, a comma being stated.
    """
    if not isinstance(value, str) or decimal == ".":
        return value
    text = value.strip()
    if decimal == "," and "." in text:
        raise ValueError(f"{text[:40]!r} has a point where a comma is stated before the decimals")
    if not COMMA.fullmatch(text):
        return value
    if decimal == "" and THOUSANDS.fullmatch(text):
        raise ValueError(
            f"{text!r} may be a thousand or a fraction: state which with `kina review import --decimal`"
        )
    return text.replace(",", ".")


def _mixed(rows: list[Row], name: str) -> list[RowFault]:
    """Find what may be a thousand with its point, in a column where others write a comma before decimals."""
    texts = [(row, str(row.values.get(name) or "").strip()) for row in rows]
    if not any(COMMA.fullmatch(text) for _, text in texts):
        return []
    return [
        row.fault(
            f"{text!r} may be a thousand or a fraction, where others have a comma: state which with "
            "`kina review import --decimal`"
        )
        for row, text in texts
        if THOUSANDS.fullmatch(text.replace(".", ",")) and "." in text
    ]


def _doubtful(row: Row) -> list[RowFault]:
    return [
        row.fault(
            f"{name} {row.values[name]!r} is in an encoding that is only guessed ({GUESS}): save the file "
            "as UTF-8, or state it with `kina review import --encoding`"
        )
        for name in IDS
        if name in row.values and not str(row.values[name]).isascii()
    ]
