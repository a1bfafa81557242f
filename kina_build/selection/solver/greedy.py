"""The greedy set, pick for pick what the naive greedy takes, without evaluating every item.

Marginal gains only shrink as the set grows (Minoux 1978), so the gain an item had earlier
bounds its gain now. The compiled kernel keeps these stale bounds in blocks with the maximum
of each: one skipping pass a pick and no heap. Ties go by raw centrality, then by item_id.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.config import SelectionRules
from kina_build.selection.solver.index import StandingGains
from kina_build.selection.solver.passes import sum_gains
from kina_build.selection.solver.problem import Problem, Room, contenders
from kina_build.selection.solver.shards import Shards, Turn

Floats = NDArray[np.float64]

FIRST_CHUNK = 64
"""Items the numpy path evaluates first in a pick."""


@dataclass(frozen=True)
class Picks:
    """Items in pick order with their marginal gains in steps of 1 / unit."""

    items: tuple[int, ...]
    gains: tuple[int, ...]

    @property
    def value(self) -> int:
        """Return the objective of the set."""
        return sum(self.gains)


def pick_greedily(
    problem: Problem,
    rules: SelectionRules = SelectionRules(),
    *,
    given: Iterable[int] | None = None,
    without: Iterable[int] = (),
    standing: StandingGains | None = None,
) -> Picks:
    """Add the item of largest marginal gain that leaves the set completable, until none is open.

    Args:
        problem: the instance; its must-include items come first.
        rules: settings.
        given: items already in the set, in order, in place of the must-include items.
        without: items left out beside the barred ones.
        standing: the index of these scores, where many sets are picked from them.

    Returns:
        At most `size` picks. Fewer only where conflicts closed the way (see repair.py).
    """
    start = tuple(problem.must.tolist()) if given is None else tuple(given)
    room = Room(problem, start)
    room.blocked[list(without)] = True
    if standing is not None:
        gainful = standing.pick(problem, room, problem.cover(start))
    elif problem.shards is not None:
        gainful = _pick_over_shards(problem, room, problem.cover(start), problem.shards)
    elif len(problem.stratum) >= rules.compiled_from_items:
        gainful = _pick_compiled(problem, room, problem.cover(start), rules.block_items)
    else:
        gainful = _pick_in_numpy(problem, room, problem.cover(start))
    central = problem.centrality if standing is None else standing.centrality
    items = start + gainful + _fill_saturated(problem, room, central)
    return Picks(items, marginal_gains(problem, items))


def order_picks(problem: Problem, items: Iterable[int]) -> Picks:
    """Put a finished set in pick order: must-include items first, then greedily within the set."""
    must = tuple(problem.must.tolist())
    rest = np.setdiff1d(np.array(list(items), dtype=np.int64), problem.must)
    order: list[int] = []
    cover = problem.cover(must)
    while len(rest):
        gains = sum_gains(problem.matrix.levels[rest], problem.weights, cover)
        best = int(rest[np.lexsort((rest, -problem.centrality[rest], -gains))[0]])
        order.append(best)
        cover = np.maximum(cover, problem.matrix.levels[best])
        rest = rest[rest != best]
    picked = must + tuple(order)
    return Picks(picked, marginal_gains(problem, picked))


def marginal_gains(problem: Problem, items: Iterable[int]) -> tuple[int, ...]:
    """Return what each item adds to those before it, in steps of 1 / unit."""
    cover = np.zeros(len(problem.weights))
    gains: list[int] = []
    for item in items:
        better = np.maximum(cover, problem.matrix.levels[item])
        gains.append(int((better - cover) @ problem.weights))
        cover = better
    return tuple(gains)


def _pick_in_numpy(problem: Problem, room: Room, cover: Floats) -> tuple[int, ...]:
    """Pick until no open item gains anything.

    The items of largest stale bound are evaluated first; then all whose bound reaches the
    best of them, and no other can be better.
    """
    levels, weights, bounds = problem.matrix.levels, problem.weights, problem.centrality.copy()
    picks: list[int] = []
    while room.places and len(live := np.flatnonzero(room.open_items())):
        head = live
        if len(live) > FIRST_CHUNK:
            head = live[np.argpartition(-bounds[live], FIRST_CHUNK)[:FIRST_CHUNK]]
        bounds[head] = sum_gains(levels[head], weights, cover)
        near = live[bounds[live] >= bounds[head].max()]
        bounds[near] = sum_gains(levels[near], weights, cover)
        top = near[bounds[near] == bounds[near].max()]
        best = int(top[problem.centrality[top].argmax()])  # the first of equals has the smallest id
        if bounds[best] == 0:
            break
        picks.append(best)
        room.take(best)
        cover = np.maximum(cover, levels[best])
    return tuple(picks)


def _fill_saturated(problem: Problem, room: Room, central: Floats) -> tuple[int, ...]:
    """Fill the places left once no open item gains anything: gains are 0, so centrality decides.

    What is closed stays closed, so one walk down the order is enough.
    """
    if not room.places:
        return ()
    live = contenders(problem, np.where(room.open_items(), central, -1.0), room.places)
    live = live[room.open_items()[live]]
    picks: list[int] = []
    open_strata = room.open_strata()
    for item in map(int, live[np.argsort(-central[live], kind="stable")]):
        if room.blocked[item] or not open_strata[problem.stratum[item]]:
            continue
        picks.append(item)
        room.take(item)
        if not room.places:
            break
        open_strata = room.open_strata()
    return tuple(picks)


def _pick_compiled(problem: Problem, room: Room, cover: Floats, block: int) -> tuple[int, ...]:
    """Pick until no open item gains anything, with the compiled kernel."""
    from kina_build.selection.solver.blocks import pick_all

    bounds = np.where(room.blocked, -1.0, problem.centrality)
    picks = np.empty(room.places, dtype=np.int64)
    conflicts = problem.conflicts
    count = pick_all(
        problem.matrix.levels,
        problem.weights,
        cover,
        bounds,
        problem.centrality,
        problem.stratum,
        room.counts.copy(),
        problem.lower,
        problem.upper,
        problem.group,
        room.free,
        conflicts.start,
        conflicts.stop,
        conflicts.members,
        picks,
        block,
    )
    found = tuple(picks[:count].tolist())
    for item in found:
        room.take(item)
    return found


def _pick_over_shards(problem: Problem, room: Room, cover: Floats, shards: Shards) -> tuple[int, ...]:
    """Pick until no open item gains anything, each pick the best of all shards."""
    pursuit = shards.begin(problem.weights, problem.centrality, problem.stratum, room.blocked.copy())
    picks: list[int] = []
    closed: list[int] = []
    while room.places:
        turn = Turn(cover, room.open_strata(), np.array(closed, dtype=np.int64))
        item = pursuit.next(turn)
        if item < 0:
            break
        picks.append(item)
        room.take(item)
        closed += [item, *problem.conflicts.of(item).tolist()]
        cover = np.maximum(cover, problem.matrix.levels[item])
    return tuple(picks)
