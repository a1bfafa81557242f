"""Two of a kind side by side: releases, models, and selections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kina_build.desk.bench import Bench
from kina_build.desk.words import Span, compare_words
from kina_build.release.folder import read_release
from kina_build.release.rows import Row
from kina_build.release.versions import diff_releases
from kina_build.selection.reading import read_selection

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


@dataclass(frozen=True)
class Covered:
    """An anchor that two selections do not cover alike."""

    anchor_id: str
    statement: str
    levels: tuple[float, float]
    """Best support in either, 0 to 1."""
    items: tuple[str, str]
    """The items that give it; empty where none does."""

    @property
    def gain(self) -> float:
        """Return by how much the second covers it better."""
        return self.levels[1] - self.levels[0]


@dataclass(frozen=True)
class Selections:
    """What two selections cover, item by item and anchor by anchor."""

    objectives: tuple[float, float]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    """Items that one has and the other lacks."""
    both: int
    anchors: tuple[Covered, ...]
    """The largest losses first, the largest gains last."""
    alike: int
    """Anchors that both cover as well."""


def compare_selections(bench: Bench, old: Path, new: Path) -> Selections:
    """Compare two selections by the support matrix of the folder.

    Raises:
        InputError: a file that is no selection.
    """
    pair = read_selection(old), read_selection(new)
    ids = tuple(frozenset(one.item_ids) for one in pair)
    best = tuple(_best(bench, one.item_ids) for one in pair)
    said = {one.anchor_id: one.statement for one in bench.artefacts.anchors or ()}
    covered = [
        Covered(
            anchor,
            said.get(anchor, ""),
            (best[0][anchor][0], best[1][anchor][0]),
            (best[0][anchor][1], best[1][anchor][1]),
        )
        for anchor in best[0]
    ]
    differ = sorted((one for one in covered if one.gain), key=lambda one: (one.gain, one.anchor_id))
    only = tuple(
        tuple(i for i in one.item_ids if i not in other)
        for one, other in zip(pair, reversed(ids), strict=True)
    )
    return Selections(
        (pair[0].objective, pair[1].objective),
        (only[0], only[1]),
        len(ids[0] & ids[1]),
        tuple(differ),
        len(covered) - len(differ),
    )


def _best(bench: Bench, item_ids: Sequence[str]) -> dict[str, tuple[float, str]]:
    """Return each anchor's best support by some items, and the item that gives it."""
    matrix = bench.artefacts.support
    rows = matrix.rows(item_ids) if matrix else []
    if matrix is None or not rows:
        return {}
    levels = np.asarray([matrix.levels[row] for row in rows])
    places = levels.argmax(axis=0)  # of equal ones the first pick
    return {
        anchor: (
            int(levels[place, column]) / matrix.scale,
            matrix.item_ids[rows[place]] if levels[place, column] else "",
        )
        for column, (anchor, place) in enumerate(zip(matrix.anchor_ids, places.tolist(), strict=True))
    }


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
