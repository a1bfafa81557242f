"""The index of a pool's texts: windows of their letters, found by a table of slots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.compare.lexical import Reading
from kina_build.dedup.contamination.letters import WIDTH, Hashes, letters, windows_of

SLOTS = (1 << 18, 1 << 26)
"""Least and most places of the table that says which windows are in no index: one byte each."""
SLOTS_A_WINDOW = 32
Kind = Literal["stem", "option", "passage"]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Unit:
    """One text that is looked for."""

    row: int
    """Of the item."""
    kind: Kind
    letters: bytes
    windows: int
    """Windows by which it is looked for; those that many items share are not among them."""


@dataclass(frozen=True)
class Index:
    """Windows of a pool's texts, and where they come from."""

    units: tuple[Unit, ...]
    hashes: Hashes
    """Sorted, each once."""
    firsts: Places
    """Where each window's holders begin in `holders` and `offsets`, and the end."""
    holders: Places
    offsets: Places
    """Where in its unit the window stands."""
    slots: NDArray[np.bool_]
    unsearchable: dict[str, str]
    """Items that cannot be looked for, and why."""

    @cached_property
    def lengths(self) -> Places:
        """Return the letters of each unit."""
        return np.array([len(unit.letters) for unit in self.units], dtype=np.int64)


def build_index(readings: Sequence[Reading], rules: DedupRules = DedupRules()) -> Index:
    """Index the stems, passages and, where the stem alone would not do, the options of a pool."""
    named: list[tuple[int, Kind, bytes]] = []
    parts: list[tuple[Hashes, Places]] = []
    for row, reading in enumerate(readings):
        for kind, text in _units(reading, rules):
            data = letters(text)
            offsets, hashes = windows_of(data)
            if len(hashes):
                named.append((row, kind, data))
                parts.append((hashes, offsets))
    hashes = np.concatenate([np.empty(0, np.uint64), *(part[0] for part in parts)])
    offsets = np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)])
    holders = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts]).astype(np.int64)
    order = np.lexsort((offsets, holders, hashes))
    hashes, holders, offsets = hashes[order], holders[order], offsets[order]
    _, places, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    telling = counts[places] < rules.common_limit if len(hashes) else np.empty(0, np.bool_)
    hashes, holders, offsets = hashes[telling], holders[telling], offsets[telling]
    windows = np.bincount(holders, minlength=len(named)).tolist()
    units = [Unit(*unit, count) for unit, count in zip(named, windows, strict=True)]
    return _index(units, hashes, holders, offsets, readings)


def _index(
    units: list[Unit], hashes: Hashes, holders: Places, offsets: Places, readings: Sequence[Reading]
) -> Index:
    unique, firsts = np.unique(hashes, return_index=True)
    size = min(max(SLOTS[0], 1 << (SLOTS_A_WINDOW * len(unique)).bit_length()), SLOTS[1])
    slots = np.zeros(size, dtype=np.bool_)
    slots[slot_of(unique, size)] = True
    found = {units[unit].row for unit in set(holders.tolist())}
    unsearchable = {
        reading.item_id: "its stem and its options are too short, or as common as those of many items"
        for row, reading in enumerate(readings)
        if row not in found
    }
    return Index(tuple(units), unique, np.append(firsts, len(hashes)), holders, offsets, slots, unsearchable)


def _units(reading: Reading, rules: DedupRules) -> Iterator[tuple[Kind, str]]:
    if reading.material:
        yield "passage", reading.material
    if reading.told >= rules.trace_words:
        yield "stem", reading.question
        if len(letters(reading.question)) >= WIDTH:
            return
    for answer in reading.answers:
        yield "option", answer


def slot_of(hashes: Hashes, size: int) -> NDArray[np.uint64]:
    """Return the slot of each hash: its first bits."""
    return hashes >> np.uint64(64 - (size.bit_length() - 1))
