"""What people decided, kept in append-only files under `decisions/`, with who, when, why, and on which texts.

A later row of a person replaces an earlier one on the same subject. Two people who differ are
shown and neither is followed; a decision on texts that have changed since is asked again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ConfigDict, model_validator

from kina_build.dedup.overrides import Override
from kina_build.items.model import Item
from kina_build.project.options import Kind
from kina_build.rows.jsonl import canonical, read_any_records

FOLDER = "decisions"
HASH_DIGITS = 16

VERDICTS: Mapping[str, tuple[str, ...]] = {
    "pair": ("same", "different"),
    "item": ("keep", "drop", "withdraw"),
    "key": ("right", "wrong"),
    "finding": ("fine", "mend"),
    "gate": ("allow",),
    "columns": ("map",),
}
"""What may be said of each kind of subject."""
TEXTLESS = ("gate", "columns")
"""Kinds that are about no item's text."""
TWOFOLD = ("pair", "finding")
"""Kinds with two parts of a subject."""
OPEN = "open"
"""Of any kind: taken back, to be decided anew."""


class Ruling(BaseModel):
    """One decision of one person."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    subject: tuple[str, ...]
    """Ids of the items, in order; an item and the rule that found it; the name of a gate or a file."""
    verdict: str
    letter: str | None = None
    """The right key, where the keyed one is wrong."""
    columns: dict[str, str] | None = None
    """Item field to column of a file that was not understood, as `kina import --map`."""
    reason: str
    texts: str
    """Hash of the texts it was made on; empty for a gate and for columns."""
    at: AwareDatetime
    who: str

    @model_validator(mode="after")
    def _fits(self) -> Ruling:
        if self.verdict not in (*VERDICTS[self.kind], OPEN):
            raise ValueError(
                f"verdict {self.verdict!r} of a {self.kind} is none of {', '.join(VERDICTS[self.kind])}"
            )
        if len(self.subject) != (2 if self.kind in TWOFOLD else 1):
            raise ValueError(f"a {self.kind} has {'two subjects' if self.kind in TWOFOLD else 'one subject'}")
        return self

    @property
    def about(self) -> str:
        """Return the subject in words."""
        return f"{self.kind} {' '.join(self.subject)}"

    @property
    def says(self) -> str:
        """Return the verdict with its letter or its columns."""
        told = self.letter or ", ".join(f"{key}={name}" for key, name in (self.columns or {}).items())
        return f"{self.verdict} ({told})" if told else self.verdict


@dataclass(frozen=True)
class GateRulings:
    """What export is told."""

    allowed: Mapping[str, str] = field(default_factory=dict)
    """Gate to the reason why it may pass."""
    taken_down: Mapping[str, str] = field(default_factory=dict)
    """Item to the reason why it was withdrawn."""


@dataclass(frozen=True)
class Rulings:
    """All decisions, and which of them hold."""

    files: tuple[str, ...] = ()
    """Where they stand, seen from the project's folder."""
    holding: tuple[Ruling, ...] = ()
    """One a subject, that nobody contradicts and whose texts are as they were."""
    torn: tuple[tuple[Ruling, ...], ...] = ()
    """Those that contradict one another, subject by subject."""
    changed: tuple[Ruling, ...] = ()
    """Those made on texts that have changed since, or on items that are gone."""

    @cached_property
    def overrides(self) -> tuple[Override, ...]:
        """Return what `kina dedup` is told."""
        return tuple(one for ruling in self.holding if (one := _override(ruling)) is not None)

    @property
    def gates(self) -> GateRulings:
        """Return what `kina export` is told."""
        allowed = {one.subject[0]: one.reason for one in self.holding if one.kind == "gate"}
        gone = {one.subject[0]: one.reason for one in self.holding if one.verdict == "withdraw"}
        return GateRulings(allowed, gone)

    @property
    def columns(self) -> dict[str, dict[str, str]]:
        """Return what `kina import` is told: file to item field to column."""
        return {one.subject[0]: one.columns for one in self.holding if one.columns}

    def of(self, kind: Kind, *subject: str) -> Ruling | None:
        """Return the decision on a subject that holds."""
        wanted = tuple(sorted(subject) if kind == "pair" else subject)
        return next((one for one in self.holding if one.kind == kind and one.subject == wanted), None)


def read_rulings(root: Path) -> Rulings:
    """Read all decisions of a project; whether texts have changed is for `check_texts` to say.

    Raises:
        InputError: a file that cannot be read, named with line and field.
    """
    paths = sorted((root / FOLDER).glob("*.jsonl"))
    names = tuple(path.relative_to(root).as_posix() for path in paths)
    return replace(read_ruling_files(paths), files=names)


def read_ruling_files(paths: Sequence[Path]) -> Rulings:
    """Read decisions from files, in whatever order they are given.

    Raises:
        InputError: a file that cannot be read, named with line and field.
    """
    latest: dict[tuple[str, tuple[str, ...], str], Ruling] = {}
    for path in sorted(paths):
        for one in read_any_records(path, Ruling):
            latest[one.kind, one.subject, one.who] = one
    by_subject: dict[tuple[str, tuple[str, ...]], list[Ruling]] = {}
    for (kind, subject, _), one in sorted(latest.items()):
        if one.verdict == OPEN:
            continue
        by_subject.setdefault((kind, subject), []).append(one)
    agreed = [group for group in by_subject.values() if len({one.says for one in group}) == 1]
    torn = [group for group in by_subject.values() if len({one.says for one in group}) > 1]
    return Rulings(holding=tuple(group[0] for group in agreed), torn=tuple(map(tuple, torn)))


def check_texts(rulings: Rulings, items: Mapping[str, Item]) -> Rulings:
    """Set aside the decisions whose texts are no longer what was decided on."""
    changed = tuple(
        one for one in rulings.holding if one.kind not in TEXTLESS and _texts_now(one, items) != one.texts
    )
    return replace(
        rulings, holding=tuple(one for one in rulings.holding if one not in changed), changed=changed
    )


def text_hash(items: Sequence[Item]) -> str:
    """Hash what is shown of items, in order of their ids."""
    shown = [
        [
            one.question,
            [[option.key, option.answer] for option in one.options],
            one.correct_answer,
            one.question_material,
        ]
        for one in sorted(items, key=lambda item: item.item_id)
    ]
    return hashlib.sha256(canonical(shown).encode("utf-8", "surrogatepass")).hexdigest()[:HASH_DIGITS]


def _override(ruling: Ruling) -> Override | None:
    decision = {
        ("pair", "same"): "same",
        ("pair", "different"): "different",
        ("item", "keep"): "keep",
        ("item", "drop"): "drop",
        ("item", "withdraw"): "drop",
        ("key", "wrong"): "wrong_key",
    }.get((ruling.kind, ruling.verdict))
    if decision is None:
        return None
    other = ruling.subject[1] if ruling.kind == "pair" else None
    return Override.model_validate(
        {"decision": decision, "item_id": ruling.subject[0], "other_id": other, "letter": ruling.letter,
         "note": f"{ruling.who}: {ruling.reason}"}
    )  # fmt: skip


def items_of(kind: Kind, subject: Sequence[str]) -> Sequence[str]:
    """Return the items that a subject names."""
    return () if kind in TEXTLESS else subject[:1] if kind == "finding" else subject


def _texts_now(ruling: Ruling, items: Mapping[str, Item]) -> str | None:
    ids = items_of(ruling.kind, ruling.subject)
    if any(one not in items for one in ids):
        return None
    return text_hash([items[one] for one in ids])
