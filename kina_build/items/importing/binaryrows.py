"""Rows of Parquet and Arrow files, and the data files of a Hugging Face dataset folder."""

from __future__ import annotations

import datetime as dt
import io
import math
import re
import zipfile
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from kina_build.errors import InputError
from kina_build.items.importing.rawfile import RawFile, RawRow, Reject, RowRefused
from kina_build.items.text import fold_name
from kina_build.rows.kinds import check_rows, reading_columns

DATA_SUFFIXES = (".parquet", ".arrow", ".jsonl", ".ndjson", ".json", ".csv", ".tsv")
BOOKKEEPING = {"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"}
"""Files of a dataset folder that hold no rows."""


def find_data_files(folder: Path) -> list[Path]:
    """List the data files of a dataset folder, in order of their names; hidden ones are left out.

    Raises:
        InputError: there is none.
    """
    found = [path for path in _walk(folder) if path.suffix.lower() in DATA_SUFFIXES]
    found = [path for path in found if path.name not in BOOKKEEPING]
    if not found:
        raise InputError(
            f"{folder}: no data file in this folder", hint=f"looked for {', '.join(DATA_SUFFIXES)}"
        )
    return found


def read_parquet(raw: bytes, name: str) -> RawFile:
    """Read a Parquet file; text columns stay text.

    Raises:
        InputError: the bytes are not Parquet.
    """
    import pyarrow.parquet as pq

    with reading_columns(name, "Parquet"):
        file = pq.ParquetFile(io.BytesIO(raw))
        check_rows(file.metadata.num_rows, name)
        return _to_raw(file.read(), name, "parquet")


def read_arrow(raw: bytes, name: str) -> RawFile:
    """Read an Arrow stream or file, as `datasets` saves them.

    Raises:
        InputError: the bytes are not Arrow.
    """
    import pyarrow as pa

    with reading_columns(name, "Arrow"):
        opener = pa.ipc.open_file if raw.startswith(b"ARROW1") else pa.ipc.open_stream
        return _to_raw(opener(pa.BufferReader(raw)).read_all(), name, "arrow")


def _to_raw(table: Any, name: str, kind: str) -> RawFile:
    columns = list(table.column_names)
    if len(set(columns)) < len(columns):
        twice = next(column for column in columns if columns.count(column) > 1)
        raise InputError(f"{name}: column {twice!r} stands more than once")
    check_rows(table.num_rows, name)
    table.validate(full=True)  # a damaged file can point outside of itself
    rows: list[RawRow] = []
    rejects: list[Reject] = []
    for number, values in enumerate(table.to_pylist(), start=1):
        try:
            rows.append(RawRow(number, {key: plain(value) for key, value in values.items()}))
        except RowRefused as fault:
            rejects.append(fault.at(name, number))
    return RawFile(name, tuple(rows), tuple(rejects), {"format": kind, "columns": columns})


def plain(value: Any) -> Any:
    """Turn a value into what JSON can hold; NaN is a missing number, bytes are only described.

    Raises:
        RowRefused: a value of a kind no question has.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, bytes):
        return f"({len(value)} bytes, left out)"
    if isinstance(value, dt.date | dt.time | dt.timedelta | Decimal):
        return str(value)
    raise RowRefused("value_unreadable", f"a value of type {type(value).__name__}")


def _walk(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            yield path


ZIP = b"PK\x03\x04"
LONGEST_UNPACKED = 1 << 30
"""Bytes of a workbook's parts beyond which it is not unpacked."""

HEADER_ROWS = 20
"""Rows from the top among which the header stands: sheets of quiz platforms begin with advice."""

PLAIN = re.compile(r"General|@|0+(?:\.0+)?|#,##0(?:\.0+)?", re.IGNORECASE)
"""Formats in which a number is read as it stands; "000" shows zeros that are not in the number."""


def is_workbook(raw: bytes) -> bool:
    """Tell whether a file is a workbook by what it holds."""
    return raw.startswith(ZIP) and b"xl/workbook" in raw


def read_workbook(raw: bytes, name: str, known: Collection[str]) -> RawFile:
    """Read the rows of a workbook's sheets that have a header of known names.

    Args:
        raw: the file.
        name: its name, for messages.
        known: column names that tell a header, folded.

    Raises:
        InputError: a damaged or huge file, or no sheet with a header.
    """
    rows: list[RawRow] = []
    rejects: list[Reject] = []
    read: list[str] = []
    for title, cells in _open(raw, name):
        top = _find_header(cells[:HEADER_ROWS], known)
        if top is None:
            continue
        read.append(title)
        columns = [str(cell.value or "").strip() for cell in cells[top]]
        for line, row in enumerate(cells[top + 1 :], start=top + 2):
            try:
                if any(cell.value is not None for cell in row):
                    rows.append(RawRow(line, dict(_cells(columns, row))))
            except RowRefused as fault:
                rejects.append(fault.at(name, line))
    if not read:
        raise InputError(
            f"{name}: no sheet of this workbook has a header with a question and options",
            hint="name the columns Question, A, B, C, D, Answer, or save the sheet as CSV",
        )
    return RawFile(name, tuple(rows), tuple(rejects), {"format": "xlsx", "sheets": read})


def _open(raw: bytes, name: str) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Return the title and cells of each sheet."""
    from openpyxl import load_workbook

    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as parts:
            unpacked = sum(part.file_size for part in parts.infolist())
        if unpacked > LONGEST_UNPACKED:
            raise InputError(f"{name}: the workbook unpacks to more than a gibibyte", hint="save it as CSV")
        book = load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
        return [(sheet.title, list(sheet.iter_rows())) for sheet in book.worksheets]
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, SyntaxError) as error:
        raise InputError(f"{name}: an Excel workbook that cannot be read: {error}") from None


def _find_header(rows: Sequence[Sequence[Any]], known: Collection[str]) -> int | None:
    for at, cells in enumerate(rows):
        names = [str(cell.value) for cell in cells if cell.value is not None]
        if sum(fold_name(one) in known for one in names) > 1:
            return at
    return None


def _cells(columns: Sequence[str], cells: Sequence[Any]) -> Iterator[tuple[str, str]]:
    for at, cell in enumerate(cells):
        column = columns[at] if at < len(columns) and columns[at] else f"column {at + 1}"
        text = _show(cell)
        if text or (at < len(columns) and columns[at]):
            yield column, text


def _show(cell: Any) -> str:
    """Return a cell's text.

    Raises:
        RowRefused: a date, or a number whose format shows another text than its digits.
    """
    value = cell.value
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    where = f"cell {cell.coordinate}"
    if isinstance(value, dt.date | dt.time | dt.timedelta):
        raise RowRefused(
            "cell_is_date", f"{where} is a date ({value}): was it meant as text?", cell=cell.coordinate
        )
    shown = cell.number_format or "General"
    if shown.lstrip("0") == "" and len(shown) > 1:
        return f"{value:0{len(shown)}.0f}"
    if "%" in shown:
        return f"{value * 100:.10g}%"
    if not PLAIN.fullmatch(shown):
        raise RowRefused("cell_format", f"{where} shows a number as {shown!r}: save it as text", format=shown)
    return str(int(value)) if float(value).is_integer() else repr(value)
