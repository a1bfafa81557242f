"""A calibration of judges' ratings on those of experts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.config import SupportRules
from kina_build.support.judge.prompts import TOP_RATING
from kina_build.support.judge.ratings import Pair

HALF_STEPS = tuple(step / 2 for step in range(2 * TOP_RATING + 1))
"""Every value a median of ratings can take."""


@dataclass(frozen=True)
class Calibration:
    """What a median rating of the judges is worth on the experts' scale."""

    values: tuple[float, ...]
    """Calibrated rating for each of HALF_STEPS; never decreasing."""
    labels: int
    """Pairs that both the judges and the experts rated."""
    error_before: float | None
    """Mean absolute difference from the experts, in rating points, before calibration."""
    error_after: float | None
    """The same after, each label predicted from the labels of other items."""
    applied: bool
    """False: too few labels, or no gain on held-out items; the values are then the identity."""

    def apply(self, medians: Mapping[Pair, float]) -> dict[Pair, float]:
        """Return calibrated ratings."""
        return {pair: self.values[round(2 * value)] for pair, value in medians.items()}


def calibrate_ratings(
    medians: Mapping[Pair, float], labels: Mapping[Pair, float], rules: SupportRules = SupportRules()
) -> Calibration:
    """Fit a monotone map from the judges' ratings to the experts'.

    Isotonic regression over the nine values of a median, each of which also holds
    `rules.calibration_prior` imagined labels that agree with the judges, so that a level
    with few labels stays near itself. It is applied only with at least
    `rules.calibration_labels` labels and where it lowers the error on held-out items.

    Args:
        medians: the judges' median ratings.
        labels: the experts' median ratings.
        rules: the two numbers above.
    """
    shared = sorted(medians.keys() & labels.keys())
    judged = np.array([medians[pair] for pair in shared])
    expert = np.array([labels[pair] for pair in shared])
    before = round(float(np.abs(judged - expert).mean()), 4) if shared else None
    if len(shared) < max(rules.calibration_labels, 2):
        return Calibration(HALF_STEPS, len(shared), before, None, applied=False)
    groups = np.unique([item_id for item_id, _ in shared], return_inverse=True)[1] % rules.calibration_folds
    predicted = np.empty(len(shared))
    for fold in np.unique(groups):
        held = groups == fold
        values = _isotonic(judged[~held], expert[~held], rules.calibration_prior)
        predicted[held] = values[np.rint(2 * judged[held]).astype(int)]
    after = round(float(np.abs(predicted - expert).mean()), 4)
    applied = before is not None and after < before
    values = _isotonic(judged, expert, rules.calibration_prior) if applied else np.array(HALF_STEPS)
    return Calibration(tuple(round(float(v), 6) for v in values), len(shared), before, after, applied=applied)


def _isotonic(judged: NDArray[np.float64], expert: NDArray[np.float64], prior: float) -> NDArray[np.float64]:
    from scipy.optimize import isotonic_regression

    steps = np.array(HALF_STEPS)
    at = np.concatenate([np.rint(2 * judged).astype(int), np.arange(len(steps))])
    weights = np.concatenate([np.ones(len(judged)), np.full(len(steps), prior)])
    mass = np.bincount(at, weights)
    mean = np.bincount(at, weights * np.concatenate([expert, steps])) / mass
    return np.asarray(isotonic_regression(mean, weights=mass).x)
