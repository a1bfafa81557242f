"""Logistic calibrators: features to a probability, refitted on resampled labels for its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.config import SupportRules
from kina_build.errors import InputError

NEWTON_STEPS = 60
LONGEST_STEP = 4.0
"""Cap on a coefficient's change in one Newton step: keeps separable labels from overshooting."""
SETTLED = 1e-9
"""Largest change of a coefficient at which the fit has converged."""
REDRAWS = 1000
"""Times a bootstrap sample without both classes is drawn anew before the labels are refused."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Calibrator:
    """Features to a probability, with refits on resampled labels beside the fit itself."""

    names: tuple[str, ...]
    """Names of the features, in order."""
    center: Floats
    scale: Floats
    coefficients: Floats
    """Shape (1 + refits, 1 + features): the fit on all labels first; intercepts in column 0."""
    labels: int
    positive: int

    def probability(self, features: NDArray[np.floating]) -> Floats:
        """Return the fitted probability of each row, shape (rows,)."""
        return self.refit(features, 0)

    def refit(self, features: NDArray[np.floating], which: int) -> Floats:
        """Return the probability by one refit, 1 for the first (0 is the fit itself), shape (rows,)."""
        weights = self.coefficients[which, 1:] / self.scale
        offset = self.coefficients[which, 0] - float(self.center @ weights)
        return sigmoid(features @ weights + offset)

    def refits(self) -> range:
        """Return the numbers of the refits."""
        return range(1, len(self.coefficients))

    def bounds(self, features: NDArray[np.floating], delta: float) -> Floats:
        """Return the `delta` and the 1 - `delta` quantile over the refits, shape (2, rows)."""
        refits = np.array([self.refit(features, which) for which in self.refits()])
        return np.asarray(np.quantile(refits, [delta, 1 - delta], axis=0))


def fit_calibrator(
    names: Sequence[str],
    features: NDArray[np.floating],
    *,
    labels: NDArray[np.bool_],
    members: NDArray[np.int64],
    rules: SupportRules,
    rng: np.random.Generator,
) -> Calibrator:
    """Fit on all labels, and refit on `rules.bootstraps` samples of the items.

    A refit draws items with replacement. A label's weight is the product of how often
    its items were drawn: labels of one item together (a cluster bootstrap), labels of
    pairs by both items (the vertex bootstrap of Snijders and Borgatti 1999).

    Args:
        names: names of the features.
        features: shape (labels, features).
        labels: shape (labels,).
        members: item numbers behind each label, shape (labels, 1) or (labels, 2).
        rules: `bootstraps`, `ridge`, `labels_least`, `class_least`.
        rng: draws the samples.

    Raises:
        InputError: too few labels, or too few of one class.
    """
    positive = int(labels.sum())
    if len(labels) < rules.labels_least or min(positive, len(labels) - positive) < rules.class_least:
        raise InputError(
            f"{len(labels)} labels, {positive} of them positive: at least {rules.labels_least} labels and "
            f"{rules.class_least} of each class are needed",
            hint="KINA uses 120 to 160 item labels and 60 to 80 pair labels",
        )
    center = features.mean(axis=0)
    spread = features.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    design = np.column_stack([np.ones(len(features)), (features - center) / scale])
    drawn = np.array([_draw(labels, members, rng) for _ in range(rules.bootstraps)])
    weights = np.concatenate([np.ones((1, len(labels))), drawn.reshape(-1, len(labels))])
    fitted = solve_ridge_logistic(design, labels.astype(float), weights, rules.ridge)
    return Calibrator(tuple(names), center, scale, fitted, len(labels), positive)


def solve_ridge_logistic(design: Floats, labels: Floats, weights: Floats, ridge: float) -> Floats:
    """Minimise weighted log loss + ridge/2 * |coefficients|² for each row of weights, by Newton steps.

    Args:
        design: shape (labels, 1 + features); the first column is 1 and is not penalised.
        labels: 0 or 1, shape (labels,).
        weights: shape (fits, labels).
        ridge: strength of the penalty.

    Returns:
        Coefficients, shape (fits, 1 + features).
    """
    penalty = np.full(design.shape[1], ridge)
    penalty[0] = 1e-9  # only so that the system can always be solved
    found = np.zeros((len(weights), design.shape[1]))
    for _ in range(NEWTON_STEPS):
        chance = sigmoid(found @ design.T)
        gradient = (weights * (chance - labels)) @ design + penalty * found
        curvature = np.einsum("bn,ni,nj->bij", weights * chance * (1 - chance), design, design, optimize=True)
        step = np.linalg.solve(curvature + np.diag(penalty), gradient[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        found -= step * np.minimum(1, LONGEST_STEP / np.maximum(longest, LONGEST_STEP))
        if longest.max() < SETTLED:
            break
    return found


def sigmoid(values: Floats) -> Floats:
    """Return 1 / (1 + exp(-values)), without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * values)))


def _draw(labels: NDArray[np.bool_], members: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Draw label weights until both classes occur."""
    items, where = np.unique(members, return_inverse=True)
    where = where.reshape(members.shape)
    for _ in range(REDRAWS):
        times = np.bincount(rng.integers(len(items), size=len(items)), minlength=len(items))
        weights: Floats = times[where].prod(axis=1).astype(float)
        if weights[labels].any() and weights[~labels].any():
            return weights
    raise InputError("the labels of one class hang on too few items to be resampled", hint="label more items")
