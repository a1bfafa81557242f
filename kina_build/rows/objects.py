"""JSON objects of a text, each with its line: JSON Lines, one array, or one object over several lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kina_build.errors import RowFault
from kina_build.rows.source import limits
from kina_build.rows.strict import JsonFault, lines_of, parse_json


def parse_objects(text: str, name: str, faults: list[RowFault]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of JSON Lines, of an array, or of one object; the text tells which."""
    start = text.lstrip()[:1]
    if start == "[":
        return _parse_array(text, name, faults)
    # only "\n" ends a JSON line: splitlines() would also cut at U+0085 and U+2028 inside strings
    lines = text.split("\n")
    if start == "{" and (one := _parse_lone(text, lines)) is not None:
        return iter([one])
    return parse_lines(lines, name, faults)


def parse_lines(
    lines: Iterable[str], name: str, faults: list[RowFault]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) for each non-blank line; lines that hold no object go to `faults`."""
    for line, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            row = parse_json(text, limits())
        except JsonFault as error:
            faults.append(RowFault(name, line, error.message))
            continue
        if isinstance(row, dict):
            yield line, row
        else:
            faults.append(RowFault(name, line, "not a JSON object"))


def _parse_array(text: str, name: str, faults: list[RowFault]) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        elements = parse_json(text, limits())
    except JsonFault as error:
        faults.append(RowFault(name, error.line, error.message))
        return
    for line, row in zip(lines_of(text, text.index("["), len(elements)), elements, strict=True):
        if isinstance(row, dict):
            yield line, row
        else:
            faults.append(RowFault(name, line, "not a JSON object"))


def _parse_lone(text: str, lines: Sequence[str]) -> tuple[int, dict[str, Any]] | None:
    """Return the one object of a text that spreads over several lines; None where its lines are objects."""
    first = next(at for at, line in enumerate(lines) if line.strip())
    try:
        parse_json(lines[first], limits())
    except JsonFault as torn:
        if torn.reason in WHOLE_FAULTS:
            return None
    else:
        return None
    try:
        return first + 1, parse_json(text, limits())
    except JsonFault:
        return None


WHOLE_FAULTS = frozenset({"json_too_deep", "json_repeated_key", "json_not_finite", "json_large_number"})
"""Faults of a line that is a value, so that the text is lines."""
