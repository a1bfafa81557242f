"""The page of kina.toml's project: its tables, made from the records that check them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from docs.generate.markdown import cell, code, page, table
from kina_build.project.table import ProjectTable, ReviewBatch
from kina_build.schemas import notes_of

INTRO = """`kina init` writes these tables and `kina build` follows them. Names and globs are seen from the folder of
`kina.toml`; unknown keys are errors. Other tables are [settings](settings.md), which a project carries in
the same file.
"""
BATCH = """Beside these, every option of [kina review settle](cli/review-money.md) can stand here under its own name with
`_` for `-`, such as `base`, `bonus`, `bar`, `tie`, `deadline`, `scores` and `seed`.
"""


def pages() -> dict[str, str]:
    """Make the page."""
    parts = [INTRO, *_tables("project", ProjectTable, repeated=False)]
    parts += ["## [review.batch]\n", BATCH, _fields(ReviewBatch, own=True)]
    return {"project.md": page("The project in kina.toml", *parts)}


def _tables(name: str, kind: type[BaseModel], *, repeated: bool) -> Iterator[str]:
    heading = f"[[{name}]]" if repeated else f"[{name}]"
    yield f"## {heading}\n"
    yield (kind.__doc__ or "").partition(":")[0].strip().rstrip(".") + ".\n"
    plain = _fields(kind)
    if plain:
        yield plain
    for field, inner, several in _inner(kind):
        yield from _tables(f"{name}.{field}", inner, repeated=several)


def _inner(kind: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel], bool]]:
    """Yield the fields that are tables of their own."""
    for field, info in kind.model_fields.items():
        for one in (info.annotation, *get_args(info.annotation)):
            if isinstance(one, type) and issubclass(one, BaseModel):
                yield field, one, get_origin(info.annotation) is tuple


def _fields(kind: type[BaseModel], *, own: bool = False) -> str:
    """Write the fields that are values."""
    notes, tables = notes_of(kind), {field for field, _, _ in _inner(kind)}
    names = kind.__annotations__ if own else kind.model_fields
    rows = [
        [code(name), _default(kind.model_fields[name]), cell(notes.get(name, ""))]
        for name in names
        if name not in tables
    ]
    return table(["key", "default", "meaning"], rows) if rows else ""


def _default(info: Any) -> str:
    if info.is_required():
        return "must be there"
    value = info.get_default(call_default_factory=True)
    if value is None or value in ((), {}, ""):
        return "none"
    return code(str(value).lower() if isinstance(value, bool) else value)
