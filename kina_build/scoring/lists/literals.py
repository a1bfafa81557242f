"""Names in the notation of a program: JSON, Python literals, also cut off or inside other text."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Sequence
from itertools import islice
from typing import Any

from kina_build.chat.objects import written

LONGEST_LITERAL = 200_000
"""Characters of a literal that is read as Python."""

MOST_STARTS = 50
"""Brackets that are tried as the start of a literal."""

DEEPEST = 20
"""Brackets inside brackets that are read as Python."""

_START = re.compile(r"[\[{(](?=\s*(?:[\"'“\[{\d-]|$))|[\[{](?=\s*[\]}])(?! \]\s*\w)")
_RANKS = frozenset(
    {"no", "no.", "nr", "n", "#", "rank", "id", "number", "index", "position", "order", "num", "序号", "编号"}
)
_WHOLE_STRING = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'")
_NUMERIC = re.compile(r"[+-]?\d+(?:\.\d+)?")


def read_literal(text: str) -> list[str] | None:
    """List the names of the first list, tuple, set or mapping in a text; None where there is none.

    Of objects the first field counts that is no rank; of a mapping of ranks its values, of a
    mapping of lists their members. A list that breaks off gives the texts that are complete.
    """
    for start in _starts(text):
        value = _decoded(text, start)
        if value is not None:
            names = _names(value)
            return None if names is None else names
    return _cut_off(text)


def _starts(text: str) -> list[int]:
    places = (match.start() for match in _START.finditer(text))
    return list(islice((place for place in places if _before(text, place) not in ("]", "\\")), MOST_STARTS))


def _before(text: str, place: int) -> str:
    """Return the sign before a place, blanks aside."""
    while place and text[place - 1].isspace():
        place -= 1
    return text[place - 1 : place]


def _decoded(text: str, start: int) -> Any:
    try:
        value, end = json.JSONDecoder(strict=False, parse_float=str, parse_int=str).raw_decode(text, start)
    except (ValueError, RecursionError):
        return _python(text, start)
    rest = text[end : end + 1]
    return None if rest == "(" else value  # a link in Markdown


def _python(text: str, start: int) -> Any:
    closer = {"[": "]", "{": "}", "(": ")"}[text[start]]
    end = text.rfind(closer, start, start + LONGEST_LITERAL)
    part = text[start : end + 1]
    if end < 0 or sum(part.count(sign) for sign in "[{(") > DEEPEST + part.count(","):
        return None
    try:
        with warnings.catch_warnings():  # a reply's "3and" is no matter for whoever scores it
            warnings.simplefilter("ignore")
            value = ast.literal_eval(part)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None
    return value if isinstance(value, list | tuple | set | dict) else None


def _names(value: Any) -> list[str] | None:
    if isinstance(value, dict):
        return _of_mapping(value)
    if isinstance(value, set):
        value = sorted(value, key=str)
    if not isinstance(value, list | tuple):
        return None
    if value and all(isinstance(one, dict) for one in value):
        return _of_rows(value)
    if value and all(isinstance(one, list | tuple) and one for one in value):
        return [_text(one[0]) for one in value]
    return [_text(one) for one in value]


def _of_rows(rows: Sequence[dict[Any, Any]]) -> list[str]:
    """Return the first field of each row that holds names rather than ranks."""
    for field in rows[0]:
        cells = [row.get(field) for row in rows]
        named = all(isinstance(cell, str) and not _NUMERIC.fullmatch(cell) for cell in cells)
        if named and str(field).strip().casefold() not in _RANKS:
            return [_text(cell) for cell in cells]
    return [_text(next(iter(row.values()), "")) for row in rows]


def _of_mapping(value: dict[Any, Any]) -> list[str] | None:
    lists = [part for part in value.values() if isinstance(part, list | tuple)]
    if lists:
        names = [_names(part) or [] for part in lists]
        return [name for part in names for name in part]
    inner = [part for part in value.values() if isinstance(part, dict)]
    if inner and len(inner) == len(value) == 1:
        return _of_mapping(inner[0])
    if value and all(_NUMERIC.fullmatch(str(key)) for key in value):
        return [_text(part) for part in value.values()]
    return [_text(key) for key in value] if len(value) > 1 else None


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return written(next(iter(value.values()), ""))
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        return written(value)


def _cut_off(text: str) -> list[str] | None:
    """Return the complete texts of a JSON list that breaks off."""
    stripped = text.strip()
    if not re.match(r"\[\s*[\"']", stripped) or stripped.endswith("]"):
        return None
    return [match[1] if match[1] is not None else match[2] for match in _WHOLE_STRING.finditer(stripped)]
