"""A foreign file as rows of plain values, before anyone asks what the columns mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from kina_build.items.reject import Reject


@dataclass(frozen=True)
class RawRow:
    """One row and where it starts."""

    line: int
    values: Mapping[str, Any]


@dataclass(frozen=True)
class RawFile:
    """Rows, the ones that could not be read, and how the file was read."""

    name: str
    rows: tuple[RawRow, ...]
    rejects: tuple[Reject, ...]
    detected: Mapping[str, Any]
    """format, encoding, delimiter, header: what was found or was told."""
    shared: Mapping[str, Any] = field(default_factory=dict)
    """Values that stand once in the file and belong to every row (a canary, a licence)."""

    @cached_property
    def columns(self) -> list[str]:
        """Return the names of all columns, in order of first appearance."""
        return list(dict.fromkeys(column for row in self.rows for column in row.values))


WRAPPERS = ("data", "item", "sample", "row")
"""Keys under which labelling platforms wrap a whole record."""


def unwrap(file: RawFile) -> RawFile:
    """Lift the records out of rows that only wrap them: {"id": 1, "data": {"question": ...}}."""
    for wrapper in WRAPPERS:
        if file.rows and all(isinstance(row.values.get(wrapper), Mapping) for row in file.rows):
            rows = tuple(RawRow(row.line, _lift(row.values, wrapper)) for row in file.rows)
            return replace(file, rows=rows)
    return file


def _lift(values: Mapping[str, Any], wrapper: str) -> Mapping[str, Any]:
    return {name: value for name, value in values.items() if name != wrapper} | dict(values[wrapper])


def look_up(values: Mapping[str, Any], path: str) -> Any:
    """Return a row's value by column name or dotted path ("mc1_targets.choices"); None if absent."""
    if path in values:
        return values[path]
    found: Any = values
    for step in path.split("."):
        if not isinstance(found, Mapping) or step not in found:
            return None
        found = found[step]
    return found
