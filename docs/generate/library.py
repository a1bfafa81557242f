"""The page of the library: every name of `import kina_build`, from its signature and docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import kina_build
from docs.generate.markdown import cell, code, page, table
from kina_build.schemas import notes_of

SECTION = re.compile(r"^(Args|Returns|Raises|Yields):$", re.MULTILINE)
ENTRY = re.compile(r"^    (\w[\w.]*): (.*(?:\n {8,}.*)*)", re.MULTILINE)
INTRO = """These names stay through a major version, or are deprecated for a minor one first; what else the rooms hold may
move. Nothing heavy is loaded before a name is used. Expected failures are `kina_build.errors.KinaError`
and its kinds: one line, a hint, and the exit code that the command line would give. How the names work
together: [as a library](../library.md).
"""


def pages() -> dict[str, str]:
    """Make the page."""
    parts = [part for name in kina_build.__all__ for part in _section(name)]
    return {"library.md": page("Names of the library", INTRO, *parts)}


def _section(name: str) -> Iterator[str]:
    thing = getattr(kina_build, name)
    text = inspect.cleandoc(thing.__doc__ or "")
    about, *rest = SECTION.split(text)
    yield f"## {name}\n"
    yield f"```text\nkina_build.{name}({', '.join(_parameters(thing))})\n```\n"
    yield about.strip() + "\n"
    if isinstance(thing, type):
        notes = notes_of(thing)
        fields = [[code(field), cell(notes.get(field, ""))] for field in getattr(thing, "model_fields", ())]
        yield table(["field", "meaning"], fields)
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        rows = [[code(entry[1]), cell(entry[2])] for entry in ENTRY.finditer(body.strip("\n"))]
        if rows:
            yield table(["argument" if title == "Args" else title.casefold(), ""], rows)
        else:
            yield f"{title}: {' '.join(body.split())}\n"


def _parameters(thing: object) -> Iterator[str]:
    """Write a signature: defaults that are plain values, and no annotations."""
    if isinstance(thing, type):
        yield "**fields"
        return
    keyword = False
    for one in inspect.signature(thing).parameters.values():  # type: ignore[arg-type]
        if one.kind is one.KEYWORD_ONLY and not keyword:
            keyword = True
            yield "*"
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        plain = one.default is None or isinstance(one.default, str | int | float | bool | tuple)
        default = "" if one.default is one.empty else f"={one.default!r}" if plain else "=..."
        yield f"{stars}{one.name}{default}"
