"""A label of each item, such as its stratum: rows of a table, or a Parquet file of any size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.rows.kinds import reading_columns
from kina_build.rows.tables import read_table
from kina_build.support.levels import Encoded, Ids, Indices, encode_ids, position_of

COLUMNAR = ".parquet"
BATCH_ROWS = 100_000


class Labels(Mapping[str, str]):
    """Item to label in two columns: what a dictionary holds, for many more items."""

    def __init__(self, ids: Encoded, codes: NDArray[np.int32], names: Sequence[str]) -> None:
        """Take the columns.

        Args:
            ids: rising.
            codes: position of each item's label in `names`.
            names: labels.
        """
        self.ids = Ids(ids)
        self.codes = codes
        self.names = tuple(names)

    def __getitem__(self, item_id: str) -> str:
        at = position_of(self.ids, item_id)
        if at is None:
            raise KeyError(item_id)
        return self.names[int(self.codes[at])]

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def codes_of(self, item_ids: Ids) -> Indices:
        """Return the code of each of some items, -1 where it has no label."""
        if not len(self.ids):
            return np.full(len(item_ids), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.ids.encoded, item_ids.encoded), len(self.ids) - 1)
        return np.where(self.ids.encoded[at] == item_ids.encoded, self.codes[at], -1).astype(np.int64)


def code_items(labels: Mapping[str, str] | None, item_ids: Sequence[str]) -> tuple[tuple[str, ...], Indices]:
    """Return the labels that some items have, sorted, and each item's position among them; -1 for none.

    Without labels, all items have the label "".
    """
    if labels is None:
        return ("",), np.zeros(len(item_ids), dtype=np.int64)
    if isinstance(labels, Labels):
        column = item_ids if isinstance(item_ids, Ids) else Ids(encode_ids(item_ids))
        names, codes = labels.names, labels.codes_of(column)
    else:
        names = tuple({name for item_id in item_ids if (name := labels.get(item_id)) is not None})
        place = {name: code for code, name in enumerate(names)}
        found = (place.get(labels.get(item_id, None), -1) for item_id in item_ids)  # type: ignore[arg-type]
        codes = np.fromiter(found, dtype=np.int64, count=len(item_ids))
    return _sorted(names, codes)


def _sorted(names: Sequence[str], codes: Indices) -> tuple[tuple[str, ...], Indices]:
    met = np.bincount(codes + 1, minlength=len(names) + 1)[1:] > 0
    order = sorted(np.flatnonzero(met).tolist(), key=names.__getitem__)
    place = np.full(len(names) + 1, -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    return tuple(names[code] for code in order), place[codes]


def read_labels(path: Path, *names: str) -> Mapping[str, str]:
    """Read a label of each item: of some fields, the first that its row fills.

    Args:
        path: rows of item_id and the label, or a pool; a .parquet file is read column by column.
        names: field names in order of preference, such as "stratum", "subfield", "field".

    Raises:
        InputError: no rows, or a .parquet file without the columns, with gaps or with two labels of an item.
        RowErrors: rows without item_id or without any of the fields, or an item with two labels.
    """
    if path.suffix.lower() == COLUMNAR:
        return _read_columns(path, names)
    rows = read_table(path)
    if not rows:
        raise InputError(f"{path}: no rows below the header")
    labels: dict[str, str] = {}
    faults: list[RowFault] = []
    for row in rows:
        item_id = str(row.values.get("item_id") or "").strip()
        label = next((text for name in names if (text := str(row.values.get(name) or "").strip())), "")
        if not item_id or not label:
            lacking = " or ".join(names) if item_id else "item_id"
            faults.append(RowFault(str(path), row.line, f"{lacking}: missing"))
        elif labels.setdefault(item_id, label) != label:
            faults.append(
                RowFault(str(path), row.line, f"{item_id!r} has two labels: {labels[item_id]!r} before")
            )
    if faults:
        raise RowErrors(faults, hint=f"needed columns: item_id, {names[0]}; --by names another field")
    return labels


def _read_columns(path: Path, names: Sequence[str]) -> Labels:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with reading_columns(str(path), "Parquet"):
        file = pq.ParquetFile(path)
        column = next((name for name in names if name in file.schema_arrow.names), None)
        if column is None or "item_id" not in file.schema_arrow.names:
            raise InputError(
                f"{path}: needed columns: item_id and {' or '.join(names)}",
                hint="--by names another field",
            )
        place: dict[str, int] = {}
        ids, codes, row = [], [], 0
        for batch in file.iter_batches(BATCH_ROWS, columns=["item_id", column]):
            found = batch.column(0).cast(pa.binary()).to_pylist()
            if pa.types.is_floating(batch.column(1).type) and pc.any(batch.column(1).is_nan()).as_py():
                raise InputError(f"{path}: column {column} holds NaN, which is no label")
            labels = batch.column(1).cast(pa.string()).to_pylist()
            if None in found or None in labels:
                gap = next(at for at, pair in enumerate(zip(found, labels, strict=True)) if None in pair)
                raise InputError(f"{path}: row {row + gap + 1}: item_id or {column} is missing")
            ids.append(np.array(found, dtype=np.bytes_))
            codes.append(np.array([place.setdefault(label, len(place)) for label in labels], dtype=np.int32))
            row += len(found)
    if not row:
        raise InputError(f"{path}: no rows")
    return _in_order(path, np.concatenate(ids), np.concatenate(codes), list(place))


def _in_order(path: Path, ids: Encoded, codes: NDArray[np.int32], names: list[str]) -> Labels:
    if not (ids[1:] > ids[:-1]).all():
        order = np.argsort(ids, kind="stable")
        ids, codes = ids[order], codes[order]
        same = ids[1:] == ids[:-1]
        torn = np.flatnonzero(same & (codes[1:] != codes[:-1]))
        if len(torn):
            raise InputError(f"{path}: {ids[torn[0]].decode(errors='replace')!r} has two labels")
        kept = np.concatenate([[True], ~same])
        ids, codes = ids[kept], codes[kept]
    return Labels(ids, codes, names)


LEVELS = ("subfield", "field", "discipline")
"""Taxonomy, fine to coarse: an item without a subfield counts under its field."""


def levels(column: str, field: str) -> list[str]:
    """Return the fields that may name a label, the column first, then the field and what is coarser."""
    coarser = LEVELS[LEVELS.index(field) :] if field in LEVELS else (field,)
    return [column, *coarser]
