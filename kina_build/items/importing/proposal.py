"""What a file of unknown columns may hold: one `--map` line, computed from its rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from kina_build.items.importing.columns import Columns
from kina_build.items.importing.rawfile import RawFile, RawRow, look_up
from kina_build.items.model import LETTERS
from kina_build.items.text import fold_option

LOOKED_AT = 200
"""Rows that a proposal is computed from."""

LONG_TEXT = 60
"""Mean characters from which on a column is a text that someone may miss."""


def find_unread(file: RawFile, columns: Columns) -> list[str]:
    """Name the columns of long texts that no field of the items takes; they stand in the metadata."""
    rows = file.rows[:LOOKED_AT]
    given = {
        name: [row.values[name] for row in rows if isinstance(row.values.get(name), str)]
        for name in file.columns
    }
    return [
        name
        for name, texts in given.items()
        if name not in columns.taken and texts and mean(map(len, texts)) >= LONG_TEXT
    ]


def propose_map(file: RawFile) -> str:
    """Propose what to write behind `kina import FILE`; empty where the rows suggest nothing.

    The longest text is the question; options are one list, or the columns next to each other
    among whose texts, letters or places the values of another column are found in every row.
    """
    rows = file.rows[:LOOKED_AT]
    if not rows:
        return ""
    cells = {path: [look_up(row.values, path) for row in rows] for path in _paths(rows)}
    question = _longest(cells)
    options = _find_options(cells, question)
    key = _find_key(cells, options, question) if options else None
    if question is None or not options or key is None:
        return ""
    told = {"question": question, "options": ",".join(options), "correct_answer": key}
    return " ".join(f"--map {_quoted(f'{name}={column}')}" for name, column in told.items())


def _paths(rows: Sequence[RawRow]) -> list[str]:
    """List columns, and one level of dotted paths into those that hold objects."""
    found: dict[str, None] = {}
    for row in rows:
        for name, value in row.values.items():
            inner = [f"{name}.{key}" for key in value] if isinstance(value, Mapping) else [name]
            found.update(dict.fromkeys(inner))
    return list(found)


def _longest(cells: Mapping[str, Sequence[Any]]) -> str | None:
    """Return the column of the longest texts that differ from row to row."""
    lengths = {
        name: mean(map(len, texts))
        for name, texts in cells.items()
        if all(isinstance(one, str) and one.strip() for one in texts) and 2 * len(set(texts)) > len(texts)
    }
    asking = {name: n for name, n in lengths.items() if _asks(cells[name])}
    best = asking or lengths
    return max(best, key=lambda name: best[name]) if best else None


def _asks(texts: Sequence[str]) -> bool:
    """Tell whether most texts end as questions do."""
    return 2 * sum(text.rstrip().endswith(("?", "？", ":", "____", "؟")) for text in texts) > len(texts)


def _find_options(cells: Mapping[str, Sequence[Any]], question: str | None) -> list[str]:
    lists = [
        name for name, values in cells.items() if all(isinstance(v, list) and len(v) > 1 for v in values)
    ]
    if lists:
        return lists[:1]
    groups: dict[str, list[str]] = {}
    for name, values in cells.items():
        stem = re.sub(r"(?<![A-Za-z])[A-Za-z]$|\d+$", "", name)
        if name not in {question, stem} and all(isinstance(v, str | int | float) for v in values):
            groups.setdefault(stem, []).append(name)
    best = max(groups.values(), key=len, default=[])
    return best if 1 < len(best) <= len(LETTERS) else []


def _find_key(cells: Mapping[str, Sequence[Any]], options: Sequence[str], question: str | None) -> str | None:
    """Return the one column whose every value is a letter, a place or a text of its row's options."""
    rows = range(len(cells[options[0]]))
    texts = [
        cells[options[0]][n] if len(options) == 1 else [cells[column][n] for column in options] for n in rows
    ]
    fitting = [
        name
        for name, values in cells.items()
        if name != question
        and name not in options
        and all(_names(values[n], texts[n], options) for n in rows)
    ]
    varied = [name for name in fitting if len(set(map(str, cells[name]))) > 1] or fitting
    return varied[0] if len(varied) == 1 else None


def _names(value: Any, texts: Sequence[Any], columns: Sequence[str] = ()) -> bool:
    """Tell whether a value may name one of some options, also by its column."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return False
    said = str(value).strip()
    marks = {*LETTERS[: len(texts)], *LETTERS[: len(texts)].lower(), *map(str, range(len(texts) + 1))}
    return said in marks or said in columns or fold_option(said) in {fold_option(str(text)) for text in texts}


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w.,=-]+", text) else "'" + text.replace("'", "'\\''") + "'"
