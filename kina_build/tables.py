"""Small tables that people keep: rows from CSV, TSV or JSON Lines, values as they stand.

Nothing is guessed: "NA", "001" and "None" stay text. A blank CSV cell is an absent
field. Foreign question files have a reader of their own in `items/`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.jsonl import describe, iter_rows, read_text, writing

if TYPE_CHECKING:
    from _csv import Reader

Record = TypeVar("Record", bound=BaseModel)

JSON_SUFFIXES = {".jsonl", ".ndjson", ".json"}
DELIMITERS = ",;\t"
NEUTRALISED = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet read a cell as a formula."""


@dataclass(frozen=True)
class Row:
    """One row and where it starts."""

    line: int
    values: dict[str, Any]


def read_table(path: Path) -> list[Row]:
    """Read rows of a CSV, TSV or JSON Lines file; the suffix decides, for "-" the first character.

    Raises:
        InputError: missing or empty file, no header, a repeated column.
        RowErrors: rows with more cells than columns, or lines that are not JSON objects.
    """
    text_is_json = path.suffix.lower() in JSON_SUFFIXES
    if text_is_json:
        return [Row(line, values) for line, values in iter_rows(path)]
    return parse_csv(read_text(path), str(path))


def parse_csv(text: str, name: str) -> list[Row]:
    """Parse CSV text; the delimiter is the one that cuts the header into most columns.

    Raises:
        InputError: no header or a repeated column.
        RowErrors: rows with more cells than the header.
    """
    header = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    faults: list[RowFault] = []
    rows = list(csv_rows(reader, name, faults))
    if faults:
        raise RowErrors(faults, hint="quote cells that hold the delimiter")
    return rows


def csv_rows(reader: Reader, name: str, faults: list[RowFault]) -> Iterator[Row]:
    """Yield the rows below the header that a CSV reader gives; faulty rows go to `faults`.

    Raises:
        InputError: a repeated column.
    """
    columns = [column.strip() for column in next(reader, [])]
    if len(set(columns)) != len(columns):
        twice = next(column for column in columns if columns.count(column) > 1)
        raise InputError(f"{name}:1: column {twice!r} stands more than once in the header")
    line = reader.line_num + 1
    for cells in reader:
        if len(cells) > len(columns):
            faults.append(RowFault(name, line, f"{len(cells)} cells but {len(columns)} columns"))
        elif any(cells):
            yield Row(line, {c: v for c, v in zip(columns, cells, strict=False) if v != ""})
        line = reader.line_num + 1


def read_typed(path: Path, model: type[Record]) -> list[Record]:
    """Read rows of a CSV, TSV or JSON Lines file into records of one model.

    Raises:
        InputError: as read_table, or a file with a header but no rows.
        RowErrors: rows that do not fit the model, each with file:line and the field's name.
    """
    rows = read_table(path)
    if not rows:
        raise InputError(f"{path}: no rows below the header")
    records: list[Record] = []
    faults: list[RowFault] = []
    for row in rows:
        try:
            records.append(model.model_validate(row.values))
        except ValidationError as error:
            faults.extend(RowFault(str(path), row.line, text) for text in describe(error))
    if faults:
        required = [name for name, info in model.model_fields.items() if info.is_required()]
        raise RowErrors(faults, hint=f"needed columns: {', '.join(required)}")
    return records


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as CSV, atomically, with cells no spreadsheet runs as a formula; return how many."""
    count = 0
    with writing(path) as out:
        text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
        plain = csv.writer(text, lineterminator="\n")
        # the plain writer leaves a lone carriage return bare, and readers then cut the row there
        quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
        plain.writerow(columns)
        for row in rows:
            cells = [neutral(row.get(column)) for column in columns]
            writer = quoted if any("\r" in cell for cell in cells if isinstance(cell, str)) else plain
            writer.writerow(cells)
            count += 1
        text.detach()
    return count


def neutral(value: Any) -> Any:
    """Return a cell that no spreadsheet runs as a formula: text that begins with = + - @ gets a quote."""
    if isinstance(value, str) and value.startswith(NEUTRALISED):
        return "'" + value
    return value
