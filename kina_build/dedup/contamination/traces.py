"""Where texts of a pool stand in other texts, letter for letter: an index and a scan.

Source of the runs: Brown et al. 2020 (arXiv 2005.14165), appendix C: 13-grams of an
evaluation text that appear in another corpus are a trace of contamination; those that many
texts share are boilerplate and tell nothing. Here windows of letters find the places, and
what stands there is read and compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.contamination.index import Index, Places, Unit, slot_of
from kina_build.dedup.contamination.letters import STEP, WIDTH, letter_places, letters, window_hashes
from kina_build.dedup.contamination.running import Text

BATCH_LETTERS = 1 << 20
"""Letters looked through at once."""


@dataclass(frozen=True)
class Trace:
    """A unit that stands in a text, whole or in part."""

    unit: Unit
    text: Text
    start: int
    """Characters of the text between which it stands."""
    end: int
    share: float
    """Share of the unit's windows found there."""

    @property
    def whole(self) -> bool:
        """Tell whether all of it stands there."""
        return self.share == 1


def find_traces(index: Index, texts: Iterable[Text], rules: DedupRules = DedupRules()) -> Iterator[Trace]:
    """Look a stream of texts through for the units of an index; memory goes with a batch."""
    least = rules.trace_letters
    for batch in _batches(texts):
        yield from _look_through(index, batch, least)


def _batches(texts: Iterable[Text]) -> Iterator[list[tuple[Text, bytes]]]:
    batch: list[tuple[Text, bytes]] = []
    size = 0
    for text in texts:
        data = letters(text.text)
        batch.append((text, data))
        size += len(data)
        if size >= BATCH_LETTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _look_through(index: Index, batch: list[tuple[Text, bytes]], least: int) -> Iterator[Trace]:
    joined = b"".join(data for _, data in batch)
    hashes = window_hashes(joined)
    places = np.flatnonzero(index.slots[slot_of(hashes, len(index.slots))]) if len(hashes) else hashes
    at = np.searchsorted(index.hashes, hashes[places])
    known = at < len(index.hashes)
    places, at = places[known], at[known]
    same = index.hashes[at] == hashes[places]
    places, at = places[same].astype(np.int64), at[same]
    if not len(places):
        return
    counts = index.firsts[at + 1] - index.firsts[at]
    ends = np.cumsum(counts)
    rows = np.arange(ends[-1]) - np.repeat(ends - counts - index.firsts[at], counts)
    units, starts = index.holders[rows], np.repeat(places, counts) - index.offsets[rows]
    firsts = np.concatenate([[0], np.cumsum([len(data) for _, data in batch])])
    of_text = np.searchsorted(firsts, np.repeat(places, counts), side="right") - 1
    yield from _across_rows(index, batch, joined, (units, starts), firsts)
    order = np.lexsort((starts, units, of_text))
    bounds = np.flatnonzero(np.diff(of_text[order])) + 1
    for group in np.split(order, bounds):
        number = int(of_text[group[0]])
        hits = _Hits(units[group], starts[group] - firsts[number], np.repeat(at, counts)[group])
        yield from _traces(index, batch[number], hits, least)


def _across_rows(
    index: Index, batch: list[tuple[Text, bytes]], joined: bytes, hits: tuple[Places, Places], firsts: Places
) -> Iterator[Trace]:
    """Yield units that begin in one row and end in a later one, as where each line of a text is a row."""
    units, starts = hits
    ends = starts + index.lengths[units]
    inside = (starts >= 0) & (ends <= len(joined))
    units, starts, ends = units[inside], starts[inside], ends[inside]
    begun, ended = (np.searchsorted(firsts, places, side="right") - 1 for places in (starts, ends - 1))
    cut = begun != ended
    for number, start, first, last in sorted(
        set(zip(*(values[cut].tolist() for values in (units, starts, begun, ended)), strict=True))
    ):
        rows = [text for text, _ in batch[first : last + 1]]
        if joined.startswith(index.units[number].letters, start) and _follow(rows):
            text = replace(rows[0], text="\n".join(row.text for row in rows))
            yield from _placed(index, text, {number: (start - int(firsts[first]), 1.0)})


def _follow(rows: Sequence[Text]) -> bool:
    """Tell whether texts are rows of one file."""
    return all(row.line and not row.running and row.place == rows[0].place for row in rows)


@dataclass(frozen=True)
class _Hits:
    """Windows found in one text, sorted by (unit, start)."""

    units: Places
    starts: Places
    """Where the whole unit would begin."""
    windows: Places


def _traces(index: Index, text: tuple[Text, bytes], hits: _Hits, least: int) -> Iterator[Trace]:
    changes = (np.diff(hits.units) != 0) | (np.diff(hits.starts) != 0)
    groups = np.split(np.arange(len(hits.units)), np.flatnonzero(changes) + 1)
    found: dict[int, tuple[int, float]] = {}
    covered: set[int] = set()
    partly: dict[int, list[NDArray[np.int64]]] = defaultdict(list)
    for group in groups:
        number, start = int(hits.units[group[0]]), int(hits.starts[group[0]])
        unit = index.units[number]
        if start >= 0 and text[1].startswith(unit.letters, start):
            found.setdefault(number, (start, 1.0))
            covered.update(hits.windows[group].tolist())
        else:
            partly[number].append(group)
    for number, parts in partly.items():
        if number not in found:
            best = _best_part(index.units[number], parts, hits, covered, least)
            if best is not None:
                found[number] = best
    if found:
        yield from _placed(index, text[0], found)


def _best_part(
    unit: Unit, parts: list[NDArray[np.int64]], hits: _Hits, covered: set[int], least: int
) -> tuple[int, float] | None:
    """Return where most of a unit begins, and the share of it that stands in the text, if it is long enough.

    Windows of a text that stands there whole say nothing of others that share them.
    """
    own = [[row for row in part.tolist() if int(hits.windows[row]) not in covered] for part in parts]
    longest = max(own, key=len)
    if WIDTH + STEP * (len(longest) - 1) < least:
        return None
    windows = {int(hits.windows[row]) for rows in own for row in rows}
    return int(hits.starts[longest[0]]), min(0.9999, round(len(windows) / unit.windows, 4))


def _placed(index: Index, text: Text, found: dict[int, tuple[int, float]]) -> Iterator[Trace]:
    places = letter_places(text.text)
    for number, (start, share) in sorted(found.items()):
        unit = index.units[number]
        first, last = max(0, start), min(len(places), start + len(unit.letters)) - 1
        if first <= last:
            yield Trace(unit, text, int(places[first]), int(places[last]) + 1, share)
