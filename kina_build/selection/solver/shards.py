"""Levels on disk, read where an engine runs: passes as maps, each pick as the best of all shards.

A shard keeps exact stale bounds of its items, so that a pick asks it for its best only while
its largest bound can still win. What a shard remembers is never needed for its answer: one that
was lost is built again from its files and asked the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import SelectionRules
from kina_build.engine import Engine
from kina_build.selection.solver.conflicts import Indices
from kina_build.selection.solver.kernels import (
    CHUNK_SCORES,
    best_of_blocks,
    compiled,
    sum_gains,
    tops_of_blocks,
)
from kina_build.support.levels import FileLevels, LevelFile, Window

if TYPE_CHECKING:
    from kina_build.selection.solver.growing import Room
    from kina_build.selection.solver.problem import Problem

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Start:
    """What a greedy run starts from."""

    run: int
    weights: Floats
    centrality: Floats
    """Shape (items,), of all items."""
    stratum: Indices
    blocked: NDArray[np.bool_]
    """Items that are not open when the run starts."""


@dataclass(frozen=True)
class Turn:
    """What a shard is asked for a pick."""

    cover: Floats
    open_strata: NDArray[np.bool_]
    closed: Indices
    """Items closed since the start, in the order they were."""
    gain: float = 0.0
    """The mark to beat or equal: its gain, then its centrality."""
    centrality: float = float("inf")


@dataclass(frozen=True, order=True)
class Offer:
    """An open item of largest gain; the larger offer wins by the tie rule."""

    gain: float
    centrality: float
    minus_item: int

    @property
    def item(self) -> int:
        """Return the item's number."""
        return -self.minus_item


class Shard:
    """Some pieces of the levels, and the bounds of the greedy run it was last asked about."""

    def __init__(self, pieces: Sequence[LevelFile], keep_pages: bool, block: int) -> None:
        self._parts = [_Part(Window(piece), block) for piece in pieces]
        self._keep_pages = keep_pages
        self._run = -1
        self._closed = 0

    def sum_gains(self, weights: Floats, thresholds: Floats) -> list[Floats]:
        """Return, for each piece, what its items have above thresholds."""
        return [self._then_release(part, part.sum_gains(weights, thresholds)) for part in self._parts]

    def best(self, start: Start, turn: Turn) -> tuple[Offer | None, float]:
        """Return the best open item that beats or equals the mark, and the largest bound left."""
        if self._run != start.run:
            self._run, self._closed = start.run, 0
            for part in self._parts:
                part.begin(start)
        fresh, self._closed = turn.closed[self._closed :], len(turn.closed)
        for part in self._parts:
            part.close(fresh)
        best: Offer | None = None
        for part in sorted(self._parts, key=lambda part: -part.ceiling):
            gain, centrality = (turn.gain, turn.centrality) if best is None else (best.gain, best.centrality)
            if part.ceiling < gain or part.ceiling <= 0:
                break
            offer = self._then_release(part, part.best(start, turn, gain, centrality))
            if offer is not None and (best is None or offer > best):
                best = offer
        return best, max((part.ceiling for part in self._parts), default=-1.0)

    def _then_release(self, part: _Part, result: Any) -> Any:
        if not self._keep_pages:
            part.window.release()
        return result


