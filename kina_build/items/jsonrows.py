"""Rows of JSON Lines and JSON documents, each with its line, and nothing lost on the way."""

from __future__ import annotations

import json
from typing import Any

from kina_build.errors import InputError
from kina_build.items.decoding import Decoded
from kina_build.items.rawfile import RawFile, RawRow
from kina_build.items.reject import Reject, RowRefused
from kina_build.rows import strict
from kina_build.rows.source import limits
from kina_build.rows.strict import lines_of, skip_blanks

SPLITS = frozenset({"train", "training", "test", "dev", "val", "valid", "validation", "eval"})
"""Keys under which one file holds the rows of several splits."""


def read_jsonl(decoded: Decoded, name: str) -> RawFile:
    """Read one object a line; lines that are none are rejected, each by itself."""
    rows: list[RawRow] = []
    rejects: list[Reject] = []
    for line, text in enumerate(decoded.text.split("\n"), start=1):
        if not text.strip():
            continue
        try:
            rows.append(RawRow(line, _as_object(parse_json(text))))
        except RowRefused as fault:
            rejects.append(fault.at(name, line))
    return RawFile(name, tuple(rows), tuple(rejects), {"format": "jsonl", "encoding": decoded.encoding})


def read_json(decoded: Decoded, name: str) -> RawFile:
    """Read a JSON document: a list of objects, or an object that holds one such list.

    The other values of such an object belong to every row. An object of objects is read
    as rows whose ids are its keys.

    Raises:
        InputError: malformed JSON (with line and column), or no list of objects in it.
    """
    text = decoded.text
    try:
        document = parse_json(text)
    except RowRefused as fault:
        raise InputError(f"{name}:{fault.evidence.get('line', 1)}: {fault.reason}: {fault.message}") from None
    elements, shared, begin = _find_rows(document, text, name)
    rows: list[RawRow] = []
    rejects: list[Reject] = []
    for line, element in zip(lines_of(text, begin, len(elements)), elements, strict=True):
        try:
            rows.append(RawRow(line, _as_object(element)))
        except RowRefused as fault:
            rejects.append(fault.at(name, line))
    detected = {"format": "json", "encoding": decoded.encoding}
    return RawFile(name, tuple(rows), tuple(rejects), detected, shared)


def parse_json(text: str) -> Any:
    """Parse JSON strictly, as `rows.strict` does.

    Raises:
        RowRefused: with the reason's word, and the line and column within `text`.
    """
    try:
        return strict.parse_json(text, limits())
    except strict.JsonFault as fault:
        raise RowRefused(fault.reason, fault.message, line=fault.line, column=fault.column) from None


def _as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RowRefused("json_not_object", "not a JSON object")
    return value


def _find_rows(document: Any, text: str, name: str) -> tuple[list[Any], dict[str, Any], int]:
    """Return the rows, what they share, and where in the text the list begins (-1: not a list)."""
    if isinstance(document, list):
        return document, {}, text.index("[")
    if not isinstance(document, dict):
        raise InputError(f"{name}: not a list of questions", hint="a JSON file holds a list of objects")
    lists = [key for key, value in document.items() if _holds_objects(value)]
    if len(lists) == 1:
        shared = {key: value for key, value in document.items() if key != lists[0]}
        return document[lists[0]], shared, _begin_of(text, lists[0])
    if len(lists) > 1 and SPLITS.issuperset(document):
        return [{**row, "split": row.get("split", key)} for key in lists for row in document[key]], {}, -1
    if len(lists) > 1:
        raise InputError(f"{name}: more than one list of objects: {', '.join(lists)}", hint="split the file")
    if document and all(isinstance(value, dict) for value in document.values()):
        return [{"id": key} | value for key, value in document.items()], {}, -1
    return [document], {}, -1


def _holds_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(element, dict) for element in value)


def _begin_of(text: str, wanted: str) -> int:
    """Return where the value of a top-level key begins."""
    decoder = json.JSONDecoder()
    at = text.index("{") + 1
    while True:
        key, at = decoder.raw_decode(text, skip_blanks(text, at))
        at = skip_blanks(text, skip_blanks(text, at) + 1)
        if key == wanted:
            return at
        _, at = decoder.raw_decode(text, at)
        at = skip_blanks(text, at) + 1
