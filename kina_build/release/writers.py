"""The data files of a release: JSON Lines, parquet, KINA.json, and the answers kept apart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from kina_build.errors import InputError
from kina_build.items.model import Item
from kina_build.jsonl import describe, writing
from kina_build.release.names import parquet_file, rows_file
from kina_build.release.rows import Row, to_kina
from kina_build.rows.columns import check_rows, reading_columns

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP = 10_000
"""Rows a parquet row group: small enough for the hub's viewer."""


def write_rows(folder: Path, rows: Mapping[str, Sequence[Row]], names: Sequence[str]) -> None:
    """Write each split as {split}.jsonl and data/{split}.parquet, all with the same columns."""
    wanted = set(names)
    for split, kept in rows.items():
        with writing(folder / rows_file(split)) as out:
            for row in kept:
                out.write(row.model_dump_json(include=wanted).encode() + b"\n")
        write_parquet(folder / parquet_file(split), kept, names)


def write_kina(path: Path, items: Iterable[Item]) -> None:
    """Write items as KINA's own JSON: one list of entries, one a line."""
    encoder = json.JSONEncoder(ensure_ascii=False)
    with writing(path) as out:
        out.write(b"[")
        for number, item in enumerate(items):
            entry = encoder.encode(to_kina(item))
            out.write((",\n" if number else "\n").encode() + entry.encode())
        out.write(b"\n]\n")


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
    import pyarrow.parquet as pq

    with reading_columns(str(path), "Parquet"):
        file = pq.ParquetFile(path)
        check_rows(file.metadata.num_rows, str(path))
        rows = file.read().to_pylist()
    try:
        return [Row.model_validate(row) for row in rows]
    except ValidationError as error:
        raise InputError(f"{path}: not rows of a release: {describe(error)[0]}") from None


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
