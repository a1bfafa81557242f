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
from kina_build.support.cards import (
    ITEM_FEATURES,
    PAIR_FEATURES,
    Cards,
    Place,
    item_features,
    pair_features,
)
from kina_build.support.labels import ItemLabel, PairLabel
from kina_build.support.logistic import Calibrator, fit_calibrator

Floats = NDArray[np.float64]


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
