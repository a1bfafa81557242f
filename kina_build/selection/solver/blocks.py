"""The compiled kernel of the lazy greedy: stale bounds in blocks, one skipping pass a pick.

Importing this module loads numba: functions import it where they use it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.selection.solver.passes import compiled

Floats = NDArray[np.float64]


def _scan(  # noqa: C901, PLR0912, PLR0917  one loop nest of plain arrays, as numba wants it
    levels: NDArray[Any],
    place: NDArray[np.int64],
    weights: Floats,
    cover: Floats,
    bounds: Floats,
    central: Floats,
    stratum: NDArray[np.int64],
    open_strata: NDArray[np.bool_],
    tops: Floats,
    stale: NDArray[np.int64],
    gain: float,
    centrality: float,
) -> Any:
    """Return the item to pick next, or -1 where none exceeds or equals the mark to beat.

    A bound of -1 marks a closed item; `tops` holds the largest bound of each block. A stratum
    that closes never opens again, so its items are marked when met. `place` says in which row of
    the levels an item lies; where it is empty, item by item. `stale` is working space of one block.
    """
    items, anchors = len(bounds), len(weights)
    block, blocks, placed = len(stale), len(tops), len(place) > 0
    best = (gain, centrality, -items)  # gain, centrality, minus the item: the tie rule
    touched = 0
    first = int(tops.argmax())
    for turn in range(-1, blocks):
        # the block of the largest stale bound goes first: it sets a high mark to beat
        b = first if turn < 0 else turn
        if turn == first or tops[b] <= 0 or tops[b] < best[0]:
            continue
        here, end = b * block, min(items, b * block + block)
        found = 0
        for item in range(here, end):
            if bounds[item] < best[0] or bounds[item] <= 0:
                continue
            if not open_strata[stratum[item]]:
                bounds[item] = -1.0
                continue
            stale[found] = item
            found += 1
        # read one level of each cache line ahead: the rows then come from memory side by side
        if found > 1:
            for at in range(found):
                row = place[stale[at]] if placed else stale[at]
                for anchor in range(0, anchors, 32):
                    touched += levels[row, anchor]
        for at in range(found):
            item = stale[at]
            if (bounds[item], central[item], -item) < best:
                continue
            row = place[item] if placed else item
            fresh = 0.0
            for anchor in range(anchors):
                fresh += weights[anchor] * max(np.float64(levels[row, anchor]) - cover[anchor], 0.0)
            bounds[item] = fresh
            if (fresh, central[item], -item) > best:  # noqa: PLR1730  numba has no max() of tuples
                best = (fresh, central[item], -item)
        tops[b] = bounds[here:end].max()
    if best[2] == -items:
        return -1
    return -best[2] if touched >= 0 else -1  # never negative; keeps the reading ahead from being dropped


def _tops(bounds: Floats, block: int) -> Floats:
    """Return the largest bound of each block."""
    tops = np.empty((len(bounds) + block - 1) // block)
    for b in range(len(tops)):
        tops[b] = bounds[b * block : min(len(bounds), b * block + block)].max()
    return tops


best_of_blocks = compiled(_scan)
tops_of_blocks = compiled(_tops)


def _fill(  # noqa: PLR0917  plain arrays, as numba wants them
    levels: NDArray[Any],
    weights: Floats,
    cover: Floats,
    bounds: Floats,
    central: Floats,
    stratum: NDArray[np.int64],
    counts: NDArray[np.int64],
    lower: NDArray[np.int64],
    upper: NDArray[np.int64],
    group: NDArray[np.int64],
    free: NDArray[np.int64],
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
    members: NDArray[np.int64],
    picks: NDArray[np.int64],
    block: int,
) -> int:
    """Fill `picks` until none is open or none gains; return how many."""
    tops, stale, place = tops_of_blocks(bounds, block), np.empty(block, np.int64), np.empty(0, np.int64)
    for count in range(len(picks)):
        open_strata = (counts < upper) & ((counts < lower) | (free > 0)[group])
        pick = best_of_blocks(
            levels, place, weights, cover, bounds, central, stratum, open_strata, tops, stale, 0.0, np.inf
        )
        if pick < 0:
            return count
        picks[count] = pick
        for anchor in range(len(weights)):
            cover[anchor] = max(cover[anchor], np.float64(levels[pick, anchor]))
        h = stratum[pick]
        if counts[h] >= lower[h]:
            free[group[h]] -= 1
        counts[h] += 1
        bounds[pick] = -1.0
        for at in range(start[pick], stop[pick]):
            bounds[members[at]] = -1.0
    return len(picks)


pick_all = compiled(_fill)
