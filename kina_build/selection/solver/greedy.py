"""The greedy set, pick for pick what the naive greedy takes.

Ties go by raw centrality, then by item_id. How gains are found without evaluating every item
is the matter of gains.py and shards.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.config import SelectionRules
from kina_build.selection.solver.conflicts import Indices
from kina_build.selection.solver.gains import StandingGains, start_gains
from kina_build.selection.solver.growing import Cover, Room
from kina_build.selection.solver.kernels import CHUNK_SCORES, compiled, sum_gains
from kina_build.selection.solver.pairs import gains_of_pairs
from kina_build.selection.solver.problem import Problem, contenders
from kina_build.support.sparse import SparseLevels, rows_of

Floats = NDArray[np.float64]


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
    gains = start_gains(problem, room, rules) if standing is None else standing.begin()
    cover, picks = Cover(problem, start), list(start)
    while room.places and (item := gains.best(cover.least, room)) >= 0:
        room.take(item)
        picks.append(item)
        cover.add(item)
    central = problem.centrality if standing is None else standing.centrality
    items = (*picks, *_fill_saturated(problem, room, central))
    return Picks(items, marginal_gains(problem, items))


def order_picks(problem: Problem, items: Iterable[int]) -> Picks:
    """Put a finished set in pick order: must-include items first, then greedily within the set."""
    must = tuple(problem.must.tolist())
    rest = np.setdiff1d(np.array(list(items), dtype=np.int64), problem.must)
    order: list[int] = []
    cover = Cover(problem, must)
    while len(rest):
        gains = sum_gains(rows_of(problem.matrix.levels, rest), problem.weights, cover.least)
        best = int(rest[np.lexsort((rest, -problem.centrality[rest], -gains))[0]])
        order.append(best)
        cover.add(best)
        rest = rest[rest != best]
    picked = must + tuple(order)
    return Picks(picked, marginal_gains(problem, picked))


def marginal_gains(problem: Problem, items: Iterable[int]) -> tuple[int, ...]:
    """Return what each item adds to those before it, in steps of 1 / unit."""
    chosen = np.fromiter(items, dtype=np.int64)
    table = problem.matrix.levels
    if isinstance(table, SparseLevels):
        gains, tops = np.zeros(len(chosen)), problem.tops(())
        scores = (table.starts, table.columns, table.values, problem.weights)
        compiled(gains_of_pairs)(*scores, tops, chosen, gains)
        return tuple(gains.astype(np.int64).tolist())
    if problem.folds > 1:
        return _gains_one_by_one(problem, chosen)
    cover: Floats = np.zeros(len(problem.weights))
    worth: list[Floats] = [np.zeros(1)]
    rows = max(1, CHUNK_SCORES // (8 * max(1, len(cover))))
    for at in range(0, len(chosen), rows):
        levels = np.maximum(problem.matrix.levels[chosen[at : at + rows]], cover)
        covers = np.maximum.accumulate(levels, axis=0)
        worth.append(covers @ problem.weights)
        cover = covers[-1]
    return tuple(np.diff(np.concatenate(worth)).astype(np.int64).tolist())


def _gains_one_by_one(problem: Problem, chosen: Indices) -> tuple[int, ...]:
    cover, gains = Cover(problem), []
    for item in chosen.tolist():
        levels = problem.matrix.levels[item]
        gains.append(int(np.maximum(levels - cover.least, 0) @ problem.weights))
        cover.add(item)
    return tuple(gains)


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
