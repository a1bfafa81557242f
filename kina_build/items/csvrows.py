"""Rows of delimited text: the delimiter and the header are found out and stated."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from kina_build.errors import InputError
from kina_build.items.decoding import Decoded
from kina_build.items.model import LETTERS
from kina_build.items.naming import fold_name
from kina_build.items.rawfile import RawFile, RawRow
from kina_build.items.reject import Reject, RowRefused

DELIMITERS = (",", "\t", ";", "|")
PROBED_RECORDS = 20
"""Records looked at to find the delimiter."""

LONGEST_CELL = 1 << 24
"""Characters of the longest cell that is read; csv's own limit is 131,072."""


@dataclass(frozen=True)
class Layout:
    """How a delimited file is cut."""

    delimiter: str
    columns: tuple[str, ...]
    header: bool


def read_delimited(decoded: Decoded, name: str, delimiter: str | None, known: Collection[str]) -> RawFile:
    """Read CSV or TSV; broken rows are rejected, each by itself.

    Args:
        decoded: the text.
        name: the file's name, for messages.
        delimiter: what the user says it is; None finds it out.
        known: column names that tell a header from a row, folded.

    Raises:
        InputError: no delimiter fits, a repeated column, or neither header nor known layout.
    """
    layout = _find_layout(decoded.text, name, delimiter, known)
    rows: list[RawRow] = []
    rejects: list[Reject] = []
    blank = 0
    for line, record in _records(decoded.text, layout.delimiter, skip=int(layout.header)):
        if isinstance(record, csv.Error):
            rejects.append(RowRefused("csv_bad_quoting", str(record)).at(name, line))
        elif not any(cell.strip() for cell in record):
            blank += 1
        else:
            try:
                rows.append(RawRow(line, _named(record, layout.columns)))
            except RowRefused as fault:
                rejects.append(fault.at(name, line))
    detected = {
        "format": "tsv" if layout.delimiter == "\t" else "csv",
        "encoding": decoded.encoding,
        "delimiter": layout.delimiter,
        "header": layout.header,
        "columns": [column for column in layout.columns if column],
        "blank_rows": blank,
    }
    return RawFile(name, tuple(rows), tuple(rejects), detected)


def _named(record: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    if len(record) > len(columns) and any(record[len(columns) :]):
        message = f"{len(record)} cells but {len(columns)} columns"
        raise RowRefused("too_many_cells", message, cells=len(record), columns=len(columns))
    if len(record) < len(columns):
        message = f"{len(record)} cells but {len(columns)} columns"
        raise RowRefused("too_few_cells", message, cells=len(record), columns=len(columns))
    cells = zip(columns, record, strict=False)
    return {column or f"column {at}": cell for at, (column, cell) in enumerate(cells, 1) if column or cell}


def _find_layout(text: str, name: str, delimiter: str | None, known: Collection[str]) -> Layout:
    if delimiter and len(delimiter) != 1:
        raise InputError(
            f"{name}: delimiter {delimiter!r} is not one character", hint="for example ',' or ';'"
        )
    tried = [_lay_out(text, mark, known) for mark in ([delimiter] if delimiter else DELIMITERS)]
    fitting = [(score, layout) for score, layout in tried if len(layout.columns) > 1]
    if not fitting:
        raise InputError(f"{name}: one column only: no delimiter found", hint="name it with --delimiter")
    layout = max(fitting, key=lambda pair: pair[0])[1]
    repeated = next((c for c in layout.columns if c and layout.columns.count(c) > 1), None)
    if repeated:
        raise InputError(f"{name}:1: column {repeated!r} stands more than once in the header")
    return layout


def _lay_out(text: str, delimiter: str, known: Collection[str]) -> tuple[tuple[int, int, int], Layout]:
    """Cut the file's beginning at a delimiter; the score orders the candidates."""
    probe = islice(_records(text, delimiter), PROBED_RECORDS)
    records = [record for _, record in probe if not isinstance(record, csv.Error)]
    first = [cell.strip() for cell in records[0]] if records else []
    hits = sum(fold_name(cell) in known for cell in first)
    even = sum(len(record) == len(first) for record in records)
    if hits >= 2 or not _is_plain_question(records):
        return (hits, even, len(first)), Layout(delimiter, tuple(first), header=True)
    names = ("question", *LETTERS[: len(first) - 2], "answer")
    return (1, even, len(first)), Layout(delimiter, names, header=False)


def _is_plain_question(records: Sequence[Sequence[str]]) -> bool:
    """Tell whether rows look like MMLU's files without header: question, options, key letter."""
    if not records or not 4 <= len(records[0]) <= len(LETTERS) + 2:
        return False
    width = len(records[0])
    letters = tuple(LETTERS[: width - 2])
    return all(len(r) == width and r[-1].strip() in letters and r[0].strip() for r in records)


def _records(text: str, delimiter: str, skip: int = 0) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Yield (line, cells or the fault); strict, so that a stray quote cannot swallow rows unseen."""
    limit = csv.field_size_limit(LONGEST_CELL)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        while True:
            line = reader.line_num + 1
            try:
                record: list[str] | csv.Error = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                record = error
            if record == []:
                continue
            if skip:
                skip -= 1
            else:
                yield line, record
    finally:
        csv.field_size_limit(limit)
