"""What people decided, kept in append-only files under `decisions/`, with who, when, why, and on which texts.

A later row of a person replaces an earlier one on the same subject. Two people who differ are
shown and neither is followed; a decision on texts that have changed since is asked again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ConfigDict, model_validator

from kina_build.dedup.overrides import Override
from kina_build.errors import InputError, UsageError
from kina_build.items.model import Item
from kina_build.project.options import Kind
from kina_build.rows.jsonl import canonical, dump_line, read_records

FOLDER = "decisions"
HASH_DIGITS = 16

VERDICTS: Mapping[str, tuple[str, ...]] = {
    "pair": ("same", "different"),
    "item": ("keep", "drop", "withdraw"),
    "key": ("right", "wrong"),
    "finding": ("fine", "mend"),
    "gate": ("allow",),
}
"""What may be said of each kind of subject."""
TWOFOLD = ("pair", "finding")
"""Kinds with two parts of a subject."""
OPEN = "open"
"""Of any kind: taken back, to be decided anew."""
NAME = re.compile(r"[a-z0-9][a-z0-9_]*")
"""A decider's name, as it stands in the name of a file: `ann`, `r2`; not `../ann`."""


class Ruling(BaseModel):
    """One decision of one person."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    subject: tuple[str, ...]
    """Ids of the items, in order; an item and the rule that found it; the name of a gate."""
    verdict: str
    letter: str | None = None
    """The right key, where the keyed one is wrong."""
    reason: str
    texts: str
    """Hash of the texts it was made on; empty for a gate."""
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
        """Return the verdict with its letter."""
        return self.verdict if self.letter is None else f"{self.verdict} ({self.letter})"


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
        for one in read_records(path, Ruling) if path.stat().st_size else ():
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
        one for one in rulings.holding if one.kind != "gate" and _texts_now(one, items) != one.texts
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


def make_ruling(
    kind: Kind,
    subject: Sequence[str],
    verdict: str,
    *,
    who: str,
    reason: str,
    at: datetime,
    items: Mapping[str, Item],
    letter: str | None = None,
) -> Ruling:
    """Make the record of a decision on the texts as they are now.

    Raises:
        UsageError: an unknown item or verdict, a name that cannot stand in a file's name, no reason.
    """
    if not NAME.fullmatch(who):
        raise UsageError(f"--who {who!r}: use small letters, digits and underscores")
    if verdict not in (*VERDICTS[kind], OPEN):
        raise UsageError(
            f"{verdict!r} cannot be said of a {kind}", hint=f"one of: {', '.join(VERDICTS[kind])}"
        )
    if not reason.strip():
        raise UsageError("a decision needs a --reason")
    ids = _items_of(kind, subject)
    if unknown := [one for one in ids if one not in items]:
        raise UsageError(f"{unknown[0]!r} is no item of the pool")
    if letter is not None and letter not in {option.key for one in subject for option in items[one].options}:
        raise UsageError(f"--letter {letter}: {subject[0]} has no such option")
    if len(set(subject)) != (2 if kind in TWOFOLD else 1):
        raise UsageError(f"a {kind} is {'two different items' if kind == 'pair' else 'one subject'}")
    texts = text_hash([items[one] for one in ids]) if ids else ""
    return Ruling(
        kind=kind,
        subject=tuple(sorted(subject) if kind == "pair" else subject),
        verdict=verdict,
        letter=letter,
        reason=reason.strip(),
        texts=texts,
        at=at,
        who=who,
    )


def record_ruling(root: Path, ruling: Ruling) -> Path:
    """Add a decision to its person's file.

    Raises:
        InputError: it cannot be written, or the file's last line is torn.
    """
    path = root / FOLDER / f"{ruling.kind}-{ruling.who}.jsonl"
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("ab+") as out:
            fcntl.flock(out, fcntl.LOCK_EX)
            size = out.seek(0, os.SEEK_END)
            if size:
                out.seek(size - 1)
                if out.read(1) != b"\n":
                    raise InputError(f"{path}: its last line is torn", hint="mend or remove that line first")
            out.write((dump_line(ruling) + "\n").encode())
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror or error}") from None
    return path


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


def _items_of(kind: Kind, subject: Sequence[str]) -> Sequence[str]:
    """Return the items that a subject names."""
    return () if kind == "gate" else subject[:1] if kind == "finding" else subject


def _texts_now(ruling: Ruling, items: Mapping[str, Item]) -> str | None:
    ids = _items_of(ruling.kind, ruling.subject)
    if any(one not in items for one in ids):
        return None
    return text_hash([items[one] for one in ids])
