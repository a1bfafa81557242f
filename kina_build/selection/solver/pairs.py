"""The kernels over levels that are kept as pairs: an item costs what it supports.

As in kernels.py all sums are of whole numbers below 2^53, and numba compiles them when they are asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def sum_pairs(  # noqa: PLR0917  plain arrays, as numba wants them
    starts: Indices,
    columns: NDArray[np.int32],
    values: NDArray[Any],
    weights: Floats,
    thresholds: Floats,
    out: Floats,
) -> None:
    """Add up what each item has above thresholds."""
    for item in range(len(starts) - 1):
        total = 0.0
        for at in range(starts[item], starts[item + 1]):
            anchor = columns[at]
            total += weights[anchor] * max(np.float64(values[at]) - thresholds[anchor], 0.0)
        out[item] = total


def best_of_pairs(  # noqa: PLR0917  plain arrays, as numba wants them
    starts: Indices,
    columns: NDArray[np.int32],
    values: NDArray[Any],
    weights: Floats,
    cover: Floats,
    bounds: Floats,
    central: Floats,
    stratum: Indices,
    open_strata: NDArray[np.bool_],
    tops: Floats,
    block: int,
) -> Any:
    """Return the item to pick next, or -1 where none gains: as best_of_blocks, over pairs."""
    items = len(bounds)
    best = (0.0, np.inf, -items)  # gain, centrality, minus the item: the tie rule
    first = int(tops.argmax())
    for turn in range(-1, len(tops)):
        b = first if turn < 0 else turn
        if turn == first or tops[b] <= 0 or tops[b] < best[0]:
            continue
        here, end = b * block, min(items, b * block + block)
        for item in range(here, end):
            if bounds[item] <= 0 or (bounds[item], central[item], -item) < best:
                continue
            if not open_strata[stratum[item]]:
                bounds[item] = -1.0
                continue
            fresh = 0.0
            for at in range(starts[item], starts[item + 1]):
                fresh += weights[columns[at]] * max(np.float64(values[at]) - cover[columns[at]], 0.0)
            bounds[item] = fresh
            if (fresh, central[item], -item) > best:  # noqa: PLR1730  numba has no max() of tuples
                best = (fresh, central[item], -item)
        tops[b] = bounds[here:end].max()
    return -1 if best[2] == -items else -best[2]


def gains_of_pairs(  # noqa: PLR0917  plain arrays, as numba wants them
    starts: Indices,
    columns: NDArray[np.int32],
    values: NDArray[Any],
    weights: Floats,
    tops: Floats,
    chosen: Indices,
    gains: Floats,
) -> None:
    """Add items one by one: what each adds, and the levels that count, which it changes in `tops`."""
    for turn in range(len(chosen)):
        for at in range(starts[chosen[turn]], starts[chosen[turn] + 1]):
            anchor, level = columns[at], np.float64(values[at])
            least = 0
            for fold in range(1, len(tops)):
                if tops[fold, anchor] < tops[least, anchor]:
                    least = fold
            if level > tops[least, anchor]:
                gains[turn] += weights[anchor] * (level - tops[least, anchor])
                tops[least, anchor] = level
