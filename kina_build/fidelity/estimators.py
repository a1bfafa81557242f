"""Estimators of a pool's score from a form's, and their errors for models left out.

Arrays of several forms are handled at once: `x` has the shape (..., models), the scores on the
form as an estimator reads them; `y` is (models,), the scores on the pool.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.fidelity.responses import Floats, Indices, Responses
from kina_build.scoring.estimator import Kind, Line

KINDS: tuple[Kind, ...] = ("plain", "linear", "post-stratified")


def read_form(responses: Responses, items: Indices, kind: Kind) -> Floats:
    """Return what each model scores on a form, as an estimator reads it, shape (models,)."""
    scores = responses.scores[:, items]
    if kind != "post-stratified":
        return np.asarray(scores.mean(axis=1))
    codes = responses.stratum[items]
    counts = np.bincount(codes, minlength=len(responses.strata))
    held = np.flatnonzero(counts)
    weights = np.zeros(len(counts))
    weights[held] = responses.shares[held] / responses.shares[held].sum() / counts[held]
    return np.asarray(scores @ weights[codes])


def predict_left_out(x: Floats, y: Floats, kind: Kind) -> Floats:
    """Predict each model by the others, shape of `x`: for a line the fit without the model itself."""
    if kind != "linear":
        return x
    count = x.shape[-1]
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = (centred**2).sum(axis=-1, keepdims=True)
    slope = np.divide(
        (centred * (y - y.mean())).sum(axis=-1, keepdims=True),
        spread,
        out=np.zeros_like(spread),
        where=spread > 0,
    )
    residual = y - (y.mean() + slope * centred)
    lever = 1 / count + np.divide(centred**2, spread, out=np.zeros_like(x), where=spread > 0)
    # one model alone may hold up the slope: without it there is none, and its prediction is the others' mean
    free = np.maximum(1 - lever, 1e-9)
    return np.asarray(y - residual / free)


def fit_line(x: Floats, y: Floats, kind: Kind, level: float) -> Line:
    """Fit the line of an estimator to teaching models.

    Args:
        x: scores on the form, shape (models,).
        y: scores on the pool.
        kind: plain and post-stratified get slope 1.
        level: of the interval, two-sided.
    """
    from scipy.stats import t

    centred = x - x.mean()
    spread = float(centred @ centred)
    if kind == "linear":
        slope = float(centred @ (y - y.mean())) / spread if spread > 0 else 0.0
        free = len(x) - 2
    else:
        slope, free = 1.0, len(x) - 1
    intercept = float(y.mean() - slope * x.mean())
    residual = y - (intercept + slope * x)
    return Line(
        intercept=intercept,
        slope=slope,
        centre=float(x.mean()),
        spread=spread,
        deviation=float(np.sqrt(residual @ residual / free)),
        quantile=float(t.ppf((1 + level) / 2, free)),
        models=len(x),
    )


def apply_line(line: Line, x: Floats, kind: Kind) -> tuple[Floats, Floats, Floats]:
    """Return estimates of unseen models and the ends of their intervals."""
    middle = line.intercept + line.slope * x
    lever = (x - line.centre) ** 2 / line.spread if kind == "linear" and line.spread else np.zeros_like(x)
    half = line.quantile * line.deviation * np.sqrt(1 + 1 / line.models + lever)
    return (middle if kind == "linear" else x), middle - half, middle + half


def tau(one: Floats, other: Floats) -> NDArray[Any]:
    """Return Kendall's tau-b of the last axis, NaN where one side is constant.

    Args:
        one: shape (..., models).
        other: shape (models,).
    """
    first, second = np.triu_indices(one.shape[-1], 1)
    a, b = np.sign(one[..., first] - one[..., second]), np.sign(other[first] - other[second])
    scale = np.sqrt((a**2).sum(axis=-1) * (b**2).sum())
    found = np.divide((a * b).sum(axis=-1), scale, out=np.full(np.shape(scale), np.nan), where=scale > 0)
    return np.asarray(found)
