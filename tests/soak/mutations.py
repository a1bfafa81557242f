"""Ways to damage a file: of its bytes, of its text, of each value in it."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

Damage = Callable[[bytes, Random], bytes]

DEPTH = 30_000
DIGITS = 5_000
CELL = 200_000
COLUMNS = 5_000

TOKENS = (
    "NaN", "Infinity", "-Infinity", "1e999", "-1", "0", "1", "2", "1e308", "1e-320", "-0.0", "0.5", "1.5",
    "9" * DIGITS, "-" + "9" * DIGITS, "9" * 19, "9223372036854775808", "1" + "0" * 400 + ".0",
    "[" * DEPTH, "[" * DEPTH + "]" * DEPTH, '{"a":' * DEPTH + "1" + "}" * DEPTH,
    "null", "true", "false", '""', '" "', '"x"', '"NaN"', '"inf"', '"-1"', '"1e999"', '"' + "9" * DIGITS + '"',
    "[]", "{}", "[[]]", "[null]", "[1]", '[""]', '["x","x"]', "[{}]", '{"":null}', '{"a":{"b":[1,{}]}}',
    r'"\ud800"', r'"a\udfffb"', r'"\u0000"', r'"\u001b[31m\u0007"', r'"\u202eabc"', r'"\n"', '"é\u0301"',
    '"' + "x" * CELL + '"', '"../../x"', '"/etc/passwd"', '"=1+1"', '"2026-13-45"', '"0000-00-00T00:00:00Z"',
    '"9999-12-31T23:59:59-14:00"', '"0001-01-01T00:00:00+14:00"', "tru", "'x'", "0x10", "1_000", "+1", ".5",
)  # fmt: skip
"""What may stand where a value stood, as JSON text; some is no JSON at all."""

CELLS = (
    "", " ", "x", "NaN", "nan", "inf", "-inf", "1e999", "-1", "0", "1", "2", "0.5", "1.5", "1e308", "1e-320", "1,5",
    "9" * DIGITS, "-" + "9" * DIGITS, "9" * 19, "1" + "0" * 400, "0." + "3" * 400, "1e-9999999", "1e9999999", "٣",
    "²", "½", "true", "no", "None", "null", "[]", "{}", "[" * DEPTH, '"' * 3, "a;b;;", ";", "\n", "\r", "\t",
    "\x00", "\x1b[31m", "\u202eabc", "\ufeff", "é\u0301", "x" * CELL, "../../x", "=1+1", "2026-13-45",
    "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "sNaN", "NaN123", "-0", "1_000", "+1", "0x10",
)  # fmt: skip
"""What may stand in a cell of a table."""


def truncate(raw: bytes, rng: Random) -> bytes:
    return raw[: rng.randrange(len(raw) + 1)]


def flip_byte(raw: bytes, rng: Random) -> bytes:
    damaged = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 8, 64)) if raw else 0):
        damaged[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def insert_bytes(raw: bytes, rng: Random) -> bytes:
    place = rng.randrange(len(raw) + 1)
    more = rng.choice((b"\0", b"\xff", b"\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x1a", rng.randbytes(9)))
    return raw[:place] + more + raw[place:]


def empty(raw: bytes, rng: Random) -> bytes:
    return rng.choice((b"", b"\n", b" \n \n", b"\0" * 64, b"\xef\xbb\xbf", b"\xff\xfe"))


def cut_out(raw: bytes, rng: Random) -> bytes:
    first, last = sorted(rng.randrange(len(raw) + 1) for _ in "ab")
    return raw[:first] + raw[last:]


def repeat(raw: bytes, rng: Random) -> bytes:
    return raw + raw


def recode(raw: bytes, rng: Random) -> bytes:
    text = raw.decode("utf-8", "replace") + "é"
    codec = rng.choice(("utf-16", "utf-16-le", "utf-8-sig", "latin-1", "utf-32", "utf-7"))
    return text.encode(codec, "replace")


def change_line(raw: bytes, rng: Random) -> bytes:
    lines = raw.split(b"\n")
    place = rng.randrange(len(lines))
    kind = rng.randrange(5)
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(place, lines[place])
    elif kind == 2:
        lines.insert(rng.randrange(len(lines)), lines.pop(place))
    elif kind == 3:
        lines[place] = rng.choice(TOKENS).encode("utf-8", "surrogatepass")
    else:
        lines = lines[:place]
    return b"\n".join(lines)


def change_ends(raw: bytes, rng: Random) -> bytes:
    return raw.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\xe2\x80\xa8", b"\x0b\n", b"")))


MARKED = "\ue000value\ue001"


def change_value(raw: bytes, rng: Random) -> bytes:
    """Put another token in place of one value of a JSON document or of one JSON line."""
    return _in_json(raw, rng, lambda place, rng: _replace(place, rng.choice(TOKENS)))


def change_key(raw: bytes, rng: Random) -> bytes:
    """Leave out, rename, add or repeat one member of an object."""
    return _in_json(raw, rng, _change_member)


Place = tuple[Any, Any]
"""A list or object, and the index or key of one value in it."""


def _in_json(raw: bytes, rng: Random, change: Callable[[Place, Random], str]) -> bytes:
    text = raw.decode("utf-8", "replace")
    try:
        whole = [text, json.loads(text)]
        before, after = "", ""
    except ValueError:
        lines = text.split("\n")
        chosen = rng.randrange(len(lines))
        try:
            whole = [lines[chosen], json.loads(lines[chosen])]
        except ValueError:
            return change_line(raw, rng)
        before = "".join(line + "\n" for line in lines[:chosen])
        after = "".join("\n" + line for line in lines[chosen + 1 :])
    root = [whole[1]]
    token = change(rng.choice(list(_places(root))), rng)
    written = json.dumps(root, ensure_ascii=False)[1:-1].replace(json.dumps(MARKED, ensure_ascii=False), token)
    return (before + written + after).encode("utf-8", "surrogatepass")


def _places(value: Any) -> Iterator[Place]:
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in list(members):
        yield value, key
        if isinstance(member, dict | list):
            yield from _places(member)


def _replace(place: Place, token: str) -> str:
    place[0][place[1]] = MARKED
    return token


def _change_member(place: Place, rng: Random) -> str:
    parent, key = place
    if isinstance(parent, list):
        twice = [json.dumps(parent[key], ensure_ascii=False)] * 2
        return _replace(place, rng.choice((", ".join(twice), "null", "{}")))
    member = json.dumps(parent[key], ensure_ascii=False)
    kind = rng.randrange(4)
    if kind == 0:
        del parent[key]
        return ""
    if kind == 1:
        parent[f"{key}_"] = parent.pop(key)
        return ""
    if kind == 2:
        parent["unheard of"] = MARKED
        return rng.choice(TOKENS)
    other = rng.choice(("null", member, '"x"', "1"))
    return _replace(place, f"{member}, {json.dumps(key)}: {other}")


def change_cell(raw: bytes, rng: Random) -> bytes:
    """Put something else into one cell of a CSV file, or into its header."""
    rows = list(csv.reader(io.StringIO(raw.decode("utf-8", "replace"), newline="")))
    row = rng.choice(rows[1:] if len(rows) > 1 and rng.random() < 0.9 else rows)
    column = rng.randrange(len(row))
    row[column] = rng.choice(CELLS)
    return _write_csv(rows)


def change_columns(raw: bytes, rng: Random) -> bytes:
    """Leave out, repeat, rename or add a column; or very many."""
    rows = [row for row in csv.reader(io.StringIO(raw.decode("utf-8", "replace"), newline="")) if row]
    column = rng.randrange(len(rows[0]))
    kind = rng.randrange(5)
    for number, row in enumerate(rows):
        if kind == 0:
            del row[column : column + 1]
        elif kind == 1:
            row.append(row[column] if column < len(row) else "")
        elif kind == 2 and number == 0:
            row[column] = rng.choice((row[column] + "_", row[column].upper(), "", "\ufeff" + row[column]))
        elif kind == 3:
            row += [f"c{n}" for n in range(COLUMNS)]
        elif kind == 4 and number:
            row += ["x"] * rng.randrange(3)
    return _write_csv(rows)


def _write_csv(rows: list[list[str]]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode("utf-8", "surrogatepass")


def change_setting(raw: bytes, rng: Random) -> bytes:
    """Give one line of a TOML file another value or another key."""
    lines = raw.decode("utf-8", "replace").split("\n")
    place = rng.choice([n for n, line in enumerate(lines) if "=" in line] or [0])
    key = lines[place].partition("=")[0]
    lines[place] = rng.choice((f"{key}= {rng.choice(TOKENS)}", f"x{lines[place]}", f"{lines[place]}\n{lines[place]}"))
    return "\n".join(lines).encode("utf-8", "surrogatepass")


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
            archive.writestr(member, data)
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
                array.reshape(-1)[place] = rng.choice((np.nan, np.inf, -1, 2, 1e38, 0, -(2**31), 2**31 - 1, "", "x"))
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
    shape = rng.choice(("(999999999999,)", "(-1,)", "(1000000, 1000000)", "(3.5,)", "()", "(0, 999999999999999999)"))
    header = f"{{'descr': '{rng.choice(('<f4', '<f8', '<U9', '|O'))}', 'fortran_order': False, 'shape': {shape}, }}"
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
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(raw))
    name = rng.choice(table.column_names)
    place, count = table.column_names.index(name), table.num_rows
    values: Any = rng.choice((
        [None] * count, [1] * count, [b"\xff\xfe"] * count, [["x"]] * count, [{"a": None}] * count, [1.5] * count,
        [float("nan")] * count, ["\x00"] * count, ["x" * CELL] * count, [True] * count, [2**63 - 1] * count,
    ))  # fmt: skip
    changed = rng.choice((
        lambda: table.drop_columns([name]), lambda: table.set_column(place, name, [values]),
        lambda: table.append_column(name, table[name]), lambda: table.slice(0, 0), lambda: table.rename_columns(
            [f"{column}_" for column in table.column_names]), lambda: pa.table({}),
    ))()  # fmt: skip
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
        value = rng.choice((None, "", "x", -1, 2**62, 1.5, b"\xff\x00", "9" * DIGITS, "[" * DEPTH, "\x00", "NaN"))
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


BYTES: tuple[Damage, ...] = (truncate, flip_byte, insert_bytes, empty, cut_out, repeat)
TEXT: tuple[Damage, ...] = (truncate, flip_byte, insert_bytes, empty, cut_out, recode, change_line, change_ends)
JSON: tuple[Damage, ...] = (*TEXT, *(change_value,) * 16, *(change_key,) * 6)
CSV: tuple[Damage, ...] = (*TEXT, *(change_cell,) * 12, *(change_columns,) * 4)

BY_SUFFIX: Mapping[str, tuple[Damage, ...]] = {
    ".json": JSON,
    ".jsonl": JSON,
    ".csv": CSV,
    ".toml": (*TEXT, *(change_setting,) * 12),
    ".npz": (*BYTES, *(change_member,) * 10),
    ".parquet": (*BYTES, *(change_table,) * 6),
    ".db": (*BYTES, *(change_row,) * 10),
}


def damages(name: str) -> tuple[Damage, ...]:
    """List the ways to damage a file of this name."""
    return BY_SUFFIX.get(Path(name).suffix, TEXT)
