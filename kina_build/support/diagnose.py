"""What a support matrix does not cover, and how far two of them agree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import InputError
from kina_build.support.matrix import SupportMatrix
from kina_build.support.sparse import SparseLevels

BANDS = ((0.0, "0"), (0.25, "0 to .25"), (0.5, ".25 to .5"), (0.75, ".5 to .75"), (1.0, ".75 to 1"))
"""Upper edges of the bands in which scores are counted; the first band is exactly 0."""


def describe_support(matrix: SupportMatrix) -> dict[str, Any]:
    """Summarise a matrix: scores by band, anchors without any item, items without any anchor.

    Returns:
        `items`, `anchors`, `distribution` (band to pairs), `mean_best` (weighted mean over
        anchors of the best score, the objective of selecting everything),
        `unsupported_anchors` and `idle_items` (ids, sorted).
    """
    return describe_partitions([matrix])


def describe_partitions(parts: Iterable[SupportMatrix]) -> dict[str, Any]:
    """Summarise, as `describe_support`, a matrix that is read in parts, at least one.

    Args:
        parts: in the order of their ids, with the same anchors, weights and scale.
    """
    looks = [_look(part) for part in parts]
    best = np.max([look.best for look in looks], axis=0)
    first = looks[0]
    return {
        "items": sum(look.items for look in looks),
        "anchors": len(first.anchor_ids),
        "distribution": {name: sum(look.bands[at] for look in looks) for at, (_, name) in enumerate(BANDS)},
        "mean_best": round(int(best @ first.weights) / (first.scale * int(first.weights.sum())), 6),
        "unsupported_anchors": _named(first.anchor_ids, best == 0),
        "idle_items": [item_id for look in looks for item_id in look.idle],
    }


@dataclass(frozen=True)
class _Look:
    """What a summary needs to know of one part."""

    items: int
    anchor_ids: tuple[str, ...]
    weights: NDArray[np.int64]
    scale: int
    best: NDArray[np.int64]
    """Best level of each anchor."""
    bands: list[int]
    idle: list[str]


def _look(matrix: SupportMatrix) -> _Look:
    return _Look(
        items=len(matrix.item_ids),
        anchor_ids=matrix.anchor_ids,
        weights=matrix.weights,
        scale=matrix.scale,
        best=matrix.levels.max(axis=0, initial=0).astype(np.int64),
        bands=_count_bands(matrix),
        idle=_named(matrix.item_ids, matrix.levels.max(axis=1, initial=0) == 0),
    )


def compare_support(one: SupportMatrix, two: SupportMatrix) -> dict[str, Any]:
    """Correlate two matrices over the pairs of items and anchors that both hold.

    Returns:
        `pairs`, `pearson`, `spearman` (None where one side is constant), and
        `same_best` (share of common items whose best anchor is the same; items that
        support nothing in either are left out).

    Raises:
        InputError: no item or no anchor in common.
    """
    items = sorted(set(one.item_ids) & set(two.item_ids))
    anchors = sorted(set(one.anchor_ids) & set(two.anchor_ids))
    if not items or not anchors:
        raise InputError("the two support files have no item or no anchor in common")
    first, second = _common(one, items, anchors), _common(two, items, anchors)
    return {
        "pairs": first.size,
        "pearson": _correlate(first.ravel(), second.ravel()),
        "spearman": _correlate(_ranks(first.ravel()), _ranks(second.ravel())),
        "same_best": _same_best(first, second),
    }


def _count_bands(matrix: SupportMatrix) -> list[int]:
    edges = [round(edge * matrix.scale) for edge, _ in BANDS]
    levels = matrix.levels
    held = levels.values if isinstance(levels, SparseLevels) else levels.ravel()
    counts = np.bincount(held, minlength=matrix.scale + 1)
    counts[0] += math.prod(levels.shape) - len(held)
    total = np.cumsum(counts)
    upto = [int(total[edge]) for edge in edges]
    return [upto[i] - (upto[i - 1] if i else 0) for i in range(len(BANDS))]


def _named(ids: Sequence[str], wanted: NDArray[np.bool_]) -> list[str]:
    return [ids[index] for index in np.flatnonzero(wanted)]


def _common(matrix: SupportMatrix, items: list[str], anchors: list[str]) -> NDArray[np.float64]:
    row = {item_id: index for index, item_id in enumerate(matrix.item_ids)}
    column = {anchor_id: index for index, anchor_id in enumerate(matrix.anchor_ids)}
    picked = matrix.levels[np.ix_([row[i] for i in items], [column[a] for a in anchors])]
    return np.asarray(picked / matrix.scale)


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.stats import rankdata

    return np.asarray(rankdata(values), dtype=np.float64)


def _correlate(one: NDArray[np.float64], two: NDArray[np.float64]) -> float | None:
    if np.ptp(one) == 0 or np.ptp(two) == 0:
        return None
    return round(float(np.corrcoef(one, two)[0, 1]), 4)


def _same_best(one: NDArray[np.float64], two: NDArray[np.float64]) -> float | None:
    live = (one.max(axis=1) > 0) & (two.max(axis=1) > 0)
    if not live.any():
        return None
    return round(float(np.mean(one.argmax(axis=1)[live] == two.argmax(axis=1)[live])), 4)
