"""One pass over the scores: the sum that gains, prices and bounds all are.

Levels, weights and thresholds are whole numbers and every sum stays below 2^53, so
float64 is exact and the order of addition cannot matter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

COMPILED_FROM = 1_000_000
"""Scores from which a compiled pass is worth loading numba (half a second)."""

CHUNK_SCORES = 4_000_000
"""Scores a chunk of the numpy pass holds as float64 (32 MB)."""


def sum_gains(
    levels: NDArray[Any],
    weights: NDArray[np.float64],
    thresholds: NDArray[np.float64],
    compiled_from: int = COMPILED_FROM,
) -> NDArray[np.float64]:
    """Return sum_u weights[u] * max(levels[q, u] - thresholds[u], 0) for every row q.

    Args:
        levels: shape (items, anchors), unsigned integers.
        weights: shape (anchors,), whole numbers.
        thresholds: shape (anchors,), whole numbers: the coverage (then these are marginal
            gains) or the lambda of the dual bound (then they are prices).
        compiled_from: scores from which the compiled pass is used.
    """
    if levels.size >= compiled_from:
        out = np.empty(len(levels))
        compiled(_scan)(levels, weights, thresholds, out)
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


def _scan(
    levels: NDArray[Any],
    weights: NDArray[np.float64],
    thresholds: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    for item in range(levels.shape[0]):
        total = 0.0
        for anchor in range(levels.shape[1]):
            total += weights[anchor] * max(np.float64(levels[item, anchor]) - thresholds[anchor], 0.0)
        out[item] = total
