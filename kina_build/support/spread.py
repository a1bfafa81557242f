"""Spread: the pool's items as anchors too, each shown by the items nearest to it.

That is facility location (Cornuejols, Fisher and Nemhauser 1977) as plain anchors: the same
objective, kernels and certificate, and after the experts' anchors are full the places go to
what is unlike the items taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import InputError, UsageError
from kina_build.items.model import Item
from kina_build.support.embedding import COSINE_DECIMALS, Embed, item_text
from kina_build.support.matrix import LARGEST_SUM, SPREAD, SupportMatrix, spread_step
from kina_build.support.sparse import SparseLevels, beside, from_pairs, ordered, settled

ROWS = 512
"""Items compared with all others at a time."""


def add_spread(
    matrix: SupportMatrix, items: Sequence[Item], embed: Embed, share: float, near: int
) -> SupportMatrix:
    """Add each item as an anchor, with the cosines of its nearest items, itself among them, as support.

    Args:
        matrix: the support for the experts' anchors.
        items: the pool; those without a row are no anchors.
        embed: texts to unit vectors.
        share: of all weight, that these anchors have in all; each the same whole number of steps.
        near: items that an anchor is shown by.

    Raises:
        InputError: an anchor of the experts has a name of this kind, or the weights get too large.
        UsageError: a share that leaves one side nothing.
    """
    if not 0 < share < 1:
        raise UsageError(f"--spread {share:g} is not between 0 and 1")
    odd = next((anchor for anchor in matrix.anchor_ids if anchor.startswith(SPREAD)), None)
    if odd is not None:
        raise InputError(f"anchor {odd!r}: names that begin with {SPREAD!r} are those of --spread")
    text = {item.item_id: item_text(item) for item in items}
    vectors = embed([text[item_id] for item_id in matrix.item_ids])
    count = len(matrix.item_ids)
    step = spread_step(int(matrix.weights.sum()), share, count)
    if (int(matrix.weights.sum()) + step * count) * matrix.scale > LARGEST_SUM:
        raise InputError("the anchors' weights leave no room for those of --spread")
    names = np.array([*matrix.anchor_ids, *(SPREAD + item_id for item_id in matrix.item_ids)], dtype=object)
    order = np.argsort(names, kind="stable")
    levels = settled(ordered(beside([matrix.levels, near_levels(vectors, near, matrix)]), order))
    weights = np.append(matrix.weights, np.full(count, step, dtype=np.int64))
    return replace(
        matrix,
        anchor_ids=tuple(names[order].tolist()),
        levels=levels,
        weights=weights[order],
    )


def near_levels(vectors: NDArray[np.float32], near: int, matrix: SupportMatrix) -> SparseLevels:
    """Return the level of each item for each item as an anchor, 0 beyond its nearest ones.

    Of equal cosines the smaller id is nearer; cosines are rounded, so that batches do not matter.
    """
    count, unit = len(vectors), 10**COSINE_DECIMALS
    columns, items, values = [], [], []
    for start in range(0, count, ROWS):
        rows = np.arange(start, min(count, start + ROWS))
        cosines = np.rint(vectors[rows] @ vectors.T * unit).astype(np.int64)
        cosines[np.arange(len(rows)), rows] = unit
        keys = np.arange(count) - cosines * count
        keys[np.arange(len(rows)), rows] = -(unit + 1) * count  # before equals of a smaller id
        nearest = np.argpartition(keys, min(near, count) - 1, axis=1)[:, :near]
        shown = np.clip(np.take_along_axis(cosines, nearest, axis=1), 0, unit)
        columns.append(np.repeat(rows, nearest.shape[1]))
        items.append(nearest.ravel())
        values.append(np.rint(shown.ravel() * (matrix.scale / unit)).astype(matrix.levels.dtype))
    held = np.concatenate([*values, np.zeros(0, matrix.levels.dtype)])
    pairs = (np.concatenate([*part, np.zeros(0, np.int64)]) for part in (items, columns))
    return from_pairs((count, count), next(pairs), next(pairs), held)
