"""Anchor weights: how finely they are kept, and others in place of those that a matrix has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import InputError
from kina_build.support.matrix import (
    FINE_WEIGHT_SUM,
    SPREAD,
    WEIGHT_SUM,
    SupportMatrix,
    round_weights,
    spread_step,
    weight_unit,
)
from kina_build.support.sparse import beside, ordered, widened


def with_weights(matrix: SupportMatrix, weights: Mapping[str, float], name: str) -> SupportMatrix:
    """Replace the weights of a matrix; anchors the matrix lacks join as columns of zeros.

    Weights that the matrix was made from leave it as it is: one content, one rounding.

    Raises:
        InputError: an anchor of the matrix has no weight.
    """
    if any(anchor_id.startswith(SPREAD) and anchor_id not in weights for anchor_id in matrix.anchor_ids):
        return _with_spread(matrix, weights, name)
    lacking = [anchor_id for anchor_id in matrix.anchor_ids if anchor_id not in weights]
    if lacking:
        raise InputError(f"{name}: no weight for anchor {lacking[0]!r} ({len(lacking)} such anchors)")
    anchor_ids = tuple(sorted(weights))
    masses = np.array([weights[anchor_id] for anchor_id in anchor_ids], dtype=float)
    if anchor_ids == matrix.anchor_ids and _made_from(matrix, masses):
        return matrix
    levels = matrix.levels
    if len(anchor_ids) > len(matrix.anchor_ids):
        if matrix.on_disk:
            extra = next(anchor_id for anchor_id in anchor_ids if anchor_id not in matrix.anchor_ids)
            raise InputError(
                f"{name}: anchor {extra!r} is not in the support, whose scores stay on disk",
                hint="leave the anchor out, or give --memory enough for all scores",
            )
        at = np.searchsorted(np.array(anchor_ids), np.array(matrix.anchor_ids))
        levels = widened(matrix.levels, at, len(anchor_ids))
    rounded = round_weights(masses, matrix.scale, fit_sum(masses))
    return replace(
        matrix,
        anchor_ids=anchor_ids,
        levels=levels,
        weights=rounded.steps,
        weight_unit=rounded.unit,
        weight_step=rounded.step,
        slack=rounded.slack,
        faded=tuple(a for a, tiny in zip(anchor_ids, rounded.tiny.tolist(), strict=True) if tiny),
    )


def _with_spread(matrix: SupportMatrix, weights: Mapping[str, float], name: str) -> SupportMatrix:
    """Replace the experts' weights; the spread anchors keep their share of all weight."""
    spread = np.array([a.startswith(SPREAD) and a not in weights for a in matrix.anchor_ids])
    experts = tuple(a for a, own in zip(matrix.anchor_ids, (~spread).tolist(), strict=True) if own)
    part = replace(matrix, anchor_ids=experts, weights=matrix.weights[~spread])
    if experts == tuple(sorted(weights)):
        masses = np.array([weights[anchor_id] for anchor_id in experts], dtype=float)
        if _made_from(part, masses):
            return matrix
    if matrix.on_disk:
        hint = "leave --anchors out, or give --memory enough for all scores"
        raise InputError(f"{name}: other weights than the support's, whose scores stay on disk", hint=hint)
    part = with_weights(replace(part, levels=ordered(matrix.levels, np.flatnonzero(~spread))), weights, name)
    share = int(matrix.weights[spread].sum()) / int(matrix.weights.sum())
    step = spread_step(int(part.weights.sum()), share, int(spread.sum()))
    names = [*part.anchor_ids, *(a for a in matrix.anchor_ids if a not in experts)]
    order = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
    levels = beside([part.levels, ordered(matrix.levels, np.flatnonzero(spread))])
    return replace(
        part,
        anchor_ids=tuple(names[at] for at in order),
        levels=ordered(levels, order),
        weights=np.append(part.weights, np.full(int(spread.sum()), step, dtype=np.int64))[order],
    )


def _made_from(matrix: SupportMatrix, masses: NDArray[np.floating]) -> bool:
    """Tell whether a matrix holds just these weights, as they are or with their sum made 1."""
    weight_unit(masses)  # says what is wrong with them
    unit = matrix.weight_unit / matrix.weight_step
    found = (masses * unit, masses / masses.sum() * unit)
    least = (masses > 0).astype(float)
    return any(np.array_equal(np.maximum(np.rint(steps), least), matrix.weights) for steps in found)


def fit_sum(masses: NDArray[np.floating]) -> int:
    """Return in how many steps the weights are rounded: the plain number where they are whole in it."""
    try:
        steps = masses * weight_unit(masses)
    except InputError:  # build_matrix says what is wrong with them
        return WEIGHT_SUM
    return WEIGHT_SUM if np.allclose(steps, np.rint(steps), rtol=0, atol=1e-6) else FINE_WEIGHT_SUM
