"""Ways to damage what an npz, parquet or SQLite file holds, so that it can still be opened."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.soak.bytewise import empty, flip_byte, truncate

DIGITS = 5_000
DEPTH = 30_000
CELL = 200_000
"""Sizes of what no file of kina's holds: digits of a number, brackets, characters of a text."""


def change_member(raw: bytes, rng: Random) -> bytes:
    """Change one array of an npz file: its kind, shape, values, name, header or length."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except zipfile.BadZipFile:
        return flip_byte(raw, rng)
    name = rng.choice(sorted(members))
    changed = rng.choice(ARRAY_CHANGES)(members.pop(name), rng)
    for new, data in changed.items():
        members[name if new == "" else new] = data
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for member, data in members.items():
            # a ZipInfo of its own holds no clock: a seed stands for one damage
            archive.writestr(zipfile.ZipInfo(member), data, compress_type=archive.compression)
    return out.getvalue()


def _recast(raw: bytes, rng: Random) -> Mapping[str, bytes]:
    array = np.load(io.BytesIO(raw))
    kinds = ("f2", "f8", "i1", "i8", "u8", "U3", "S3", "O", "c16", "?", "M8[s]", ">f4", "V4", "f4")
    with np.errstate(all="ignore"):
        try:
            return {"": _npy(array.astype(rng.choice(kinds)))}
        except (ValueError, TypeError):
            return {"": _npy(np.zeros(array.shape, rng.choice(kinds)))}


def _reshape(raw: bytes, rng: Random) -> Mapping[str, bytes]:
    array = np.atleast_1d(np.load(io.BytesIO(raw)))
    flat = array.reshape(-1)
    others = (flat, flat[:-1], flat[:0], flat[0], array[None], array[..., None], array[:1], array.T)
    return {"": _npy(rng.choice((*others, np.concatenate([array, array]))))}


def _revalue(raw: bytes, rng: Random) -> Mapping[str, bytes]:
    array = np.array(np.load(io.BytesIO(raw)))
    if array.size:
        place = rng.randrange(array.size)
        with np.errstate(all="ignore"):
            try:
                array.reshape(-1)[place] = rng.choice(
                    (np.nan, np.inf, -1, 2, 1e38, 0, -(2**31), 2**31 - 1, "", "x")
                )
            except (ValueError, OverflowError):
                array.reshape(-1)[:] = array.reshape(-1)[0]
    return {"": _npy(array)}


def _rename(raw: bytes, rng: Random) -> Mapping[str, bytes]:
    return {rng.choice(("x.npy", "x", "../x.npy", "dir/")): raw}


def _remove(raw: bytes, rng: Random) -> Mapping[str, bytes]:
    return {}


def _add(raw: bytes, rng: Random) -> Mapping[str, bytes]:
    return {"": raw, "more.npy": rng.choice((raw, b"", _npy(np.zeros(3))))}


def _claim(raw: bytes, rng: Random) -> Mapping[str, bytes]:
    """Claim a huge or impossible shape in the header."""
    shape = rng.choice(
        ("(999999999999,)", "(-1,)", "(1000000, 1000000)", "(3.5,)", "()", "(0, 999999999999999999)")
    )
    kind = rng.choice(("<f4", "<f8", "<U9", "|O"))
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    padded = header.encode().ljust(117) + b"\n"
    return {"": b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + raw[128:]}


def _spoil(raw: bytes, rng: Random) -> Mapping[str, bytes]:
    return {"": rng.choice((truncate, flip_byte, empty))(raw, rng)}


ARRAY_CHANGES = (_recast, _recast, _reshape, _revalue, _revalue, _rename, _remove, _add, _claim, _spoil)


def _npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, np.asarray(array), allow_pickle=True)
    return out.getvalue()


def change_table(raw: bytes, rng: Random) -> bytes:
    """Change a parquet file's columns: leave out, cast, nest, empty, null."""
    table = pq.read_table(io.BytesIO(raw))
    name = rng.choice(table.column_names)
    place, count = table.column_names.index(name), table.num_rows
    values: Any = rng.choice((
        [None] * count, [1] * count, [b"\xff\xfe"] * count, [["x"]] * count, [{"a": None}] * count,
        [1.5] * count, [float("nan")] * count, ["\x00"] * count, ["x" * CELL] * count, [True] * count,
        [2**63 - 1] * count,
    ))  # fmt: skip
    changes: tuple[Callable[[], pa.Table], ...] = (
        lambda: table.drop_columns([name]),
        lambda: table.set_column(place, name, [values]),
        lambda: table.append_column(name, table[name]),
        lambda: table.slice(0, 0),
        lambda: table.rename_columns([f"{column}_" for column in table.column_names]),
        lambda: pa.table({}),
    )
    changed = rng.choice(changes)()
    out = io.BytesIO()
    pq.write_table(changed, out)
    return out.getvalue()


def change_row(raw: bytes, rng: Random) -> bytes:
    """Change one cell, row or table of an SQLite file."""
    base = sqlite3.connect(":memory:")
    try:
        base.deserialize(raw)
        tables = [name for (name,) in base.execute("select name from sqlite_master where type = 'table'")]
        table = rng.choice([name for name in tables if not name.startswith("sqlite_")])
        column = rng.choice([row[1] for row in base.execute(f'pragma table_info("{table}")')])
        _forget_triggers(base)
        value = rng.choice(
            (None, "", "x", -1, 2**62, 1.5, b"\xff\x00", "9" * DIGITS, "[" * DEPTH, "\x00", "NaN")
        )
        where = f'rowid = (select rowid from "{table}" order by random() limit 1)'
        statement, given = rng.choice((
            (f'update "{table}" set "{column}" = ? where {where}', (value,)),
            (f'update "{table}" set "{column}" = ?', (value,)),
            (f'delete from "{table}" where {where}', ()), (f'delete from "{table}"', ()),
            (f'drop table "{table}"', ()), (f'alter table "{table}" rename column "{column}" to other', ()),
            ("pragma user_version = 99", ()), ("pragma application_id = 99", ()),
        ))  # fmt: skip
        base.execute(statement.replace("random()", "rowid desc" if rng.random() < 0.5 else "rowid"), given)
        base.commit()
        return base.serialize()
    except sqlite3.Error:
        return flip_byte(raw, rng)
    finally:
        base.close()


def _forget_triggers(base: sqlite3.Connection) -> None:
    for (name,) in list(base.execute("select name from sqlite_master where type = 'trigger'")):
        base.execute(f'drop trigger "{name}"')
