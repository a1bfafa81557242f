"""Rows of delimited text: the delimiter and the header are found out and stated."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from kina_build.errors import InputError
from kina_build.items.importing.rawfile import Decoded, RawFile, RawRow, Reject, RowRefused
from kina_build.items.model import LETTERS
from kina_build.items.text import fold_name
from kina_build.rows import strict
from kina_build.rows.source import limits
from kina_build.rows.strict import lines_of, skip_blanks

DELIMITERS = (",", "\t", ";", "|")
PROBED_RECORDS = 20
"""Records looked at to find the delimiter."""

MOST_TITLES = 5
"""Lines above a header, such as the title that a spreadsheet writes there."""

LONGEST_CELL = 1 << 24
"""Characters of the longest cell that is read; csv's own limit is 131,072."""


@dataclass(frozen=True)
class Layout:
    """How a delimited file is cut."""

    delimiter: str
    columns: tuple[str, ...]
    above: int
    """Records above the rows: a header, and a title above it; 0 where the file has none."""


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
    for line, record in _records(decoded.text, layout.delimiter, skip=layout.above):
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
        "header": layout.above > 0,
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
    titles = _count_titles(records, known)
    first = [cell.strip() for cell in records[titles]] if records else []
    hits = _count_known(first, known)
    even = sum(len(record) == len(first) for record in records)
    if hits >= 2 or not _is_plain_question(records):
        return (hits, even, len(first)), Layout(delimiter, tuple(first), titles + 1)
    names = ("question", *LETTERS[: len(first) - 2], "answer")
    return (1, even, len(first)), Layout(delimiter, names, 0)


def _count_known(cells: Sequence[str], known: Collection[str]) -> int:
    return sum(fold_name(cell) in known for cell in cells)


def _count_titles(records: Sequence[Sequence[str]], known: Collection[str]) -> int:
    """Count the records of one cell that stand above a header of well-known names."""
    titles = next((n for n, one in enumerate(records) if sum(map(bool, map(str.strip, one))) > 1), 0)
    return titles if titles <= MOST_TITLES and records and _count_known(records[titles], known) >= 2 else 0


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


SPLITS = frozenset({"train", "training", "test", "dev", "val", "valid", "validation", "eval"})
"""Keys under which one file holds the rows of several splits."""


def read_jsonl(decoded: Decoded, name: str) -> RawFile:
    """Read one object a line; lines that are none are rejected, each by itself."""
    rows: list[RawRow] = []
    rejects: list[Reject] = []
    for line, text in enumerate(decoded.text.split("\n"), start=1):
        if not text.strip():
            continue
        try:
            rows.append(RawRow(line, _as_object(parse_json(text))))
        except RowRefused as fault:
            rejects.append(fault.at(name, line))
    return RawFile(name, tuple(rows), tuple(rejects), {"format": "jsonl", "encoding": decoded.encoding})


def read_json(decoded: Decoded, name: str) -> RawFile:
    """Read a JSON document: a list of objects, or an object that holds one such list.

    The other values of such an object belong to every row. An object of objects is read
    as rows whose ids are its keys.

    Raises:
        InputError: malformed JSON (with line and column), or no list of objects in it.
    """
    text = decoded.text
    try:
        document = parse_json(text)
    except RowRefused as fault:
        raise InputError(f"{name}:{fault.evidence.get('line', 1)}: {fault.reason}: {fault.message}") from None
    elements, shared, begin = _find_rows(document, text, name)
    rows: list[RawRow] = []
    rejects: list[Reject] = []
    for line, element in zip(lines_of(text, begin, len(elements)), elements, strict=True):
        try:
            rows.append(RawRow(line, _as_object(element)))
        except RowRefused as fault:
            rejects.append(fault.at(name, line))
    detected = {"format": "json", "encoding": decoded.encoding}
    return RawFile(name, tuple(rows), tuple(rejects), detected, shared)


def parse_json(text: str) -> Any:
    """Parse JSON strictly, as `rows.strict` does.

    Raises:
        RowRefused: with the reason's word, and the line and column within `text`.
    """
    try:
        return strict.parse_json(text, limits())
    except strict.JsonFault as fault:
        raise RowRefused(fault.reason, fault.message, line=fault.line, column=fault.column) from None


def _as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RowRefused("json_not_object", "not a JSON object")
    return value


def _find_rows(document: Any, text: str, name: str) -> tuple[list[Any], dict[str, Any], int]:
    """Return the rows, what they share, and where in the text the list begins (-1: not a list)."""
    if isinstance(document, list):
        return document, {}, text.index("[")
    if not isinstance(document, dict):
        raise InputError(f"{name}: not a list of questions", hint="a JSON file holds a list of objects")
    lists = [key for key, value in document.items() if _holds_objects(value)]
    if len(lists) == 1:
        shared = {key: value for key, value in document.items() if key != lists[0]}
        return document[lists[0]], shared, _begin_of(text, lists[0])
    if len(lists) > 1 and SPLITS.issuperset(document):
        return [{**row, "split": row.get("split", key)} for key in lists for row in document[key]], {}, -1
    if len(lists) > 1:
        raise InputError(f"{name}: more than one list of objects: {', '.join(lists)}", hint="split the file")
    if document and all(isinstance(value, dict) for value in document.values()):
        return [{"id": key} | value for key, value in document.items()], {}, -1
    return [document], {}, -1


def _holds_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(element, dict) for element in value)


def _begin_of(text: str, wanted: str) -> int:
    """Return where the value of a top-level key begins."""
    decoder = json.JSONDecoder()
    at = text.index("{") + 1
    while True:
        key, at = decoder.raw_decode(text, skip_blanks(text, at))
        at = skip_blanks(text, skip_blanks(text, at) + 1)
        if key == wanted:
            return at
        _, at = decoder.raw_decode(text, at)
        at = skip_blanks(text, at) + 1
