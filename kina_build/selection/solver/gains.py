"""Marginal gains of the items of one problem, by four ways of not evaluating every item.

Marginal gains only shrink as the set grows (Minoux 1978), so the gain an item had earlier
bounds its gain now. In numpy the items of largest stale bound are evaluated first; the compiled
kernel keeps the bounds in blocks with the maximum of each: one skipping pass a pick and no heap;
where the levels are on disk, each shard does so with its own (shards.py).

The index lists the items of each anchor by falling level. When the coverage of an anchor
moves, the gains that change are those of the items above the lower of the two coverages: the
head of its list, in runs of equal level that all change alike. A pick then costs what it
changes (eager updates), and going from one set to a neighbouring one costs what differs, so
that a search that refills hundreds of sets pays for the scores once. For a single greedy set
the lazy kernel is faster: building the index is a sort of the scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kina_build.config import SelectionRules
from kina_build.selection.solver.conflicts import Indices
from kina_build.selection.solver.growing import Room
from kina_build.selection.solver.kernels import (
    best_of_blocks,
    compiled,
    largest_gain,
    shift_gains,
    sum_gains,
    tops_of_blocks,
)
from kina_build.selection.solver.pairs import best_of_pairs
from kina_build.selection.solver.problem import Problem
from kina_build.support.matrix import SupportMatrix
from kina_build.support.sparse import SparseLevels

Floats = NDArray[np.float64]

FIRST_CHUNK = 64
"""Items the numpy way evaluates first in a pick."""
EVERY_ROW = np.empty(0, dtype=np.int64)
"""Tells the kernel that an item's levels lie in the row of its number."""


class Gains(Protocol):
    """Marginal gains in one run of the greedy loop."""

    def best(self, cover: Floats, room: Room) -> int:
        """Return the open item of largest gain by the tie rule, or -1 where none gains.

        Args:
            cover: best level of each anchor so far, shape (anchors,); never falls during a run.
            room: what the set leaves open; never opens again during a run.
        """


def start_gains(problem: Problem, room: Room, rules: SelectionRules = SelectionRules()) -> Gains:
    """Choose how the gains of one greedy set are found: over shards, compiled, or in numpy."""
    if problem.shards is not None:
        return problem.shards.begin(problem, room)
    if isinstance(problem.matrix.levels, SparseLevels):
        return PairGains(problem, problem.matrix.levels, room, rules.block_items)
    if len(problem.stratum) >= rules.compiled_from_items:
        return KernelGains(problem, room, rules.block_items)
    return NumpyGains(problem)


class NumpyGains:
    """Stale bounds in one array, evaluated in chunks."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._bounds = problem.centrality.copy()

    def best(self, cover: Floats, room: Room) -> int:
        """Evaluate the items of largest stale bound, then all whose bound reaches the best of them."""
        problem, bounds = self._problem, self._bounds
        live = np.flatnonzero(room.open_items())
        if not len(live):
            return -1
        head = live
        if len(live) > FIRST_CHUNK:
            head = live[np.argpartition(-bounds[live], FIRST_CHUNK)[:FIRST_CHUNK]]
        bounds[head] = sum_gains(problem.matrix.levels[head], problem.weights, cover)
        near = live[bounds[live] >= bounds[head].max()]
        bounds[near] = sum_gains(problem.matrix.levels[near], problem.weights, cover)
        top = near[bounds[near] == bounds[near].max()]
        item = int(top[problem.centrality[top].argmax()])  # the first of equals has the smallest id
        return item if bounds[item] > 0 else -1


class KernelGains:
    """Stale bounds in blocks, scanned by compiled code."""

    def __init__(self, problem: Problem, room: Room, block: int) -> None:
        self._scan = compiled(best_of_blocks)
        self._levels, self._weights = problem.matrix.levels, problem.weights
        self._central, self._stratum = problem.centrality, problem.stratum
        self._bounds = np.where(room.blocked, -1.0, problem.centrality)
        self._tops = compiled(tops_of_blocks)(self._bounds, block)
        self._stale = np.empty(block, dtype=np.int64)
        self._closed = len(room.closed)

    def best(self, cover: Floats, room: Room) -> int:
        """Scan the blocks that can hold the best item."""
        for item in room.closed[self._closed :]:
            self._bounds[item] = -1.0
        self._closed = len(room.closed)
        item = self._scan(
            self._levels,
            EVERY_ROW,
            self._weights,
            cover,
            self._bounds,
            self._central,
            self._stratum,
            room.open_strata(),
            self._tops,
            self._stale,
            0.0,
            np.inf,
        )
        return int(item)


class PairGains:
    """Stale bounds in blocks, over levels that are kept as pairs: an item costs what it supports."""

    def __init__(self, problem: Problem, levels: SparseLevels, room: Room, block: int) -> None:
        self._scan = compiled(best_of_pairs)
        self._scores = (levels.starts, levels.columns, levels.values, problem.weights)
        self._keys = (problem.centrality, problem.stratum)
        self._bounds = np.where(room.blocked, -1.0, problem.centrality)
        self._tops = compiled(tops_of_blocks)(self._bounds, block)
        self._block, self._closed = block, len(room.closed)

    def best(self, cover: Floats, room: Room) -> int:
        """Scan the blocks that can hold the best item."""
        self._bounds[room.closed[self._closed :]] = -1.0
        self._closed = len(room.closed)
        keys = (*self._keys, room.open_strata(), self._tops, self._block)
        return int(self._scan(*self._scores, cover, self._bounds, *keys))


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
    """The gain of every item over one coverage, moved from set to set."""

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
        self._block = block
        self._tops: Floats = np.zeros(math.ceil(len(self.gains) / block))

    def begin(self) -> StandingGains:
        """Start another run of the greedy loop, whose set need not hold that of the run before."""
        self._tops[:] = np.inf
        return self

    def move(self, cover: Floats) -> None:
        """Bring the gains to another coverage, in levels, shape (anchors,)."""
        if cover.any():
            lists = self.lists
            runs = (lists.first, lists.level, lists.start, lists.items)
            compiled(shift_gains)(*runs, self.weights, self.cover, cover, self.gains)
        else:
            self.gains[:] = self.centrality
        self.cover = cover

    def best(self, cover: Floats, room: Room) -> int:
        """Move to the coverage and look for the largest gain."""
        self.move(cover)
        keys = (self.gains, self.centrality, room.problem.stratum)
        return int(compiled(largest_gain)(*keys, room.blocked, room.open_strata(), self._tops, self._block))