@dataclass
class _Part:
    """One piece with its bounds."""

    window: Window
    block: int
    ceiling: float = -1.0
    """The largest bound."""
    bounds: Floats = field(default_factory=lambda: np.empty(0))
    central: Floats = field(default_factory=lambda: np.empty(0))
    stratum: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    tops: Floats = field(default_factory=lambda: np.empty(0))

    def sum_gains(self, weights: Floats, thresholds: Floats) -> Floats:
        piece, levels = self.window.piece, self.window.levels
        if piece.place is None:
            return sum_gains(levels, weights, thresholds, compiled_from=0)
        rows = max(1, CHUNK_SCORES // max(1, len(weights)))
        parts = [
            sum_gains(levels[piece.place[at : at + rows]], weights, thresholds, compiled_from=0)
            for at in range(0, piece.count, rows)
        ]
        return np.concatenate(parts)

    def begin(self, start: Start) -> None:
        piece = self.window.piece
        self.central, self.stratum = start.centrality[piece.own], start.stratum[piece.own]
        self.bounds = np.where(start.blocked[piece.own], -1.0, self.central)
        self.tops = compiled(tops_of_blocks)(self.bounds, self.block)
        self.ceiling = float(self.tops.max(initial=-1.0))

    def close(self, items: Indices) -> None:
        _, local = self.window.piece.find(items)
        self.bounds[local] = -1.0

    def best(self, start: Start, turn: Turn, gain: float, centrality: float) -> Offer | None:
        piece = self.window.piece
        place = np.empty(0, dtype=np.int64) if piece.place is None else piece.place
        item = int(
            compiled(best_of_blocks)(
                self.window.levels,
                place,
                start.weights,
                turn.cover,
                self.bounds,
                self.central,
                self.stratum,
                turn.open_strata,
                self.tops,
                np.empty(self.block, dtype=np.int64),
                gain,
                centrality,
            )
        )
        self.ceiling = float(self.tops.max())
        if item < 0:
            return None
        return Offer(float(self.bounds[item]), float(self.central[item]), -piece.number(item))


class Shards:
    """All shards of one matrix, asked through an engine."""

    runs = itertools.count()

    def __init__(self, levels: FileLevels, engine: Engine, rules: SelectionRules = SelectionRules()) -> None:
        """Deal the pieces out, one shard a worker.

        Args:
            levels: on disk.
            engine: where the shards live.
            rules: settings.
        """
        self._engine = engine
        self._count = len(levels)
        count = max(1, min(engine.workers, len(levels.pieces)))
        self._pieces = [levels.pieces[at::count] for at in range(count)]
        parts = [(pieces, levels.keep_pages, rules.block_items) for pieces in self._pieces]
        self._kept = engine.keep(Shard, parts)

    def sum_gains(self, weights: Floats, thresholds: Floats) -> Floats:
        """Return what each item has above thresholds, shape (items,)."""
        answers = self._kept.ask("sum_gains", dict.fromkeys(range(len(self._kept)), (weights, thresholds)))
        out = np.empty(self._count)
        for at, sums in answers.items():
            for piece, values in zip(self._pieces[at], sums, strict=True):
                out[piece.own] = values
        return out

    def begin(self, problem: Problem, room: Room) -> Pursuit:
        """Start a greedy run over the levels of a problem."""
        start = Start(
            next(self.runs), problem.weights, problem.centrality, problem.stratum, room.blocked.copy()
        )
        return Pursuit(self._kept, self._engine.share(start), len(room.closed))


class Pursuit:
    """The gains of one greedy run over the shards."""

    def __init__(self, kept: Any, start: Any, closed: int) -> None:
        self._kept = kept
        self._start = start
        self._closed = closed
        self._ceilings = np.full(len(kept), np.inf)

    def best(self, cover: Floats, room: Room) -> int:
        """Return the best item of all shards, or -1 where none gains."""
        closed = np.array(room.closed[self._closed :], dtype=np.int64)
        turn = Turn(cover, room.open_strata(), closed)
        # the shard of the largest bound goes first: the others need to look only above what it offers
        first = int(self._ceilings.argmax())
        best = self._ask({first: turn}, None)
        mark = turn if best is None else replace(turn, gain=best.gain, centrality=best.centrality)
        others = {
            at: mark
            for at, ceiling in enumerate(self._ceilings)
            if at != first and ceiling > 0 and ceiling >= mark.gain
        }
        best = self._ask(others, best)
        return -1 if best is None else best.item

    def _ask(self, turns: Mapping[int, Turn], best: Offer | None) -> Offer | None:
        answers = self._kept.ask("best", {at: (self._start, turn) for at, turn in turns.items()})
        for at, (offer, ceiling) in answers.items():
            self._ceilings[at] = ceiling
            if offer is not None and (best is None or offer > best):
                best = offer
        return best
