"""The kernel of the lazy greedy, to be compiled: stale bounds in blocks, one skipping pass a pick."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def scan_blocks(  # noqa: C901, PLR0912, PLR0917  one loop nest of plain arrays, as numba wants it
    levels: NDArray[Any],
    weights: Floats,
    cover: Floats,
    bounds: Floats,
    central: Floats,
    stratum: NDArray[np.int64],
    counts: NDArray[np.int64],
    lower: NDArray[np.int64],
    upper: NDArray[np.int64],
    free: int,
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
    members: NDArray[np.int64],
    picks: NDArray[np.int64],
    block: int,
) -> int:
    """Fill `picks` until none is open or none gains; return how many. A bound of -1 marks a closed item.

    A stratum that closes never opens again (counts grow, free places shrink), so its items
    are marked when met.
    """
    items, anchors = levels.shape
    blocks = (items + block - 1) // block
    tops = np.empty(blocks)
    for b in range(blocks):
        tops[b] = bounds[b * block : min(items, b * block + block)].max()
    stale = np.empty(block, dtype=np.int64)
    count, touched = 0, 0
    while count < len(picks):
        best = (0.0, np.inf, 1)  # gain, centrality, minus the item: the tie rule; no item gains 0 here
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
                h = stratum[item]
                if counts[h] >= upper[h] or (counts[h] >= lower[h] and free <= 0):
                    bounds[item] = -1.0
                    continue
                stale[found] = item
                found += 1
            # read one level of each cache line ahead: the rows then come from memory side by side
            if found > 1:
                for at in range(found):
                    for anchor in range(0, anchors, 32):
                        touched += levels[stale[at], anchor]
            for at in range(found):
                item = stale[at]
                if (bounds[item], central[item], -item) < best:
                    continue
                gain = 0.0
                for anchor in range(anchors):
                    gain += weights[anchor] * max(np.float64(levels[item, anchor]) - cover[anchor], 0.0)
                bounds[item] = gain
                if (gain, central[item], -item) > best:  # noqa: PLR1730  numba has no max() of tuples
                    best = (gain, central[item], -item)
            tops[b] = bounds[here:end].max()
        pick = -best[2]
        if pick < 0:
            break
        picks[count] = pick
        count += 1
        for anchor in range(anchors):
            cover[anchor] = max(cover[anchor], np.float64(levels[pick, anchor]))
        h = stratum[pick]
        if counts[h] >= lower[h]:
            free -= 1
        counts[h] += 1
        bounds[pick] = -1.0
        for at in range(start[pick], stop[pick]):
            bounds[members[at]] = -1.0
    return count if touched >= 0 else -1  # never negative; keeps the reading ahead from being dropped
