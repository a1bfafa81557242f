"""The support matrix: how much each item shows of each anchor, in whole numbers.

Scores in [0, 1] are kept as integer levels and anchor weights as integers, so that
every sum of the selection is exact and no thread count, BLAS or row order can change
a pick.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import InputError
from kina_build.jsonl import writing
from kina_build.rows.npz import Stored, look_at, read_arrays, read_blocks
from kina_build.support.ids import Encoded, Ids, as_encoded, encode_ids, position_of

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

NAMES = ("item_ids", "anchor_ids", "scale", "weights", "weight_unit")
"""Arrays of support.npz beside its levels."""

HINT = "`kina support` writes it"


@dataclass(frozen=True)
class SupportMatrix:
    """Item-by-anchor support with the anchors' weights.

    The score of item q for anchor u is levels[q, u] / scale; the weight mu(u) is
    weights[u] / weight_unit. Rows are sorted by item_id, columns by anchor_id.
    """

    item_ids: Sequence[str]
    anchor_ids: tuple[str, ...]
    levels: Any
    """Shape (items, anchors), values 0 to scale, as narrow as the scale allows: an array in C order, or
    levels on disk (parts.py), which are read like one."""
    scale: int
    weights: NDArray[np.int64]
    """Shape (anchors,), non-negative."""
    weight_unit: int

    @property
    def unit(self) -> int:
        """Return how many integer steps make one unit of the objective."""
        return self.scale * self.weight_unit

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
    unit = weight_unit(weights, weight_sum)
    rows = sorted(range(len(item_ids)), key=item_ids.__getitem__)
    columns = sorted(range(len(anchor_ids)), key=anchor_ids.__getitem__)
    levels = np.rint(np.asarray(scores)[np.ix_(rows, columns)] * scale).astype(level_type(scale))
    return SupportMatrix(
        item_ids=tuple(item_ids[row] for row in rows),
        anchor_ids=tuple(anchor_ids[column] for column in columns),
        levels=np.ascontiguousarray(levels),
        scale=scale,
        weights=np.rint(np.asarray(weights, dtype=float)[columns] * unit).astype(np.int64),
        weight_unit=unit,
    )


def weight_unit(weights: NDArray[np.floating], weight_sum: int = WEIGHT_SUM) -> int:
    """Return the power of ten that turns weights into integers with sum >= weight_sum.

    Raises:
        InputError: a negative or non-finite weight, or a sum of 0.
    """
    total = float(np.sum(weights)) if len(weights) else 0.0
    if not np.isfinite(weights).all() or np.min(weights, initial=0) < 0 or total <= 0:
        raise InputError("anchor weights must be non-negative numbers with a positive sum")
    # normalised weights may sum to a hair below 1: that hair must not cost a factor of ten
    return int(10 ** max(0, math.ceil(math.log10(weight_sum / total) - 1e-9)))


def write_support(path: Path, matrix: SupportMatrix) -> None:
    """Write support.npz (uncompressed, no timestamps: equal matrices give equal bytes)."""
    arrays = {
        "levels": matrix.levels,  # first, where its offset suits its type: parts.py maps it as it lies
        "item_ids": encode_ids(matrix.item_ids),
        "anchor_ids": np.array(matrix.anchor_ids, dtype=np.str_),
        "scale": np.int64(matrix.scale),
        "weights": matrix.weights,
        "weight_unit": np.int64(matrix.weight_unit),
    }
    with writing(path) as out:
        np.savez(out, **arrays)


def read_support(path: Path) -> SupportMatrix:
    """Read support.npz into memory.

    Raises:
        InputError: missing file, not a sound support matrix, or one too large for memory.
    """
    head = read_head(path)
    check_levels(head)
    (levels,) = read_arrays([head.levels])
    matrix = head.matrix
    return replace(matrix, item_ids=tuple(Ids(head.ids)), levels=np.ascontiguousarray(levels))


@dataclass(frozen=True)
class StoredSupport:
    """All of a support.npz but its levels, which may be larger than memory."""

    ids: Encoded
    """Rising."""
    matrix: SupportMatrix
    """Without items."""
    levels: Stored
    """Of shape (items, anchors), whole numbers."""


def read_head(path: Path, room_bytes: float = math.inf) -> StoredSupport:
    """Read and check all of a support.npz but its levels.

    Args:
        path: the file.
        room_bytes: memory that it may take.

    Raises:
        InputError: missing file, or not a sound support matrix.
    """
    stored = look_at(path, ("levels", *NAMES))
    found = dict(zip(NAMES, read_arrays([stored[name] for name in NAMES], room_bytes), strict=True))
    try:
        ids, anchor_ids = _read_ids("item_ids", found), _read_ids("anchor_ids", found)
        matrix = SupportMatrix(
            item_ids=(),
            anchor_ids=tuple(Ids(anchor_ids)),
            levels=None,
            scale=_read_scalar("scale", found),
            weights=_read_weights(found["weights"], len(anchor_ids)),
            weight_unit=_read_scalar("weight_unit", found),
        )
        _check_table(stored["levels"], (len(ids), len(anchor_ids)))
        _check_sums(matrix)
    except ValueError as error:
        raise InputError(f"{path}: not a support matrix ({error})", hint=HINT) from None
    return StoredSupport(ids, matrix, stored["levels"])


def check_levels(head: StoredSupport) -> None:
    """Read all levels once, a block at a time, and check that each is from 0 to the scale.

    Raises:
        InputError: one is not, or the file was damaged.
    """
    for block in read_blocks(head.levels):
        if block.min() < 0 or block.max() > head.matrix.scale:
            raise InputError(
                f"{head.levels.path}: not a support matrix (a level is outside 0 to {head.matrix.scale})",
                hint=HINT,
            )


def _read_ids(name: str, found: Mapping[str, NDArray[Any]]) -> Encoded:
    stored = found[name]
    if stored.ndim != 1 or stored.dtype.kind not in "US":
        raise ValueError(f"{name}: not a row of texts")
    ids = as_encoded(stored)
    for _ in Ids(ids):  # each must be UTF-8
        pass
    if not (ids[1:] > ids[:-1]).all():
        raise ValueError(f"{name}: not sorted, or one stands twice")
    return ids


def _read_scalar(name: str, found: Mapping[str, NDArray[Any]]) -> int:
    stored = found[name]
    if stored.shape != () or stored.dtype.kind not in "iu" or int(stored) < 1:
        raise ValueError(f"{name}: not one whole number above 0")
    return int(stored)


def _read_weights(stored: NDArray[Any], count: int) -> NDArray[np.int64]:
    if stored.shape != (count,) or stored.dtype.kind not in "iu":
        raise ValueError("weights: not one whole number for each anchor")
    if count and not 0 <= int(stored.min()) <= int(stored.max()) <= LARGEST_SUM:
        raise ValueError("weights: one is below 0 or too large")
    return stored.astype(np.int64)


def _check_table(levels: Stored, shape: tuple[int, int]) -> None:
    if levels.shape != shape:
        raise ValueError(
            f"levels: of shape {levels.shape}, but there are {shape[0]} items x {shape[1]} anchors"
        )
    if levels.dtype.kind not in "iu" or not levels.dtype.isnative:
        raise ValueError(
            f"levels: of type {levels.dtype}, not whole numbers in this machine's order of bytes"
        )


def _check_sums(matrix: SupportMatrix) -> None:
    if sum(matrix.weights.tolist()) * matrix.scale > LARGEST_SUM:
        raise ValueError("weights and scale are too large for exact sums")


def _check_unique(name: str, ids: Sequence[str]) -> None:
    if len(set(ids)) != len(ids):
        seen: set[str] = set()
        repeated = next(i for i in ids if i in seen or seen.add(i))  # type: ignore[func-returns-value]
        raise InputError(f"{name} {repeated!r} stands more than once in the support scores")
