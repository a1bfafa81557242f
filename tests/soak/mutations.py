"""Ways to damage a file: of its bytes, of its text, of each value in it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from tests.soak.bytewise import BYTES, Damage, cut_out, empty, flip_byte, insert_bytes, truncate
from tests.soak.stores import CELL, DEPTH, DIGITS, change_member, change_row, change_table

COLUMNS = 5_000

TOKENS = (
    "NaN", "Infinity", "-Infinity", "1e999", "-1", "0", "1", "2", "1e308", "1e-320", "-0.0", "0.5", "1.5",
    "9" * DIGITS, "-" + "9" * DIGITS, "9" * 19, "9223372036854775808", "1" + "0" * 400 + ".0",
    "[" * DEPTH, "[" * DEPTH + "]" * DEPTH, '{"a":' * DEPTH + "1" + "}" * DEPTH,
    "null", "true", "false", '""', '" "', '"x"', '"NaN"', '"inf"', '"-1"', '"1e999"',
    '"' + "9" * DIGITS + '"', "[]", "{}", "[[]]", "[null]", "[1]", '[""]', '["x","x"]', "[{}]",
    '{"":null}', '{"a":{"b":[1,{}]}}',
    r'"\ud800"', r'"a\udfffb"', r'"\u0000"', r'"\u001b[31m\u0007"', r'"\u202eabc"', r'"\n"', '"é\u0301"',
    '"' + "x" * CELL + '"', '"../../x"', '"/etc/passwd"', '"=1+1"', '"2026-13-45"', '"0000-00-00T00:00:00Z"',
    '"9999-12-31T23:59:59-14:00"', '"0001-01-01T00:00:00+14:00"', "tru", "'x'", "0x10", "1_000", "+1", ".5",
)  # fmt: skip
"""What may stand where a value stood, as JSON text; some is no JSON at all."""

CELLS = (
    "", " ", "x", "NaN", "nan", "inf", "-inf", "1e999", "-1", "0", "1", "2", "0.5", "1.5", "1e308", "1e-320",
    "1,5", "9" * DIGITS, "-" + "9" * DIGITS, "9" * 19, "1" + "0" * 400, "0." + "3" * 400, "1e-9999999",
    "1e9999999", "٣", "²", "½", "true", "no", "None", "null", "[]", "{}", "[" * DEPTH, '"' * 3, "a;b;;", ";",
    "\n", "\r", "\t", "\x00", "\x1b[31m", "\u202eabc", "\ufeff", "é\u0301", "x" * CELL, "../../x", "=1+1",
    "2026-13-45", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00",
    "sNaN", "NaN123", "-0", "1_000", "+1", "0x10",
)  # fmt: skip
"""What may stand in a cell of a table."""


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
    ends = b"\n" if b"\n" in raw else b" "
    return raw.replace(ends, rng.choice((b"\r\n", b"\r", b"\n\n", b"\xe2\x80\xa8", b"\x0b\n", b"")))


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
    written = json.dumps(root, ensure_ascii=False)[1:-1].replace(
        json.dumps(MARKED, ensure_ascii=False), token
    )
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
    if kind == 0:
        name = rows[0][column]
        rows[0][column] = rng.choice((name + "_", name.upper(), "", "\ufeff" + name))
    for row in rows if kind else ():
        if kind == 1:
            del row[column : column + 1]
        elif kind == 2:
            row.append(row[column] if column < len(row) else "")
        elif kind == 3:
            row.extend(f"c{n}" for n in range(COLUMNS))
        elif row is not rows[0]:
            row.extend(["x"] * rng.randrange(3))
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
    lines[place] = rng.choice(
        (f"{key}= {rng.choice(TOKENS)}", f"x{lines[place]}", f"{lines[place]}\n{lines[place]}")
    )
    return "\n".join(lines).encode("utf-8", "surrogatepass")


TEXT: tuple[Damage, ...] = (
    truncate,
    flip_byte,
    insert_bytes,
    empty,
    cut_out,
    recode,
    change_line,
    change_ends,
)
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
