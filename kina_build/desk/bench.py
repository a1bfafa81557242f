"""All that the desk knows of a flow: its artefacts, and of each item everything that was said of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from kina_build.dedup.records import DuplicatePair
from kina_build.items.mending.patch import text_digest
from kina_build.items.model import Item
from kina_build.project.funnel import funnel_files, funnel_rows
from kina_build.ranking.itemanalysis import ItemFigures
from kina_build.report.artefacts import Artefacts, read_artefacts
from kina_build.report.find import Found, find_files, list_files
from kina_build.report.rows import DecisionRow, DoubtRow, FindingRow, PatchRow, ReviewRow

ANCHORS = 5
"""Anchors that are named of an item: those that it supports most."""
EASY, HARD = 0.8, 0.4
"""Shares of models that answer right: at or above the first an item is easy, below the second it is hard."""
FLAGS: Mapping[str, str] = {
    "agreed_rival": "strong models agree on another option",
    "negative_discrimination": "better models miss it more often",
    "undefined_discrimination": "all models answer it alike",
}
"""What makes a key doubtful, in words."""
AGREED = "agreed_rival"
"""Flag of a doubt: strong models agree on another option than the key."""
Stamp = tuple[tuple[str, int, int, int], ...]
"""Of files: name, place on disk, size, time."""
SPLIT = 0.5
"""Share of the models for the option that most of them choose, below which they are at odds."""


@dataclass(frozen=True)
class Support:
    """How much an item shows of an anchor."""

    anchor_id: str
    statement: str
    score: float
    """0 to 1."""


@dataclass(frozen=True)
class Dossier:
    """Everything that is known of an item."""

    item: Item
    states: tuple[str, ...]
    """What became of it: selected, dropped, patched, held, released."""
    pick: int | None
    split: str | None
    hidden: bool
    """Whether its answer belongs to a private split of the release."""
    patches: tuple[tuple[PatchRow, bool], ...]
    """What was mended in it, and whether the pool has these very texts."""
    findings: tuple[FindingRow, ...]
    pairs: tuple[DuplicatePair, ...]
    doubt: DoubtRow | None
    support: tuple[Support, ...]
    reviews: tuple[ReviewRow, ...]
    decision: DecisionRow | None
    figures: ItemFigures | None
    votes: Mapping[str, tuple[str, ...]]
    """Letter to the models that chose it; "" for those whose choice could not be read."""


@dataclass(frozen=True)
class Bench:
    """The artefacts of one folder, arranged by item."""

    root: Path
    found: Found
    artefacts: Artefacts
    stamp: Stamp = field(default=(), repr=False)
    """What `stamp_files` tells of the files read: only whether to read them anew rests on it."""

    @cached_property
    def items(self) -> dict[str, Item]:
        """Return the items by id, in the order of the pool."""
        return {item.item_id: item for item in self.artefacts.pool or ()}

    @cached_property
    def votes(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """Return which models chose which letter, item by item: of several samples the most common one."""
        found: dict[str, dict[str, list[str]]] = {}
        for row in self.artefacts.scores or ():
            if row.letters:
                only = row.letters[0] if len(row.letters) == 1 else Counter(row.letters).most_common(1)[0][0]
                found.setdefault(row.item_id, {}).setdefault(only or "", []).append(row.model)
        return {i: {k: tuple(sorted(v)) for k, v in sorted(by.items())} for i, by in found.items()}

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Return the models that were scored, by name."""
        return tuple(sorted({row.model for row in self.artefacts.scores or ()}))

    @cached_property
    def states(self) -> dict[str, tuple[str, ...]]:
        """Return what became of each item."""
        a = self.artefacts
        duplicates, selection = a.duplicates, a.selection
        said: dict[str, set[str]] = {
            "selected": set(selection.item_ids) if selection else set(),
            "dropped as copy": {one.item_id for one in duplicates.dropped} if duplicates else set(),
            "patched": {one.item_id for one in a.patches or () if self._holds(one)},
            "held": {one.item_id for one in duplicates.held} if duplicates else set(),
            "released": set(a.released),
            "not accepted": {one.item_id for one in a.decisions or () if one.decision != "accept"},
        }
        return {i: tuple(name for name, ids in said.items() if i in ids) for i in self.items}

    def dossier(self, item_id: str) -> Dossier:
        """Gather everything that is known of an item.

        Raises:
            KeyError: the pool has no such item.
        """
        a, item = self.artefacts, self.items[item_id]
        return Dossier(
            item=item,
            states=self.states[item_id],
            pick=self._picks.get(item_id),
            split=a.released.get(item_id),
            hidden=item_id in a.private_ids,
            patches=tuple((one, self._holds(one)) for one in a.patches or () if one.item_id == item_id),
            findings=tuple(self._findings.get(item_id, ())),
            pairs=tuple(self._pairs.get(item_id, ())),
            doubt=self._doubts.get(item_id),
            support=tuple(self._support(item_id)),
            reviews=tuple(self._reviews.get(item_id, ())),
            decision=self._decisions.get(item_id),
            figures=self._figures.get(item_id),
            votes=self.votes.get(item_id, {}),
        )

    def _holds(self, patch: PatchRow) -> bool:
        item = self.items.get(patch.item_id)
        return item is not None and text_digest(item) == patch.result_sha

    def facets(self, item: Item) -> Iterator[tuple[str, str]]:
        """Yield what an item can be found by, as facet and value."""
        item_id = item.item_id
        yield "domain", " › ".join(part for part in item.path if part) or "(not filed)"
        for state in self.states[item_id] or ("in the pool only",):
            yield "status", state
        for rule in {one.rule for one in self._findings.get(item_id, ())}:
            yield "finding", rule.replace("_", " ")
        if item_id in self._doubts and AGREED in self._doubts[item_id].flags:
            yield "finding", "key in doubt"
        if item.language:
            yield "language", item.language
        yield from self._answers(item_id)
        opinions = {one.verdict for one in self._reviews.get(item_id, ()) if one.verdict}
        if len(opinions) > 1:
            yield "disagreement", "reviewers differ"

    def _answers(self, item_id: str) -> Iterator[tuple[str, str]]:
        votes, key = self.votes.get(item_id, {}), self.items[item_id].correct_answer
        total = sum(map(len, votes.values()))
        if not total:
            return
        share = len(votes.get(key, ())) / total
        yield "difficulty", "easy" if share >= EASY else "hard" if share < HARD else "middling"
        top = max(votes, key=lambda letter: len(votes[letter]))
        if len(votes[top]) < SPLIT * total:
            yield "disagreement", "models differ"
        elif top not in ("", key):
            yield "disagreement", "models agree against the key"

    def _support(self, item_id: str) -> Iterator[Support]:
        matrix = self.artefacts.support
        rows = matrix.rows([item_id]) if matrix else []
        if matrix is None or not rows:
            return
        levels = np.asarray(matrix.levels[rows[0]])
        for column in np.argsort(-levels.astype(int), kind="stable")[:ANCHORS].tolist():
            if levels[column]:
                anchor = matrix.anchor_ids[column]
                yield Support(anchor, self._statements.get(anchor, ""), int(levels[column]) / matrix.scale)

    @cached_property
    def _statements(self) -> dict[str, str]:
        return {one.anchor_id: one.statement for one in self.artefacts.anchors or ()}

    @cached_property
    def _picks(self) -> dict[str, int]:
        selection = self.artefacts.selection
        return {item_id: n for n, item_id in enumerate(selection.item_ids, start=1)} if selection else {}

    @cached_property
    def _findings(self) -> dict[str, list[FindingRow]]:
        found: dict[str, list[FindingRow]] = defaultdict(list)
        for one in self.artefacts.findings or ():
            if one.item_id:
                found[one.item_id].append(one)
        return dict(found)

    @cached_property
    def _pairs(self) -> dict[str, list[DuplicatePair]]:
        found: dict[str, list[DuplicatePair]] = defaultdict(list)
        for one in self.artefacts.duplicates.pairs if self.artefacts.duplicates else ():
            found[one.item_id].append(one)
            found[one.other_id].append(one)
        return dict(found)

    @cached_property
    def _reviews(self) -> dict[str, list[ReviewRow]]:
        found: dict[str, list[ReviewRow]] = defaultdict(list)
        for one in self.artefacts.reviews or ():
            found[one.item_id].append(one)
        return dict(found)

    @cached_property
    def _doubts(self) -> dict[str, DoubtRow]:
        return {one.item_id: one for one in self.artefacts.triage or ()}

    @cached_property
    def _decisions(self) -> dict[str, DecisionRow]:
        return {one.item_id: one for one in self.artefacts.decisions or ()}

    @cached_property
    def _figures(self) -> dict[str, ItemFigures]:
        return {one.item_id: one for one in self.artefacts.item_figures or ()}


def read_bench(root: Path) -> Bench:
    """Read the artefacts of a folder.

    Raises:
        InputError: no such folder, or a file in it that cannot be read.
    """
    found = find_files(root)
    stamp = stamp_files(root, found)
    artefacts = read_artefacts(found.files)
    if funnel_files(root):
        artefacts = replace(artefacts, funnel=funnel_rows(root))
    return Bench(root, found, artefacts, stamp)


def is_fresh(bench: Bench) -> bool:
    """Tell whether the folder still holds what was read."""
    return stamp_files(bench.root, bench.found) == bench.stamp


def stamp_files(root: Path, found: Found) -> Stamp:
    """Return what tells that a file came, went, or was written anew.

    Two files that follow each other within a tick of the clock may be alike in all but the place.
    """
    names = tuple((path.name, 0, 0, 0) for path in list_files(root))
    stats = ((path.name, path.stat()) for path in found.files.values() if path.exists())
    return names + tuple((name, stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats)
