"""The compiled kernels: one pass over the scores, the lazy scan, gains kept up to date.

Levels, weights and thresholds are whole numbers and every sum stays below 2^53, so
float64 is exact and the order of addition cannot matter. A kernel is compiled when it is first
asked for: importing this module loads no numba.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.selection.solver.pairs import sum_pairs
from kina_build.support.sparse import SparseLevels

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

COMPILED_FROM = 1_000_000
"""Scores from which a compiled pass is worth loading numba (half a second)."""

CHUNK_SCORES = 4_000_000
"""Scores a chunk of the numpy pass holds as float64 (32 MB)."""


def sum_gains(
    levels: NDArray[Any] | SparseLevels,
    weights: Floats,
    thresholds: Floats,
    compiled_from: int = COMPILED_FROM,
) -> Floats:
    """Return sum_u weights[u] * max(levels[q, u] - thresholds[u], 0) for every row q.

    Args:
        levels: shape (items, anchors), unsigned integers, or pairs.
        weights: shape (anchors,), whole numbers.
        thresholds: shape (anchors,), whole numbers: the coverage (then these are marginal
            gains) or the lambda of the dual bound (then they are prices).
        compiled_from: scores from which the compiled pass is used.
    """
    if isinstance(levels, SparseLevels):
        out = np.empty(len(levels))
        compiled(sum_pairs)(levels.starts, levels.columns, levels.values, weights, thresholds, out)
        return out
    if levels.size >= compiled_from:
        out = np.empty(len(levels))
        compiled(_sum_gains)(levels, weights, thresholds, out)
        return out
    rows = max(1, CHUNK_SCORES // max(1, levels.shape[1]))
    parts = [
        np.maximum(levels[start : start + rows] - thresholds, 0) @ weights
        for start in range(0, len(levels), rows)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


@functools.cache
def compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a plain function with numba, kept on disk between runs.

    Reordering a float sum is allowed because all sums are of whole numbers below 2^53.
    """
    import numba

    fast: Callable[..., Any] = numba.njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})(kernel)
    return fast


def _sum_gains(
    levels: NDArray[Any],
    weights: Floats,
    thresholds: Floats,
    out: Floats,
) -> None:
    for item in range(levels.shape[0]):
        total = 0.0
        for anchor in range(levels.shape[1]):
            total += weights[anchor] * max(np.float64(levels[item, anchor]) - thresholds[anchor], 0.0)
        out[item] = total


def best_of_blocks(  # noqa: C901, PLR0912, PLR0917  one loop nest of plain arrays, as numba wants it
    levels: NDArray[Any],
    place: Indices,
    weights: Floats,
    cover: Floats,
    bounds: Floats,
    central: Floats,
    stratum: Indices,
    open_strata: NDArray[np.bool_],
    tops: Floats,
    stale: Indices,
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


def tops_of_blocks(bounds: Floats, block: int) -> Floats:
    """Return the largest bound of each block."""
    tops = np.empty((len(bounds) + block - 1) // block)
    for b in range(len(tops)):
        tops[b] = bounds[b * block : min(len(bounds), b * block + block)].max()
    return tops


def shift_gains(  # noqa: PLR0917  plain arrays, as numba wants them
    first: Indices,
    level: Floats,
    start: Indices,
    items: NDArray[np.int32],
    weights: Floats,
    old: Floats,
    new: Floats,
    gains: Floats,
) -> None:
    """Move the gains of all items from one coverage to another, over the runs of equal level."""
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


def largest_gain(  # noqa: PLR0917  plain arrays, as numba wants them
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
