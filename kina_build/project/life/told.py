"""The life of one item across all files of a project, from the row it stood on to who answered it.

Each file is read whole once: what it says of every item lies in the user's cache folder, by the
digest of the file, and is asked for one item at a time.
"""

from __future__ import annotations

import difflib
import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from kina_build import __version__
from kina_build.encode.vectorcache import default_cache
from kina_build.errors import UsageError
from kina_build.items.model import Item
from kina_build.manifest import digests
from kina_build.project.decisions import Rulings, check_texts, read_rulings
from kina_build.project.folder import Project
from kina_build.project.graph import stages
from kina_build.project.life.chapters import ITEMS, REST, Chapter, find_chapters
from kina_build.rows.jsonl import canonical
from kina_build.rows.kept import ask_kept, clean_text

FORM = 1
"""Of a chapter as it is kept; another form is another base."""
SCHEMA = "CREATE TABLE told (item_id TEXT, n INTEGER, what TEXT, PRIMARY KEY (item_id, n)) WITHOUT ROWID"


class Event(BaseModel):
    """One thing that happened to an item."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: str
    what: str


def tell_life(project: Project, item_id: str, cache: Path | None = None) -> list[Event]:
    """Gather what every artefact says of an item; artefacts that are not there yet say nothing.

    Args:
        project: the project.
        item_id: the item.
        cache: folder of what is kept; default: the user's.

    Raises:
        UsageError: there is no pool yet, or it has no such item.
        InputError: an artefact that cannot be read.
    """
    lives = open_lives(project, cache)
    item = lives.item(item_id)
    if item is None:
        raise _unknown(project, item_id, lives.item_ids())
    path = " > ".join(item.path)
    told = list(lives.told(item_id))
    told.append(
        ("import", f"{item.question!r}, key {item.correct_answer}" + (f", in {path}" if path else ""))
    )
    told += [("decided", what) for what in _decided(project, lives, item_id)]
    told.sort(key=lambda one: ORDER.index(one[0]))
    return [Event(stage=stage, what=what) for stage, what in told]


@dataclass(frozen=True)
class Lives:
    """What is kept of the lives of all items of a project."""

    chapters: tuple[Chapter, ...]
    folder: Path

    def told(self, item_id: str) -> Iterator[tuple[str, str]]:
        """Yield stage and sentence of all that files say of an item."""
        for chapter in self.chapters:
            if chapter.stage != ITEMS:
                yield from ((chapter.stage, what) for what in self._ask(chapter, item_id))

    def item(self, item_id: str) -> Item | None:
        """Return an item of the pool; None where there is no such item, or no pool."""
        found = [what for one in self.chapters if one.stage == ITEMS for what in self._ask(one, item_id)]
        return Item.model_validate_json(found[0]) if found else None

    def item_ids(self) -> list[str]:
        """Return the ids of all items of the pool."""
        select = "SELECT item_id FROM told"
        return [
            str(item_id)
            for one in self.chapters
            if one.stage == ITEMS
            for (item_id,) in ask_kept(
                self.folder, _name(one), _Filling(one), lambda base: base.execute(select).fetchall()
            )
        ]

    def keep(self) -> None:
        """Read what is not kept yet, so that the next question is answered at once.

        Raises:
            InputError: an artefact that cannot be read.
        """
        for chapter in self.chapters:
            self._ask(chapter, REST)

    def _ask(self, chapter: Chapter, item_id: str) -> list[str]:
        """Return what a chapter says of an item, or of all that it does not name."""
        select = "SELECT what FROM told WHERE item_id = ? ORDER BY n"

        def ask(base: sqlite3.Connection) -> list[str]:
            own = base.execute(select, (item_id,)).fetchall() or base.execute(select, (REST,)).fetchall()
            return [str(what) for (what,) in own]

        return ask_kept(self.folder, _name(chapter), _Filling(chapter), ask)


def open_lives(project: Project, cache: Path | None = None) -> Lives:
    """Open what is kept of a project's lives."""
    return Lives(tuple(find_chapters(project)), cache or default_cache().parent / "lives")


@dataclass(frozen=True)
class _Filling:
    """Writes a chapter into an empty base."""

    chapter: Chapter

    def __call__(self, base: sqlite3.Connection) -> None:
        base.execute(SCHEMA)
        rows = ((clean_text(item), n, clean_text(what)) for n, (item, what) in enumerate(self.chapter.tell()))
        base.executemany("INSERT INTO told VALUES (?, ?, ?)", rows)


def _name(chapter: Chapter) -> str:
    """Name a chapter by all that shapes it."""
    read = [one.sha256 for one in digests(chapter.reads).values()]
    shaped = canonical([FORM, __version__, chapter.stage, chapter.told, read])
    return hashlib.sha256(shaped.encode()).hexdigest()[:32]


def _unknown(project: Project, item_id: str, known: Sequence[str]) -> UsageError:
    if not (project.root / stages.POOL).exists():
        return UsageError(
            f"there is no {stages.POOL} yet: the questions have not been imported",
            hint="kina build import; what it waits for, kina status says",
        )
    near = difflib.get_close_matches(item_id, known, n=1)
    hint = f"did you mean {near[0]}?" if near else "kina status --items imported lists them"
    return UsageError(f"{stages.POOL} has no item {item_id!r}", hint=hint)


def _decided(project: Project, lives: Lives, item_id: str) -> Iterator[str]:
    rulings = _about(read_rulings(project.root), item_id)
    ids = {one for ruling in rulings.holding for one in ruling.subject}
    rulings = check_texts(rulings, {one: item for one in ids if (item := lives.item(one)) is not None})
    torn = tuple(one for group in rulings.torn for one in group)
    groups = (("", rulings.holding), ("contradicted: ", torn), ("on another text: ", rulings.changed))
    for word, group in groups:
        for one in group:
            yield f"{word}{one.who} on {one.at:%Y-%m-%d}: {one.about}: {one.says}: {one.reason}"


def _about(rulings: Rulings, item_id: str) -> Rulings:
    """Return the decisions on an item alone."""
    holding = tuple(one for one in rulings.holding if item_id in one.subject)
    return replace(rulings, holding=holding, torn=tuple(t for t in rulings.torn if item_id in t[0].subject))


ORDER = (
    "import",
    "check",
    "dedup",
    "contamination",
    "triage",
    "decided",
    "support",
    "assign",
    "settle",
    "leave-out",
    "select",
    "top-up",
    "export",
    "score",
)
