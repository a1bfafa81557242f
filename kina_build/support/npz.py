"""support.npz: written so that equal matrices give equal bytes, checked wherever it is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import InputError
from kina_build.rows.jsonl import writing
from kina_build.rows.npz import Stored, held_names, look_at, read_arrays, read_blocks
from kina_build.support.levels import Encoded, Ids, as_encoded, encode_ids
from kina_build.support.matrix import LARGEST_SUM, SupportMatrix
from kina_build.support.sparse import SparseLevels, compact

NAMES = ("item_ids", "anchor_ids", "scale", "weights", "weight_unit")
"""Arrays of support.npz beside its levels."""

PAIRS = ("starts", "columns", "values")
"""Arrays in the place of levels of which nearly all are 0 (support/sparse.py)."""

RARE = ("weight_step", "slack")
"""Arrays that are there only where they say something."""

HINT = "`kina support` writes it"


def write_support(path: Path, matrix: SupportMatrix) -> None:
    """Write support.npz (uncompressed, no timestamps: equal matrices give equal bytes)."""
    arrays = {
        **_levels_to_store(matrix.levels),  # first, where the offset suits the type: they are mapped
        "item_ids": encode_ids(matrix.item_ids),
        "anchor_ids": np.array(matrix.anchor_ids, dtype=np.str_),
        "scale": np.int64(matrix.scale),
        "weights": matrix.weights,
        "weight_unit": np.int64(matrix.weight_unit),
    }
    rare = {"weight_step": (matrix.weight_step, 1), "slack": (matrix.slack, 0)}
    more: dict[str, Any] = {name: np.int64(value) for name, (value, usual) in rare.items() if value != usual}
    with writing(path) as out:
        np.savez(out, **arrays, **more)


def _levels_to_store(levels: Any) -> dict[str, Any]:
    if not isinstance(levels, SparseLevels):
        return {"levels": levels}
    return dict(zip(PAIRS, (levels.starts, levels.columns, levels.values), strict=True))


def read_support(path: Path) -> SupportMatrix:
    """Read support.npz into memory, as pairs where nearly all levels are 0.

    Raises:
        InputError: missing file, not a sound support matrix, or one too large for memory.
    """
    head = read_head(path)
    if head.pairs:
        levels = _read_pairs(head)
    else:
        check_levels(head)
        (stored,) = read_arrays([head.levels])
        levels = compact(np.ascontiguousarray(stored))
    return replace(head.matrix, item_ids=tuple(Ids(head.ids)), levels=levels)


def _read_pairs(head: StoredSupport) -> SparseLevels:
    """Read levels that are stored as pairs, and check that they are sound.

    Raises:
        InputError: they are not.
    """
    starts, columns, values = read_arrays(head.pairs)
    width, count = len(head.matrix.anchor_ids), len(head.ids)
    kinds = starts.dtype.kind == columns.dtype.kind == "i" and values.dtype.kind == "u"
    flat = starts.shape == (count + 1,) and columns.shape == values.shape and columns.ndim == 1
    sound = kinds and flat and starts[0] == 0 and starts[-1] == len(columns) and (np.diff(starts) >= 0).all()
    if sound and len(columns):
        keys = np.repeat(np.arange(count), np.diff(starts)) * width + columns
        sound = columns.min() >= 0 and columns.max() < width and bool((np.diff(keys) > 0).all())
        sound = sound and values.min() > 0 and values.max() <= head.matrix.scale
    if not sound:
        raise InputError(f"{head.path}: not a support matrix (its pairs are not in order)", hint=HINT)
    return SparseLevels((count, width), starts.astype(np.int64), columns.astype(np.int32), values)


@dataclass(frozen=True)
class StoredSupport:
    """All of a support.npz but its levels, which may be larger than memory."""

    ids: Encoded
    """Rising."""
    matrix: SupportMatrix
    """Without items."""
    levels: Stored
    """Of shape (items, anchors), whole numbers; of pairs, their values."""
    path: Path
    pairs: tuple[Stored, ...] = ()
    """Starts, columns and values, where the levels are stored as pairs."""


def read_head(path: Path, room_bytes: float = math.inf) -> StoredSupport:
    """Read and check all of a support.npz but its levels.

    Args:
        path: the file.
        room_bytes: memory that it may take.

    Raises:
        InputError: missing file, or not a sound support matrix.
    """
    names = (*NAMES, *held_names(path, RARE))
    held = held_names(path, ("levels", *PAIRS))
    table = PAIRS if held == list(PAIRS) else ("levels",)
    stored = look_at(path, (*table, *names))
    found = dict(zip(names, read_arrays([stored[name] for name in names], room_bytes), strict=True))
    try:
        ids, anchor_ids = _read_ids("item_ids", found), _read_ids("anchor_ids", found)
        matrix = SupportMatrix(
            item_ids=(),
            anchor_ids=tuple(Ids(anchor_ids)),
            levels=None,
            scale=_read_scalar("scale", found),
            weights=_read_weights(found["weights"], len(anchor_ids)),
            weight_unit=_read_scalar("weight_unit", found),
            weight_step=_read_scalar("weight_step", found) if "weight_step" in found else 1,
            slack=_read_scalar("slack", found) if "slack" in found else 0,
        )
        if table != PAIRS:
            _check_table(stored["levels"], (len(ids), len(anchor_ids)))
        _check_sums(matrix)
    except ValueError as error:
        raise InputError(f"{path}: not a support matrix ({error})", hint=HINT) from None
    pairs = tuple(stored[name] for name in PAIRS) if table == PAIRS else ()
    return StoredSupport(ids, matrix, stored[table[-1]], path, pairs)


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
