"""Two of a kind side by side: releases, and models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kina_build.desk.bench import Bench
from kina_build.desk.words import Span, compare_words
from kina_build.release.folder import read_release
from kina_build.release.rows import Row
from kina_build.release.versions import diff_releases

SHOWN = 100
"""Changed items whose texts are shown; the rest is only counted."""
KINDS = {
    "changed_key": "another key",
    "changed_text": "another question",
    "changed_options": "other options, or another order",
    "changed_details": "other details",
    "moved": "another split",
    "added": "added",
    "removed": "removed",
}
"""What may be said of an item, and how people read it."""


@dataclass(frozen=True)
class Change:
    """One item that two releases do not share as it is."""

    item_id: str
    kinds: tuple[str, ...]
    old: tuple[Span, ...]
    new: tuple[Span, ...]
    old_answer: str
    new_answer: str


@dataclass(frozen=True)
class Releases:
    """What changed between two releases."""

    report: dict[str, Any]
    counts: tuple[tuple[str, int], ...]
    changes: tuple[Change, ...]
    more: int
    """Changed items that are not shown."""


@dataclass(frozen=True)
class Flip:
    """An item that one of two models answers right and the other wrong."""

    item_id: str
    better: str
    letters: tuple[str, str]


def compare_releases(old: Path, new: Path) -> Releases:
    """Compare two release folders item by item.

    Raises:
        InputError: a folder that is no release.
    """
    before, after = read_release(old), read_release(new)
    report = diff_releases(before, after)
    was, now = ({row.id: row for rows in past.rows.values() for row in rows} for past in (before, after))
    kinds: dict[str, list[str]] = {}
    for kind, said in KINDS.items():
        for item_id in report[kind]:
            kinds.setdefault(item_id, []).append(said)
    ids = sorted(kinds)
    changes = tuple(_change(i, kinds[i], was.get(i), now.get(i)) for i in ids[:SHOWN])
    counts = tuple((said, len(report[kind])) for kind, said in KINDS.items())
    return Releases(report, counts, changes, len(ids) - len(changes))


def compare_models(bench: Bench, one: str, other: str) -> list[Flip]:
    """List the items that one of two models answers right and the other wrong."""
    chosen = {
        item_id: {model: letter for letter, models in votes.items() for model in models}
        for item_id, votes in bench.votes.items()
    }
    flips = []
    for item_id, item in bench.items.items():
        by = chosen.get(item_id, {})
        letters = by.get(one), by.get(other)
        right = tuple(letter == item.correct_answer for letter in letters)
        if None not in letters and right[0] != right[1] and item_id not in bench.artefacts.private_ids:
            flips.append(Flip(item_id, one if right[0] else other, (letters[0] or "–", letters[1] or "–")))
    return flips


def _change(item_id: str, kinds: Sequence[str], old: Row | None, new: Row | None) -> Change:
    before, after = compare_words(_said(old), _said(new)) if old and new else (None, None)
    return Change(
        item_id,
        tuple(kinds),
        tuple(before if before is not None else [Span(_said(old))]),
        tuple(after if after is not None else [Span(_said(new))]),
        (old.correct_text or "kept back") if old else "",
        (new.correct_text or "kept back") if new else "",
    )


def _said(row: Row | None) -> str:
    return (
        "" if row is None else "\n".join([row.question, *(f"{n}. {t}" for n, t in enumerate(row.choices, 1))])
    )
