"""Rows of Parquet and Arrow files, and the data files of a Hugging Face dataset folder."""

from __future__ import annotations

import datetime as dt
import io
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from kina_build.errors import InputError
from kina_build.items.rawfile import RawFile, RawRow
from kina_build.items.reject import Reject, RowRefused
from kina_build.rows.columns import check_rows, reading_columns

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
