"""Small tables that people keep: rows from CSV, TSV, JSON or Parquet, values as they stand.

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
from kina_build.rows.jsonl import decode, describe, writing
from kina_build.rows.kinds import check_rows, name_form, reading_columns
from kina_build.rows.objects import parse_objects
from kina_build.rows.source import Source, each, limits, open_source

if TYPE_CHECKING:
    from _csv import Reader

Record = TypeVar("Record", bound=BaseModel)

JSON_SUFFIXES = {".jsonl", ".ndjson", ".json"}
CSV_SUFFIXES = {".csv", ".tsv"}
PARQUET = b"PAR1"
DELIMITERS = ",;\t"
NEUTRALISED = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet read a cell as a formula."""


@dataclass(frozen=True)
class Row:
    """One row and where it starts."""

    line: int
    values: dict[str, Any]
    file: str = ""
    """As the user wrote it."""

    def seen_from(self, other: Row) -> str:
        """Name this row's place to somebody who looks at another row."""
        return f"line {self.line}" if self.file == other.file else f"{self.file}:{self.line}"

    def fault(self, message: str) -> RowFault:
        """Return a fault of this row."""
        return RowFault(self.file, self.line, message)


def read_table(paths: Path | str | Sequence[Path]) -> list[Row]:
    """Read rows of CSV, TSV, JSON Lines, a JSON array or Parquet; the content tells which.

    Args:
        paths: a file, or several whose rows follow each other.

    Raises:
        InputError: missing or empty file, a file of another kind, no header, a repeated column.
        RowErrors: rows with more cells than columns, or lines that are not JSON objects.
    """
    return [row for path in each(paths) for row in _read_one(open_source(path))]


def _read_one(source: Source) -> list[Row]:
    if source.data.startswith(PARQUET):
        return _parquet_rows(source)
    return parse_table(decode(source), source)


def parse_table(text: str, source: Source, delimiter: str = "") -> list[Row]:
    """Parse the text of a table: CSV, JSON Lines or a JSON array, as the text tells.

    Args:
        text: what the source holds, decoded.
        source: for messages and the suffix.
        delimiter: of CSV; empty: the one that cuts the header into most columns.

    Raises:
        InputError: missing or empty file, a file of another kind, no header, a repeated column.
        RowErrors: rows with more cells than columns, or lines that are not JSON objects.
    """
    if _is_json(text, source.suffix):
        return _json_rows(text, source)
    return parse_csv(text, source.name, delimiter)


def _is_json(text: str, suffix: str) -> bool:
    if suffix in JSON_SUFFIXES:
        return True
    first = next((line for line in text.split("\n") if line.strip()), "").strip()
    # a header may begin with a bracket too, a whole object or the start of an array does not
    return first[:1] in "[{" and (suffix not in CSV_SUFFIXES or first[:2] in ('{"', "[{", "{", "["))


def _json_rows(text: str, source: Source) -> list[Row]:
    faults: list[RowFault] = []
    rows = [Row(line, values, source.name) for line, values in parse_objects(text, source.name, faults)]
    if faults:
        raise RowErrors(faults, hint="each line must be one JSON object")
    return rows


def _parquet_rows(source: Source) -> list[Row]:
    import pyarrow.parquet as pq

    with reading_columns(source.name, "Parquet"):
        file = pq.ParquetFile(io.BytesIO(source.data))
        check_rows(file.metadata.num_rows, source.name)
        rows = file.read().to_pylist()
    return [Row(number, _present(values), source.name) for number, values in enumerate(rows, start=1)]


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    """Drop what is missing: a data frame writes it as null or NaN."""
    return {name: value for name, value in values.items() if value is not None and value == value}  # noqa: PLR0124


def parse_csv(text: str, name: str, delimiter: str = "") -> list[Row]:
    """Parse CSV text; the delimiter is the one that cuts the header into most columns, if none is given.

    Raises:
        InputError: no header or a repeated column.
        RowErrors: rows with more cells than the header.
    """
    faults: list[RowFault] = []
    lines = io.StringIO(text, newline="")
    header = text.partition("\n")[0].strip()
    stated = header.removeprefix("sep=")
    if len(stated) == 1 and stated != header:  # a spreadsheet's first line that names the delimiter
        reader = open_csv(lines, header, delimiter or stated)
        next(reader)
    else:
        reader = open_csv(lines, header, delimiter)
    rows = list(csv_rows(reader, name, faults))
    if faults:
        raise RowErrors(faults, hint="quote cells that hold the delimiter")
    return rows


def open_csv(lines: Iterable[str], header: str, delimiter: str = "") -> Reader:
    """Open a reader of CSV lines; the delimiter is the one that cuts the header into most columns."""
    csv.field_size_limit(limits().cell_characters)
    return csv.reader(lines, delimiter=delimiter or max(DELIMITERS, key=header.count))


def csv_rows(reader: Reader, name: str, faults: list[RowFault]) -> Iterator[Row]:
    """Yield the rows below the header that a CSV reader gives; faulty rows go to `faults`.

    Raises:
        InputError: a repeated column.
    """
    columns = [column.strip() for column in _next(reader, name, faults) or []]
    if len(set(columns)) != len(columns):
        twice = next(column for column in columns if columns.count(column) > 1)
        raise InputError(f"{name}:1: column {twice!r} stands more than once in the header")
    line = reader.line_num + 1
    while (cells := _next(reader, name, faults)) is not None:
        if len(cells) > len(columns):
            faults.append(RowFault(name, line, f"{len(cells)} cells but {len(columns)} columns"))
        elif any(cells):
            yield Row(line, {c: v for c, v in zip(columns, cells, strict=False) if v != ""}, name)
        line = reader.line_num + 1


def _next(reader: Reader, name: str, faults: list[RowFault]) -> list[str] | None:
    """Return the next row's cells, None at the end; a row that breaks the reader ends the file."""
    line = reader.line_num + 1
    try:
        return next(reader, None)
    except csv.Error as error:
        faults.append(RowFault(name, line, str(error)))
        return None


def read_typed(paths: Path | str | Sequence[Path], model: type[Record]) -> list[Record]:
    """Read rows of a table, or of several, into records of one model.

    Raises:
        InputError: an unreadable file, or one with a header but no rows.
        RowErrors: rows that do not fit the model, each with file:line and the field's name.
    """
    rows = need_rows(paths)
    records: list[Record] = []
    faults: list[RowFault] = []
    for row in rows:
        try:
            records.append(model.model_validate(row.values))
        except ValidationError as error:
            faults.extend(map(row.fault, describe(error)))
    if faults:
        required = [name for name, info in model.model_fields.items() if info.is_required()]
        raise RowErrors(faults, hint=hint_at(rows, f"needed columns: {', '.join(required)}"))
    return records


def need_rows(paths: Path | str | Sequence[Path]) -> list[Row]:
    """Read rows as read_table does, from files of which each must have some.

    Raises:
        InputError: an unreadable file, or one with a header but no rows.
        RowErrors: rows with more cells than columns, or lines that are not JSON objects.
    """
    parts = [(path, read_table(path)) for path in each(paths)]
    for path, rows in parts:
        if not rows:
            raise InputError(f"{path}: no rows below the header")
    return [row for _, rows in parts for row in rows]


def hint_at(rows: Sequence[Row], otherwise: str) -> str:
    """Say what rows that do not fit are, where the tool that wrote them is known."""
    kind = name_form(rows[0].values) if rows else None
    return f"this is {kind.name}: {kind.hint}" if kind is not None else otherwise


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
