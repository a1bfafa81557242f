"""What `kina init` makes of files: a dry look at each, and a commented kina.toml with what was understood."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
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

TENTH = 10
"""Items of the pool for each item of the proposed size."""
SUFFIXES = frozenset(
    {".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".arrow", ".xlsx", ".gift", ".xml", ".txt"}
)
"""Files that `kina init` looks at where none is named."""
LEVELS = ("subfield", "field", "discipline")
COMMENTS_AT = 26
"""Column of the comments in kina.toml."""


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
    if result.items or not result.rejects:
        return _told(name, result, {})
    proposed = str(result.detected["files"][0].get("proposed") or "")
    return _mapped(path, _map_of(proposed)) or _told(name, result, {})


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


def propose_size(items: Sequence[Item]) -> int:
    """Return a tenth of the pool, and at least one for each stratum."""
    strata = {tuple(item.path) for item in items}
    return min(len(items), max(1, -(-len(items) // TENTH), len(strata))) if items else 0


def write_toml(proposal: Proposal, name: str, template: Template = "mcq") -> str:
    """Write a commented kina.toml with what was understood; what is not known is an empty line."""
    return "\n".join(_lines(proposal, name, template)) + "\n"


def _lines(proposal: Proposal, name: str, template: Template) -> Iterator[str]:
    items = proposal.items
    chosen = template in ("mcq", "kina")
    yield "# What this benchmark is made of. `kina build` makes it, `kina status` says what is left to do."
    yield "[project]"
    yield f"name = {_text(re.sub(r'[^A-Za-z0-9_]+', '_', name).strip('_') or 'benchmark')}"
    yield _line('title = ""', "of the card and the pages; empty: the name")
    yield f"template = {_text(template)}"
    if chosen:
        told = f"items to select: a tenth of the {len(items)} of the pool, one a stratum at least"
        yield _line(f"size = {propose_size(items)}", told)
    yield "seed = 0"
    for one in proposal.questions:
        yield ""
        yield from _source(one) if chosen else ("[[project.source]]", f"files = [{_text(one.name)}]")
    if chosen:
        yield ""
        yield from _choice(proposal, items)
        yield ""
        yield from _review(proposal)
    if proposal.responses:
        yield from ("", "[project.responses]", f"files = {_list(proposal.responses)}")
    if chosen:
        yield from ("", "[project.release]", 'version = "auto"')
        yield _line('# private = ["test"]', "keep the answers of a split apart")
    yield from MODELS


MODELS = (
    "",
    "# Models that are asked the questions; the calls cost money.",
    "# [[project.model]]",
    '# name = "my-model"',
    '# base_url = "http://127.0.0.1:8080/v1"',
)


def _line(text: str, comment: str) -> str:
    return f"{text:<{COMMENTS_AT}}# {comment}"


def _source(one: Understood) -> Iterator[str]:
    yield "[[project.source]]"
    yield f"files = [{_text(one.name)}]"
    if one.proposed:
        yield "# a proposal, computed from the rows: look at it"
        yield f"map = {_table(one.proposed)}"
    if one.first:
        told = f"{one.rejects} rows are not read, the first: " if one.rejects else ""
        yield f"# {' '.join((told + one.first).split())}"
    for key, named, meaning in (
        ("license", "license", "the licence of these questions, such as CC-BY-4.0"),
        ("source", "question_source", "where they come from"),
    ):
        lacking = sum(not (getattr(item, named) or "").strip() for item in one.items)
        if lacking or not one.items:
            yield _line(f'{key} = ""', f"fill in: {meaning} ({lacking} rows do not say)")
    if one.items and not any(item.path for item in one.items):
        yield _line(
            '# set = { field = "..." }', "no row names a field; quotas go by it, and anchors with a domain"
        )


def _choice(proposal: Proposal, items: Sequence[Item]) -> Iterator[str]:
    filed = bool(items) and all(item.path for item in items)
    yield "[project.anchors]"
    if proposal.anchors:
        yield f"files = {_list(proposal.anchors)}"
    else:
        yield _line("files = []", "fill in: experts' lists of what the field is made of, one a person;")
        yield _line("", "without this table a random sample is drawn, which has no certificate")
    if items and not any(item.field for item in items):
        yield from ("", "[project.support]")
        yield _line("all_domains = true", "no row names a field, so each anchor is compared with all items")
    if not filed:
        return
    by = next((level for level in LEVELS if all(getattr(item, level) for item in items)), "subfield")
    yield from ("", "[project.quota]")
    yield _line(f"by = {_text(by)}", "the stratum: each gets its share")
    if by == "discipline":
        yield f"domain_by = {_text(by)}"


def _review(proposal: Proposal) -> Iterator[str]:
    if not (proposal.reviewers or proposal.reviews):
        yield "# Without this table nothing is reviewed: every item is eligible, and the card says so."
        yield "# [review.batch]"
        yield '# reviewers = "reviewers.csv"'
        yield '# reviews = ["reviews/*.jsonl"]'
        yield '# base = "2.00"'
        yield '# bonus = "5.00"'
        return
    yield "[review.batch]"
    if proposal.reviewers:
        yield f"reviewers = {_text(proposal.reviewers[0])}"
    yield f"reviews = {_list(proposal.reviews or ('reviews/*.jsonl',))}"
    yield _line('base = ""', "fill in: pay for a complete review, such as 2.00")
    yield _line('bonus = ""', "fill in: pay for the better of two, such as 5.00")


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _table(mapped: dict[str, str]) -> str:
    told = (f"{key} = {_list(one.split(',')) if ',' in one else _text(one)}" for key, one in mapped.items())
    return f"{{ {', '.join(told)} }}"
