"""The data files of a release: JSON Lines, parquet, KINA.json, and the answers kept apart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kina_build.items.model import Item
from kina_build.jsonl import write_records, writing
from kina_build.release.rows import Row, columns, to_kina

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP = 10_000
"""Rows a parquet row group: small enough for the hub's viewer."""


def write_rows(folder: Path, rows: dict[str, Sequence[Row]]) -> None:
    """Write each split as {split}.jsonl and data/{split}.parquet, all with the same columns."""
    names = columns([row for split in rows.values() for row in split])
    for split, kept in rows.items():
        records = [row.model_dump(mode="json", include=set(names)) for row in kept]
        write_records(folder / f"{split}.jsonl", records)
        write_parquet(folder / "data" / f"{split}.parquet", records, names)


def write_kina(path: Path, items: Sequence[Item], *, private: bool) -> None:
    """Write items as KINA's own JSON: one list of entries."""
    with writing(path) as out:
        out.write(b"[")
        for number, item in enumerate(items):
            entry = to_kina(item)
            if private:
                entry = _without_answer(entry)
            out.write((",\n" if number else "\n").encode() + json.dumps(entry, ensure_ascii=False).encode())
        out.write(b"\n]\n")


def write_answers(path: Path, items: Iterable[Item]) -> None:
    """Write the answers of a private split: id, letter, index, explanations."""
    write_records(
        path,
        (
            {
                "id": item.item_id,
                "answer": item.correct_answer,
                "answer_index": [option.key for option in item.options].index(item.correct_answer),
                "explanation": item.explanation or "",
                "option_explanations": [option.explanation or "" for option in item.options],
            }
            for item in items
        ),
    )


def write_parquet(path: Path, records: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    """Write rows as parquet by pyarrow alone, so that every version of datasets reads it.

    Files that datasets writes itself carry its feature descriptions, which older versions
    cannot parse.
    """
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(to_table(records, names), path, row_group_size=ROW_GROUP)


def to_table(records: Sequence[dict[str, Any]], names: Sequence[str]) -> pa.Table:
    """Make a table with one type a column; a column of mixed kinds becomes text.

    Args:
        records: one dictionary a row; a missing value is null.
        names: the columns, in order.
    """
    import pyarrow as pa

    arrays = [_array(name, [record.get(name) for record in records]) for name in names]
    return pa.table(arrays, names=list(names))


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


def _without_answer(entry: dict[str, Any]) -> dict[str, Any]:
    options = [{"key": option["key"], "answer": option["answer"]} for option in entry["options"]]
    public = {name: value for name, value in entry.items() if name != "explanation"}
    return public | {"options": options, "correct_answer": None}
