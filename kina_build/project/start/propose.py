"""What `kina init` makes of files: a dry look at each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kina_build.errors import InputError, UsageError
from kina_build.items.importing.files import Layout, read_all
from kina_build.items.model import Item
from kina_build.items.pool import Pool
from kina_build.manifest import Manifest
from kina_build.project.options import Template
from kina_build.rows.jsonl import read_document
from kina_build.rows.tables import read_table

SUFFIXES = frozenset(
    {".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".arrow", ".xlsx", ".gift", ".xml", ".txt"}
)
"""Files that `kina init` looks at where none is named."""


@dataclass(frozen=True)
class Understood:
    """One file of questions, as a dry import understood it."""

    name: str
    items: tuple[Item, ...] = ()
    rejects: int = 0
    first: str = ""
    """The first reject, or the fault that the file as a whole has."""
    proposed: dict[str, str] = field(default_factory=dict)
    """Item field to column, where the file names none that are known."""
    column: dict[str, str] = field(default_factory=dict)
    """Item field to the one column of several by which most rows can be read; nobody has chosen it."""


@dataclass(frozen=True)
class Proposal:
    """What the files are."""

    questions: tuple[Understood, ...] = ()
    anchors: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    reviews: tuple[str, ...] = ()
    responses: tuple[str, ...] = ()

    @property
    def readable(self) -> Proposal:
        """Leave out the files that were not named and that hold no question, as far as columns tell."""
        kept = (one for one in self.questions if one.items or one.proposed or not one.first)
        return replace(self, questions=tuple(kept))

    @property
    def items(self) -> list[Item]:
        """Return the items of all files."""
        return [item for one in self.questions for item in one.items]


def find_files(folder: Path) -> list[Path]:
    """Return the files of a folder that may hold something to begin with: what kina wrote is none."""
    ours = _written(folder)
    found = (p for p in folder.iterdir() if p.is_file() and p.suffix.lower() in SUFFIXES)
    return sorted(p for p in found if p.name[0] != "." and p.name not in ours)


def _written(folder: Path) -> set[str]:
    """Return the names of manifests and of what they say was written, and of ledgers' books."""
    names: set[str] = {path.name for path in folder.glob("*.payees.json")}
    for path in folder.glob("*.manifest.json"):
        names.add(path.name)
        with suppress(InputError):
            names.update(read_document(path, Manifest).outputs)
    return names


def look_at(paths: Sequence[Path], template: Template = "mcq") -> Proposal:
    """Look at files; nothing is written, and only multiple-choice questions are imported.

    Raises:
        InputError: a file is missing.
    """
    found: dict[str, list[Any]] = {}
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: no such file", hint="check the path and the folder you are in")
        kind = _kind(path, template)
        name = path.as_posix()
        one: Any = name
        if kind == "questions":
            one = _understand(path) if template in ("mcq", "kina") else Understood(name)
        found.setdefault(kind, []).append(one)
    return Proposal(**{kind: tuple(some) for kind, some in found.items()})


def _kind(path: Path, template: Template) -> str:
    """Tell by its columns what a file holds; what is nothing else is questions.

    Predicted triples have the columns of gold ones: their name tells.
    """
    if template == "triples":
        return "responses" if "predict" in path.stem.lower() else "questions"
    names = _columns(path)
    if template == "universe":
        return "responses" if "response" in names and "gold" not in names else "questions"
    if "reviewer_id" in names:
        return "reviews" if "item_id" in names else "reviewers"
    if {"statement"} <= names and not names & {"question", "options", "stem"}:
        return "anchors"
    if "model" in names and names & {"response", "letter", "answers"}:
        return "responses"
    return "questions"


def _columns(path: Path) -> set[str]:
    if path.is_dir() or path.suffix.lower() not in {".csv", ".tsv", ".jsonl", ".ndjson"}:
        return set()
    try:
        rows = read_table(path)
    except InputError:
        return set()
    return {str(name).strip().lower() for row in rows[:1] for name in row.values}


def _understand(path: Path) -> Understood:
    name = path.as_posix()
    try:
        result = read_all([path])
    except (InputError, UsageError) as error:
        proposed = _map_of(error.hint)
        return _mapped(path, proposed) or Understood(name, first=error.lines[0], proposed=proposed)
    told = _map_of(str(result.detected["files"][0].get("proposed") or ""))
    if result.items or not result.rejects:
        return replace(_told(name, result, {}), column=told)
    return _mapped(path, told) or _told(name, result, {})


def _mapped(path: Path, mapped: dict[str, str]) -> Understood | None:
    """Read a file by a proposed map; None where there is none, or it does not help."""
    try:
        return _told(path.as_posix(), read_all([path], Layout(columns=mapped)), mapped) if mapped else None
    except (InputError, UsageError):
        return None


def _told(name: str, result: Pool, mapped: dict[str, str]) -> Understood:
    first = str(result.rejects[0]) if result.rejects else ""
    return Understood(name, result.items, len(result.rejects), first, mapped)


def _map_of(line: str) -> dict[str, str]:
    import shlex

    parts = shlex.split(line) if line.startswith("--map ") else []
    pairs = [one.partition("=") for one in parts if one != "--map"]
    return {key: column for key, _, column in pairs}
