"""The support matrix: how much each item shows of each anchor, in whole numbers.

Scores in [0, 1] are kept as integer levels and anchor weights as integers, so that
every sum of the selection is exact and no thread count, BLAS or row order can change
a pick.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import InputError
from kina_build.support.levels import CHUNK_BYTES, Indices, Levels, position_of, take_ids
from kina_build.support.sparse import ROWS_BYTES, SparseLevels, compact

SCALE = 1000
"""Levels a unit of score: a score is known to .001."""

FINE_SCALE = 1_000_000
"""Levels for scores that people bring with more digits."""

WEIGHT_SUM = 1_000_000
"""Least sum of the integer weights; keeps objectives below 2^53, exact in float64 too."""

FINE_WEIGHT_SUM = 100_000_000
"""The same for weights that people bring with more digits; 2^53 still holds ten times the objective."""

LARGEST_SUM = 2**53
"""Largest objective, in integer steps, that float64 holds exactly too."""

LEAST_TOTAL = 1e-200
"""Least sum of weights that is told from 0."""

SPREAD = "near:"
"""Begins the id of an anchor that is an item of the pool; its weight is no expert's."""


@dataclass(frozen=True)
class SupportMatrix:
    """Item-by-anchor support with the anchors' weights.

    The score of item q for anchor u is levels[q, u] / scale; the weight mu(u) is
    weights[u] / weight_unit. Rows are sorted by item_id, columns by anchor_id.
    """

    item_ids: Sequence[str]
    anchor_ids: tuple[str, ...]
    levels: Any
    """Levels of shape (items, anchors), values 0 to scale, as narrow as the scale allows: an array in C
    order, or pairs (sparse.py) or levels in files (levels.py), which are read like one."""
    scale: int
    weights: NDArray[np.int64]
    """Shape (anchors,), non-negative."""
    weight_unit: int
    weight_step: int = 1
    """Units of weight a step, where the weights are too heavy for steps of one unit; the weight mu(u) is
    then weights[u] x weight_step / weight_unit."""
    slack: int = 0
    """Steps by which rounding may have moved the objective of any set from what was given."""
    faded: tuple[str, ...] = ()
    """Anchors whose weight is above 0 and would round to 0: they count as the least weight there is."""
    on_disk: bool = False
    """Whether the levels stay in files: passes over all of them are then made by shards."""

    @property
    def unit(self) -> float:
        """Return how many integer steps make one unit of the objective."""
        whole = self.scale * self.weight_unit
        return whole if self.weight_step == 1 else whole / self.weight_step

    def take(self, items: Indices) -> SupportMatrix:
        """Return the support of some items (rising), on disk where the matrix is."""
        levels: Levels = self.levels.take(items, axis=0)
        return replace(self, item_ids=take_ids(self.item_ids, items), levels=levels)

    def slices(self) -> Iterator[slice]:
        """Cut the items into slices that are read at a time."""
        most = ROWS_BYTES if isinstance(self.levels, SparseLevels) else CHUNK_BYTES
        rows = max(1, most // max(1, self.levels.shape[1] * self.levels.dtype.itemsize))
        for start in range(0, len(self.item_ids), rows):
            yield slice(start, min(len(self.item_ids), start + rows))

    def rows(self, item_ids: Iterable[str]) -> list[int]:
        """Return the rows of some items, in their order; items that have no row are passed over."""
        found = (position_of(self.item_ids, item_id) for item_id in item_ids)
        return [row for row in found if row is not None]


def level_type(scale: int) -> np.dtype[np.unsignedinteger[Any]]:
    """Return the narrowest type that holds the levels of a scale."""
    return np.min_scalar_type(scale)


def build_matrix(
    item_ids: Sequence[str],
    anchor_ids: Sequence[str],
    scores: NDArray[np.floating],
    weights: NDArray[np.floating],
    *,
    scale: int = SCALE,
    weight_sum: int = WEIGHT_SUM,
) -> SupportMatrix:
    """Quantise scores and weights, and sort rows and columns by id.

    Args:
        item_ids: unique ids, one a row.
        anchor_ids: unique ids, one a column.
        scores: shape (items, anchors), each in [0, 1].
        weights: shape (anchors,), non-negative, sum above 0.
        scale: levels a unit of score.
        weight_sum: least sum of the integer weights.

    Raises:
        InputError: a repeated id, a score outside [0, 1], NaN, or unusable weights.
    """
    _check_unique("item_id", item_ids)
    _check_unique("anchor_id", anchor_ids)
    if scores.size and not (np.isfinite(scores).all() and scores.min() >= 0 and scores.max() <= 1):
        raise InputError("a support score is outside [0, 1] or not a number")
    masses = np.asarray(weights, dtype=float)
    rounded = round_weights(masses, scale, weight_sum)
    rows = sorted(range(len(item_ids)), key=item_ids.__getitem__)
    columns = sorted(range(len(anchor_ids)), key=anchor_ids.__getitem__)
    levels = np.rint(np.asarray(scores)[np.ix_(rows, columns)] * scale).astype(level_type(scale))
    return SupportMatrix(
        item_ids=tuple(item_ids[row] for row in rows),
        anchor_ids=tuple(anchor_ids[column] for column in columns),
        levels=compact(np.ascontiguousarray(levels)),
        scale=scale,
        weights=rounded.steps[columns],
        weight_unit=rounded.unit,
        weight_step=rounded.step,
        slack=rounded.slack,
        faded=tuple(anchor_ids[column] for column in columns if rounded.tiny[column]),
    )


@dataclass(frozen=True)
class RoundedWeights:
    """Weights as whole numbers of steps."""

    steps: NDArray[np.int64]
    unit: int
    """Steps a unit of weight."""
    step: int
    """Units of weight a step; 1 unless the weights are heavy."""
    slack: int
    """Steps by which rounding may move the objective of any set, rounded up."""
    tiny: NDArray[np.bool_]
    """Weights above 0 that would round to 0 and were made one step."""


def round_weights(weights: NDArray[np.floating], scale: int, weight_sum: int = WEIGHT_SUM) -> RoundedWeights:
    """Bring weights to whole numbers whose sum is at least weight_sum and never too large to add exactly.

    Args:
        weights: non-negative, sum above 0.
        scale: levels a unit of score.
        weight_sum: least sum of the integer weights.

    Raises:
        InputError: a negative or non-finite weight, a sum of 0, or weights beyond any exact sum.
    """
    unit, step = weight_unit(weights, weight_sum), 1
    exact = [Fraction(repr(float(weight))) for weight in weights]
    heavy, extra = sum(exact) * scale, len(exact) * scale  # rounding adds at most half a step an anchor
    while heavy * unit / step + extra > LARGEST_SUM:
        unit, step = (unit // 10, 1) if unit > 1 else (1, step * 10)
    if step > LARGEST_SUM:
        raise InputError(
            f"anchor weights up to {max(weights):g} are too large to add exactly",
            hint="divide all of them by the same number: only their proportions choose items",
        )
    plain = step == 1 and unit <= LARGEST_SUM
    steps = np.rint(weights * unit) if plain else np.array([round(w * unit / step) for w in exact])
    whole = steps.astype(np.int64)
    tiny = (whole == 0) & (np.asarray(weights) > 0)
    whole[tiny] = 1  # an item that alone reaches an anchor must gain something
    off = sum(abs(w * unit / step - n) for w, n in zip(exact, whole.tolist(), strict=True))
    return RoundedWeights(whole, unit, step, math.ceil(off * scale), tiny)


def spread_step(steps: int, share: float, count: int) -> int:
    """Return the steps of each spread anchor, so that together they have a share of all weight.

    Args:
        steps: sum of the experts' weights.
        share: between 0 and 1.
        count: spread anchors.
    """
    return max(1, round(steps * share / (1 - share) / max(1, count)))


def weight_unit(weights: NDArray[np.floating], weight_sum: int = WEIGHT_SUM) -> int:
    """Return the power of ten that turns weights into integers with sum >= weight_sum.

    Raises:
        InputError: a negative or non-finite weight, or a sum of 0.
    """
    with np.errstate(over="ignore"):
        total = float(np.sum(weights)) if len(weights) else 0.0
    if not math.isfinite(total) or np.min(weights, initial=0) < 0 or total < LEAST_TOTAL:
        raise InputError("anchor weights must be non-negative numbers with a positive sum")
    # normalised weights may sum to a hair below 1: that hair must not cost a factor of ten
    return int(10 ** max(0, math.ceil(math.log10(weight_sum / total) - 1e-9)))


def _check_unique(name: str, ids: Sequence[str]) -> None:
    if len(set(ids)) != len(ids):
        seen: set[str] = set()
        repeated = next(i for i in ids if i in seen or seen.add(i))  # type: ignore[func-returns-value]
        raise InputError(f"{name} {repeated!r} stands more than once in the support scores")
