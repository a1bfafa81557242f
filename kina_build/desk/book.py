"""The decisions of one person at the desk: written at once, taken back by another line, never lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kina_build.items.model import Item
from kina_build.project.deciding import make_ruling, record_ruling
from kina_build.project.decisions import FOLDER, OPEN, Ruling
from kina_build.project.options import Kind
from kina_build.rows.jsonl import read_any_records

Key = tuple[str, tuple[str, ...]]
"""Kind and subject of a decision."""


@dataclass(frozen=True)
class Act:
    """One decision that a choice stands for."""

    kind: Kind
    subject: tuple[str, ...]
    verdict: str
    letter: str | None = None
    columns: tuple[tuple[str, str], ...] = ()
    """Of a file: item field and column."""

    @property
    def key(self) -> Key:
        """Return what it is about."""
        return self.kind, tuple(sorted(self.subject)) if self.kind == "pair" else self.subject

    def is_in(self, ruling: Ruling | None) -> bool:
        """Tell whether a decision says this."""
        if ruling is None or dict(self.columns) != (ruling.columns or {}):
            return False
        return (ruling.verdict, ruling.letter) == (self.verdict, self.letter)


@dataclass(frozen=True)
class Book:
    """The decisions folder of a flow, and the items that are decided on."""

    root: Path
    items: Mapping[str, Item]

    def latest(self) -> dict[Key, dict[str, Ruling]]:
        """Return each person's last word on each subject; what was taken back is left out.

        Raises:
            InputError: a file that cannot be read, named with line and field.
        """
        found: dict[Key, dict[str, Ruling]] = {}
        for path in sorted((self.root / FOLDER).glob("*.jsonl")):
            for one in read_any_records(path, Ruling):
                found.setdefault((one.kind, one.subject), {})[one.who] = one
        held = {key: {w: r for w, r in said.items() if r.verdict != OPEN} for key, said in found.items()}
        return {key: said for key, said in held.items() if said}

    def history(self, item_id: str) -> list[Ruling]:
        """Return all that was ever decided on an item, in order, what was replaced or taken back too.

        Raises:
            InputError: a file that cannot be read, named with line and field.
        """
        said = [
            one
            for path in sorted((self.root / FOLDER).glob("*.jsonl"))
            for one in read_any_records(path, Ruling)
            if item_id in one.subject
        ]
        return sorted(said, key=lambda one: one.at)

    def record(self, acts: Sequence[Act], who: str, reason: str) -> int:
        """Write decisions; one that this person has made already on the same texts is not written twice.

        Returns:
            How many were written.

        Raises:
            UsageError: an item that is not in the pool, or no reason.
            InputError: the file cannot be written.
        """
        latest, at, written = self.latest(), datetime.now(UTC), 0
        for act in acts:
            ruling = make_ruling(
                act.kind,
                act.subject,
                act.verdict,
                who=who,
                reason=reason,
                at=at,
                items=self.items,
                letter=act.letter,
                columns=dict(act.columns),
            )
            past = latest.get(act.key, {}).get(who)
            if not (act.is_in(past) and past and past.texts == ruling.texts):
                record_ruling(self.root, ruling)
                written += 1
        return written

    def undo(self, who: str) -> list[Ruling]:
        """Take back what this person decided last; all of one choice at once.

        Returns:
            What was taken back; empty where nothing is left.
        """
        mine = [said[who] for said in self.latest().values() if who in said]
        if not mine:
            return []
        last = max(one.at for one in mine)
        back = [one for one in mine if one.at == last]
        self.record([Act(one.kind, one.subject, OPEN) for one in back], who, "taken back at the desk")
        return back
