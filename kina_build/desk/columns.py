"""Files of questions whose columns were not understood: what each column holds is for people to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kina_build.config import CONFIG_NAME
from kina_build.errors import InputError, KinaError
from kina_build.items.importing.files import Layout, read_all
from kina_build.project.folder import find_project
from kina_build.project.graph.pool import import_options
from kina_build.project.log import read_log
from kina_build.project.runner import COLUMNS
from kina_build.rows.tables import read_table

FIELDS = (
    "question",
    "options",
    "correct_answer",
    "explanation",
    "item_id",
    "discipline",
    "field",
    "subfield",
    "question_material",
    "question_source",
    "license",
    "language",
)
"""Item fields that a column may hold, the needed ones first; several columns may hold options."""
SAMPLE = 5
"""Rows of a file that are shown."""


@dataclass(frozen=True)
class Unread:
    """A file that was not understood, as its page shows it."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The first rows, column by column."""
    proposed: Mapping[str, str]
    """Column to the item field that its values look like."""


@dataclass(frozen=True)
class Trial:
    """What a map makes of a file."""

    read: int
    rejects: int
    first: str
    """The first thing that is not right; empty where all is."""

    @property
    def works(self) -> bool:
        """Tell whether questions are read by it."""
        return self.read > 0


def find_unread(root: Path) -> tuple[str, ...]:
    """List the files that the last import of a project's folder did not understand.

    Raises:
        InputError: a log that cannot be read.
    """
    last = {entry.stage: entry for entry in read_log(root) if entry.stage.startswith("import")}
    told = (case for entry in last.values() for case in entry.cases if case.kind == COLUMNS)
    return tuple(dict.fromkeys(name for case in told for name in case.subject if (root / name).is_file()))


def read_columns(root: Path, name: str) -> Unread:
    """Read the first rows of a file, and what its columns look like.

    Raises:
        InputError: it is no table.
    """
    rows = read_table(root / name)[:SAMPLE]
    columns = tuple(dict.fromkeys(column for row in rows for column in row.values))
    shown = tuple(tuple(str(row.values.get(column, "")) for column in columns) for row in rows)
    return Unread(name, columns, shown, _proposed(root / name))


def _proposed(path: Path) -> dict[str, str]:
    from kina_build.project.start.propose import look_at

    found = look_at([path]).questions
    return {column: key for one in found for key, said in one.proposed.items() for column in said.split(",")}


def read_choice(form: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """Return the map that a form chose: item field to column, to several joined by commas for options.

    Raises:
        InputError: two columns for one field, or a name that no map can hold.
    """
    found: dict[str, list[str]] = {}
    for place, column in enumerate(columns):
        key = form.get(f"column{place}", "")
        if key in FIELDS:
            found.setdefault(key, []).append(column)
    for key, names in found.items():
        if key != "options" and len(names) > 1:
            raise InputError(f"{key}: one column only, not {', '.join(names)}")
        if any("," in name for name in names):
            raise InputError(f"{', '.join(names)}: a column with a comma in its name is mapped in kina.toml")
    return {key: ",".join(names) for key, names in found.items()}


def try_columns(root: Path, name: str, columns: Mapping[str, str]) -> Trial:
    """Read a file by a map; nothing is written."""
    try:
        found = read_all([root / name], replace(_layout(root, name), columns=dict(columns)))
    except KinaError as error:
        return Trial(0, 0, error.lines[0])
    return Trial(len(found.items), len(found.rejects), str(found.rejects[0]) if found.rejects else "")


def _layout(root: Path, name: str) -> Layout:
    """Return how the project has a file read, its map apart."""
    project = find_project(root / CONFIG_NAME) if (root / CONFIG_NAME).exists() else None
    sources = project.table.source if project else ()
    source = next((one for one in sources if project and name in project.expand(one.files)), None)
    return import_options(source) if source else Layout()
