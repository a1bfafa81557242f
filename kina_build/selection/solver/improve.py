"""Search on from a set: best swaps, then ruin a part, refill greedily, swap again.

The search looks only at the items that the dual bound prices highest; sets stay allowed
all the way, and a worse set never replaces a better one. It refills a set many times over the
same few scores: above a few thousand candidates, where compiled code is loaded anyway, the
gains are kept up to date between the refills (index.py).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kina_build.config import SelectionRules
from kina_build.selection.solver.bounds import UpperBound
from kina_build.selection.solver.conflicts import Indices
from kina_build.selection.solver.gains import StandingGains
from kina_build.selection.solver.greedy import Picks, order_picks, pick_greedily
from kina_build.selection.solver.growing import Room
from kina_build.selection.solver.problem import Problem, largest

Floats = NDArray[np.float64]


def improve_set(
    problem: Problem,
    picks: Picks,
    upper: UpperBound,
    rules: SelectionRules = SelectionRules(),
    *,
    seed: int = 0,
) -> Picks:
    """Return a set at least as good, found by iterated local search.

    Args:
        problem: the instance.
        picks: a set that meets the constraints.
        upper: a bound, whose prices say which items are worth a look; reaching it ends the search.
        rules: settings.
        seed: of the ruins.
    """
    rng = np.random.default_rng(seed)
    pool = _promising(problem, picks.items, upper, rules.search_items)
    small = problem.narrowed(pool)
    compiled = len(problem.stratum) >= rules.compiled_from_items
    standing = StandingGains(small, rules.block_items) if compiled else None
    best = here = _swap_down(small, set(np.searchsorted(pool, picks.items).tolist()))
    best_value = here_value = small.value(best)
    for _ in range(rules.search_rounds):
        if best_value >= upper.value:
            break
        trial = _ruin_and_refill(small, here, standing, rules, rng)
        if trial is None:
            continue
        trial = _swap_down(small, trial)
        value = small.value(trial)
        if value >= here_value:
            here, here_value = trial, value
        if value > best_value:
            best, best_value = trial, value
    return order_picks(problem, pool[sorted(best)].tolist()) if best_value > picks.value else picks


def climb(
    problem: Problem, picks: Picks, upper: UpperBound, rules: SelectionRules = SelectionRules()
) -> Picks:
    """Make the best swap of one item for another until none gains.

    Args:
        problem: the instance.
        picks: a set that meets the constraints.
        upper: a bound, whose prices say which items are worth a look.
        rules: settings.
    """
    pool = _promising(problem, picks.items, upper, rules.search_items)
    small = problem.narrowed(pool)
    best = _swap_down(small, set(np.searchsorted(pool, picks.items).tolist()))
    return order_picks(problem, pool[sorted(best)].tolist()) if small.value(best) > picks.value else picks


def _promising(problem: Problem, items: Iterable[int], upper: UpperBound, count: int) -> Indices:
    """Return the items in the set and those of highest price, a fair share of each stratum, rising."""
    prices, share = upper.prices, max(1, count // len(problem.strata))
    picked = [largest(np.flatnonzero(~problem.barred), prices, count)]
    tied = problem.conflicts.tied[~problem.barred[problem.conflicts.tied]]
    for h, lone in enumerate(problem.lone):
        near = tied[problem.stratum[tied] == h]
        picked.append(largest(np.union1d(lone, near), prices, share))
    together: Indices = np.unique(np.concatenate([*picked, np.array(list(items), dtype=np.int64)]))
    return together


def _swap_down(problem: Problem, items: set[int]) -> set[int]:
    """Make the best swap of one item for another until none gains."""
    while True:
        swap = best_swap(problem, sorted(items))
        if swap is None:
            return items
        out, into = swap
        items = (items - {out}) | {into}


def best_swap(problem: Problem, items: list[int]) -> tuple[int, int] | None:
    """Return (item out, item in) of largest gain, or None.

    With the r-th and the next best level of each anchor in the set, the value of every swap
    comes from one pass over the scores (Whitaker 1983, for r = 1): what the new item adds above
    the r-th, plus what it saves of the anchors for which the old item counts.
    """
    outside = np.setdiff1d(np.arange(len(problem.stratum)), items)
    if not len(outside) or not items:
        return None
    inside = problem.matrix.levels[items].astype(np.float64)
    first = problem.cover(items)
    second = problem.folded(problem.folds + 1).cover(items)
    keepers = np.argsort(-inside, axis=0, kind="stable")[: problem.folds]
    held = np.zeros((len(first), len(items)))
    held[np.arange(len(first)), keepers] = problem.weights
    loss = ((inside - second) * held.T).sum(axis=1)
    rows = problem.matrix.levels[outside].astype(np.float64)
    added = np.maximum(rows - first, 0) @ problem.weights
    saved = np.clip(rows - second, 0, first - second) @ held
    change = added[:, None] + saved - loss
    change[~_allowed(problem, items, outside)] = -np.inf
    into, out = np.unravel_index(int(change.argmax()), change.shape)
    if change[into, out] <= 0:
        return None
    return items[int(out)], int(outside[int(into)])


def _allowed(problem: Problem, items: list[int], outside: Indices) -> NDArray[np.bool_]:
    """Tell which swaps keep quotas, conflicts and must-include items, shape (outside, items)."""
    counts = problem.counts(items)
    old, new = problem.stratum[items], problem.stratum[outside]
    same = new[:, None] == old[None, :]
    home = problem.group[new][:, None] == problem.group[old][None, :]
    room = (counts < problem.upper)[new][:, None] & (counts > problem.lower)[old][None, :]
    free = ~np.isin(items, problem.must)
    allowed: NDArray[np.bool_] = (
        (same | (home & room)) & free[None, :] & _without_clash(problem, items, outside)
    )
    return allowed


def _without_clash(problem: Problem, items: list[int], outside: Indices) -> NDArray[np.bool_]:
    if not len(problem.conflicts.members):
        return np.ones((len(outside), len(items)), dtype=bool)
    clash = np.zeros((len(problem.stratum), len(items)), dtype=bool)
    for column, item in enumerate(items):
        clash[problem.conflicts.of(item), column] = True
    near = clash[outside]
    # the only conflict an incoming item may have is with the one that goes
    return np.asarray((near.sum(axis=1, keepdims=True) - near) == 0)


def _ruin_and_refill(
    problem: Problem,
    items: set[int],
    standing: StandingGains | None,
    rules: SelectionRules,
    rng: np.random.Generator,
) -> set[int] | None:
    """Take out a random part, put in one random item, refill greedily; None where that stops short."""
    loose = sorted(items - set(problem.must.tolist()))
    if not loose:
        return None
    most = max(1, round(rules.search_ruin * len(loose)))
    gone = rng.choice(loose, size=int(rng.integers(1, most + 1)), replace=False)
    kept = sorted(items.difference(gone.tolist()))
    start = np.flatnonzero(Room(problem, kept).open_items())
    if len(start):
        kept.append(int(rng.choice(start)))
    refilled = pick_greedily(problem, rules, given=kept, standing=standing).items
    return set(refilled) if len(refilled) == problem.size else None
