"""The rows of a release as parquet, by pyarrow alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from kina_build.errors import InputError
from kina_build.release.rows import Row
from kina_build.rows.jsonl import describe
from kina_build.rows.kinds import check_rows, reading_columns

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP = 10_000
"""Rows a parquet row group: small enough for the hub's viewer."""


def write_parquet(path: Path, rows: Sequence[Row], names: Sequence[str]) -> None:
    """Write rows as parquet by pyarrow alone, so that every version of datasets reads it.

    Files that datasets writes itself carry its feature descriptions, which older versions
    cannot parse.
    """
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    tables = (
        to_table({name: [getattr(row, name) for row in rows[start : start + ROW_GROUP]] for name in names})
        for start in range(0, len(rows), ROW_GROUP)
    )
    first = next(tables)
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def read_parquet(path: Path) -> list[Row]:
    """Read a parquet file of rows.

    Raises:
        InputError: missing file, or not rows of a release.
    """
    rows = _read_parquet(path).to_pylist()
    try:
        return [Row.model_validate(row) for row in rows]
    except ValidationError as error:
        raise InputError(f"{path}: not rows of a release: {describe(error)[0]}") from None


def holds_rows(path: Path, rows: Sequence[Row], names: Sequence[str]) -> bool:
    """Tell whether a parquet file holds rows as this version writes them; rows may be the same all the same.

    Raises:
        InputError: missing file, or no parquet.
    """
    meant = to_table({name: [getattr(row, name) for row in rows] for name in names})
    return bool(_read_parquet(path).equals(meant))


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    with reading_columns(str(path), "Parquet"):
        file = pq.ParquetFile(path)
        check_rows(file.metadata.num_rows, str(path))
        return file.read()


def to_table(columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Make a table with one type a column; a column of mixed kinds becomes text.

    Args:
        columns: values by name; None is null.
    """
    import pyarrow as pa

    return pa.table([_array(name, list(values)) for name, values in columns.items()], names=list(columns))


def _array(name: str, values: list[Any]) -> pa.Array:
    import pyarrow as pa

    known = {
        "choices": pa.list_(pa.string()),
        "option_explanations": pa.list_(pa.string()),
        "answer_index": pa.int64(),
    }
    if name in known:
        return pa.array(values, type=known[name])
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool} or kinds <= {int} or kinds <= {int, float}:
        return pa.array(values) if kinds else pa.array(values, type=pa.string())
    return pa.array([_text(value) for value in values], type=pa.string())


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
