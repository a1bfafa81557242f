"""The greedy set again and again over the same scores: gains kept up to date, not evaluated.

The index lists the items of each anchor by falling level. When the coverage of an anchor
moves, the gains that change are those of the items above the lower of the two coverages: the
head of its list, in runs of equal level that all change alike. A pick then costs what it
changes (eager updates), and going from one set to a neighbouring one costs what differs, so
that a search that refills hundreds of sets pays for the scores once. For a single greedy set
the lazy kernel of greedy.py is faster: building the index is a sort of the scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.selection.solver.conflicts import Indices
from kina_build.selection.solver.passes import compiled
from kina_build.selection.solver.problem import Problem, Room
from kina_build.support.matrix import SupportMatrix

Floats = NDArray[np.float64]

ANCHORS_AT_ONCE = 32
"""Columns copied together: a cache line of 16-bit levels, so that each is read once."""


@dataclass(frozen=True)
class ScoreLists:
    """The positive scores of each anchor as runs of equal level, highest first."""

    first: Indices
    """Shape (anchors + 1,): anchor u has the runs first[u] to first[u + 1]."""
    level: Floats
    """Shape (runs,)."""
    start: Indices
    """Shape (runs + 1,): run r holds items[start[r] : start[r + 1]]."""
    items: NDArray[np.int32]

    @property
    def size(self) -> int:
        """Return the bytes it holds."""
        return self.first.nbytes + self.level.nbytes + self.start.nbytes + self.items.nbytes


def list_scores(matrix: SupportMatrix) -> ScoreLists:
    """Sort the positive scores of each anchor by falling level, then by item."""
    items, levels, starts, counts = [], [], [], []
    filled = 0
    for at in range(0, len(matrix.anchor_ids), ANCHORS_AT_ONCE):
        for column in np.ascontiguousarray(matrix.levels[:, at : at + ANCHORS_AT_ONCE].T):
            held = np.flatnonzero(column > 0)
            # counted down from the scale: a stable sort of 16-bit levels is a radix sort
            order = held[np.argsort(matrix.scale - column[held], kind="stable")]
            heads = np.flatnonzero(np.diff(column[order], prepend=0))
            items.append(order.astype(np.int32))
            levels.append(column[order[heads]])
            starts.append(filled + heads)
            counts.append(len(heads))
            filled += len(order)
    return ScoreLists(
        first=np.cumsum([0, *counts]),
        level=np.concatenate(levels).astype(np.float64),
        start=np.append(np.concatenate(starts), filled),
        items=np.concatenate(items),
    )


class StandingGains:
    """Hold the gain of every item over one coverage, and move it to another."""

    def __init__(self, problem: Problem, block: int) -> None:
        """Index the scores of a problem.

        Args:
            problem: its scores count; size, quotas, conflicts and bars may differ from pick to pick.
            block: items a block of largest gains.
        """
        self.lists = list_scores(problem.matrix)
        self.weights = problem.weights
        self.centrality = problem.centrality
        self.gains = problem.centrality.copy()
        self.cover: Floats = np.zeros(len(self.weights))
        self.block = block

    def move(self, cover: Floats) -> None:
        """Bring the gains to another coverage, in levels, shape (anchors,)."""
        if cover.any():
            lists = self.lists
            runs = (lists.first, lists.level, lists.start, lists.items)
            compiled(_shift)(*runs, self.weights, self.cover, cover, self.gains)
        else:
            self.gains[:] = self.centrality
        self.cover = cover

    def pick(self, problem: Problem, room: Room, cover: Floats) -> tuple[int, ...]:
        """Pick until no open item gains anything, in the order of pick_greedily.

        Args:
            problem: over the indexed scores.
            room: what the set leaves open; the picks are taken from it.
            cover: of the set so far.
        """
        self.move(cover)
        keys = (self.gains, self.centrality, problem.stratum)
        tops = np.full(math.ceil(len(self.gains) / self.block), np.inf)
        picks: list[int] = []
        while room.places:
            item = int(compiled(_largest)(*keys, room.blocked, room.open_strata(), tops, self.block))
            if item < 0:
                break
            picks.append(item)
            room.take(item)
            self.move(np.maximum(self.cover, problem.matrix.levels[item]))
        return tuple(picks)


def _shift(  # noqa: PLR0917  plain arrays, as numba wants them
    first: Indices,
    level: Floats,
    start: Indices,
    items: NDArray[np.int32],
    weights: Floats,
    old: Floats,
    new: Floats,
    gains: Floats,
) -> None:
    for anchor in range(len(weights)):
        if old[anchor] == new[anchor]:
            continue
        least = min(old[anchor], new[anchor])
        for run in range(first[anchor], first[anchor + 1]):
            if level[run] <= least:
                break
            change = max(level[run] - new[anchor], 0.0) - max(level[run] - old[anchor], 0.0)
            change *= weights[anchor]
            for at in range(start[run], start[run + 1]):
                gains[items[at]] += change


def _largest(  # noqa: PLR0917  plain arrays, as numba wants them
    gains: Floats,
    central: Floats,
    stratum: Indices,
    blocked: NDArray[np.bool_],
    open_strata: NDArray[np.bool_],
    tops: Floats,
    block: int,
) -> Any:
    """Return the open item of largest gain by the tie rule, or -1 where none gains.

    Gains only fall from pick to pick and what is closed stays closed, so the largest gain a
    block had bounds what it has now.
    """
    best = (0.0, np.inf, 1)  # gain, centrality, minus the item: no item that gains 0 exceeds it
    first = int(tops.argmax())
    for turn in range(-1, len(tops)):
        b = first if turn < 0 else turn
        if turn == first or tops[b] <= 0 or tops[b] < best[0]:
            continue
        tops[b] = 0.0
        for item in range(b * block, min(len(gains), b * block + block)):
            if blocked[item] or not open_strata[stratum[item]]:
                continue
            tops[b] = max(tops[b], gains[item])
            if (gains[item], central[item], -item) > best:  # noqa: PLR1730  numba has no max() of tuples
                best = (gains[item], central[item], -item)
    return -best[2]
