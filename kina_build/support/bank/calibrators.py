"""The three calibrators of the reference bank, fitted on the labels of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import SupportRules
from kina_build.errors import InputError
from kina_build.support.bank.features import (
    ITEM_FEATURES,
    PAIR_FEATURES,
    Cards,
    Place,
    item_features,
    pair_features,
)
from kina_build.support.bank.labels import ItemLabel, PairLabel


@dataclass(frozen=True)
class PairJudge:
    """The two calibrators of pairs: shared support T and duplicate risk U."""

    support: Calibrator
    duplicate: Calibrator
    discount: float
    """lambda_dup."""

    def score(self, features: NDArray[np.floating], which: int = 0) -> Floats:
        """Return s = max(0, T - lambda_dup * U) by the fit (0) or by one refit, shape (pairs,)."""
        shared = self.support.refit(features, which)
        return np.asarray(np.maximum(0, shared - self.discount * self.duplicate.refit(features, which)))


@dataclass(frozen=True)
class Fits:
    """All that was learnt from labels."""

    alignment: Calibrator
    pairs: PairJudge
    unused: int
    """Item labels in domains without anchors."""

    def describe(self) -> dict[str, Any]:
        """Return labels and coefficients, for the report."""
        fits = {
            "alignment": self.alignment,
            "support": self.pairs.support,
            "duplicate": self.pairs.duplicate,
        }
        return {name: _describe(fit) for name, fit in fits.items()} | {"unused_item_labels": self.unused}


def fit_calibrators(
    cards: Cards,
    places: Sequence[Place],
    item_labels: Sequence[ItemLabel],
    pair_labels: Sequence[PairLabel],
    *,
    rules: SupportRules,
    seed: int,
) -> Fits:
    """Fit alignment on item labels, shared support and duplicate risk on pair labels.

    One fit serves all domains: a domain alone seldom has labels enough.

    Raises:
        InputError: too few labels, or too few of one class; says of which calibrator.
    """
    fit = partial(_fit, rules=rules, rng=np.random.default_rng(seed))
    features = {
        int(row): values
        for place in places
        for row, values in zip(place.rows, item_features(cards, place), strict=True)
    }
    usable = sorted(
        (cards.number[label.item_id], label.aligned)
        for label in item_labels
        if cards.number[label.item_id] in features
    )
    of_items = np.array([row for row, _ in usable], dtype=np.int64).reshape(-1, 1)
    alignment = fit(
        "alignment",
        ITEM_FEATURES,
        features=np.array([features[row] for row, _ in usable]).reshape(-1, len(ITEM_FEATURES)),
        labels=np.array([value for _, value in usable], dtype=bool),
        members=of_items,
    )
    ends = sorted(
        (*sorted((cards.number[p.item_id], cards.number[p.other_id])), p.support, p.duplicate)
        for p in pair_labels
    )
    of_pairs = np.array([row[:2] for row in ends], dtype=np.int64).reshape(-1, 2)
    of_pair = partial(fit, features=pair_features(cards, of_pairs[:, 0], of_pairs[:, 1]), members=of_pairs)
    support = of_pair("support", PAIR_FEATURES, labels=np.array([row[2] for row in ends], dtype=bool))
    duplicate = of_pair("duplicate", PAIR_FEATURES, labels=np.array([row[3] for row in ends], dtype=bool))
    judge = PairJudge(support, duplicate, rules.duplicate_discount)
    return Fits(alignment, judge, len(item_labels) - len(usable))


def _fit(what: str, names: Sequence[str], **more: Any) -> Calibrator:
    try:
        return fit_calibrator(names, **more)
    except InputError as error:
        raise InputError(f"calibrator of {what}: {error.message}", hint=error.hint) from None


def _describe(fit: Calibrator) -> dict[str, Any]:
    names = ("intercept", *fit.names)
    weights = {name: round(float(w), 4) for name, w in zip(names, fit.coefficients[0], strict=True)}
    return {"labels": fit.labels, "positive": fit.positive, "coefficients": weights}


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

    def lower(self, features: NDArray[np.floating], delta: float) -> Floats:
        """Return the `delta` quantile over the refits, shape (rows,)."""
        refits = np.array([self.refit(features, which) for which in self.refits()])
        return np.asarray(np.quantile(refits, delta, axis=0))


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
