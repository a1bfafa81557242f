"""Item response theory with one or two parameters, by marginal maximum likelihood.

P(right) = 1 / (1 + exp(-(a theta + d))), theta of the models standard normal; difficulty b = -d / a.
EM over a fixed grid (Bock and Aitkin 1981): given the models' posteriors each item is a small ridge
logistic regression, solved by Newton steps for all items at once. The priors keep items finite that
all models get right, and discriminations that a few models cannot show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from kina_build.fidelity.responses import Floats

Form = Literal["1PL", "2PL"]

GRID = np.linspace(-4.0, 4.0, 81)
"""Abilities at which posteriors are kept."""
EASE_SD = 3.0
"""Standard deviation of the normal prior of d: weak, for logits beyond 6 are not met."""
SLOPE_MEAN, SLOPE_SD = 1.0, 0.7
"""Normal prior of a; it may turn negative, which says that a key should be read again."""
ROUNDS = 100
SETTLED = 2e-3
"""Largest move of a parameter at which EM ends."""
STEPS = 2
"""Newton steps of the items a round."""


@dataclass(frozen=True)
class Fit:
    """Parameters of all items, with their standard errors, and the models' abilities."""

    form: Form
    slope: Floats
    """a, shape (items,); of 1PL one value for all."""
    ease: Floats
    """d, shape (items,)."""
    slope_error: Floats
    """0 for 1PL, whose slope all items share."""
    ease_error: Floats
    covariance: Floats
    """Of a and d."""
    ability: Floats
    """Posterior means, shape (models,)."""
    rounds: int
    settled: bool

    @property
    def difficulty(self) -> Floats:
        """Return b = -d / a; NaN where a is 0."""
        return np.asarray(
            np.divide(-self.ease, self.slope, out=np.full_like(self.ease, np.nan), where=self.slope != 0)
        )

    @property
    def difficulty_error(self) -> Floats:
        """Return the standard error of b by the delta method."""
        a, b = self.slope, self.difficulty
        variance = self.ease_error**2 + b**2 * self.slope_error**2 + 2 * b * self.covariance
        return np.asarray(np.sqrt(np.maximum(variance, 0)) / np.abs(a))


def fit(scores: Floats, form: Form, start: Fit | None = None) -> Fit:
    """Fit a model to the scores of many models on many items.

    Args:
        scores: shape (models, items), in [0, 1]; a mean of samples counts as one answer.
        form: 1PL shares one discrimination, 2PL has one for each item.
        start: a fit to start from, such as the 1PL for the 2PL.
    """
    share = scores.mean(axis=0).clip(0.02, 0.98)
    slope: Floats = np.ones(scores.shape[1]) if start is None else start.slope
    ease: Floats = np.log(share / (1 - share)) if start is None else start.ease
    prior = np.exp(-(GRID**2) / 2)
    prior /= prior.sum()
    settled, done = False, 0
    while done < ROUNDS and not settled:
        posterior = _posterior(scores, slope, ease, prior)
        before = slope, ease
        right, seen = scores.T @ posterior, posterior.sum(axis=0)
        for _ in range(STEPS):
            slope, ease = _step(form, slope, ease, right, seen)
        settled = max(float(np.abs(slope - before[0]).max()), float(np.abs(ease - before[1]).max())) < SETTLED
        done += 1
    posterior = _posterior(scores, slope, ease, prior)
    errors = _errors(form, slope, ease, posterior.sum(axis=0))
    return Fit(form, slope, ease, *errors, posterior @ GRID, done, settled)


def probability(found: Fit) -> Floats:
    """Return the probability of each model to get each item right, shape (models, items)."""
    logits = np.outer(found.ability, found.slope) + found.ease
    return np.asarray(1 / (1 + np.exp(-logits)))


def fit_squares(scores: Floats, found: Fit) -> tuple[Floats, Floats]:
    """Return infit and outfit of each item: mean squared residuals, 1 where the model holds.

    Infit weighs by information, outfit counts every model alike (Wright and Masters 1982).
    """
    expected = probability(found)
    variance = np.maximum(expected * (1 - expected), 1e-9)
    squared = (scores - expected) ** 2
    return np.asarray(squared.sum(axis=0) / variance.sum(axis=0)), np.asarray(
        (squared / variance).mean(axis=0)
    )


def _posterior(scores: Floats, slope: Floats, ease: Floats, prior: Floats) -> Floats:
    """Return the weight of each ability for each model, shape (models, grid)."""
    logits = slope[:, None] * GRID + ease[:, None]
    # log P(right) - log P(wrong) is the logit itself; log P(wrong) = -log(1 + exp(logit))
    log = scores @ logits - np.logaddexp(0, logits).sum(axis=0) + np.log(prior)
    weight = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def _step(form: Form, slope: Floats, ease: Floats, right: Floats, seen: Floats) -> tuple[Floats, Floats]:
    """Take one Newton step of every item, and for 1PL of the shared slope."""
    chance = 1 / (1 + np.exp(-(slope[:, None] * GRID + ease[:, None])))
    residual = right - seen * chance
    weight = seen * chance * (1 - chance)
    g_ease = residual.sum(axis=1) - ease / EASE_SD**2
    h_ease = weight.sum(axis=1) + 1 / EASE_SD**2
    if form == "1PL":
        g = float((residual @ GRID).sum()) - (float(slope[0]) - SLOPE_MEAN) / SLOPE_SD**2
        cross = weight @ GRID
        h = float((weight @ GRID**2).sum()) + 1 / SLOPE_SD**2 - float((cross**2 / h_ease).sum())
        move = float(np.clip((g - float((cross * g_ease / h_ease).sum())) / h, -0.5, 0.5))
        return slope + move, ease + np.clip((g_ease - cross * move) / h_ease, -1, 1)
    g_slope = residual @ GRID - (slope - SLOPE_MEAN) / SLOPE_SD**2
    h_slope = weight @ GRID**2 + 1 / SLOPE_SD**2
    cross = weight @ GRID
    determinant = h_ease * h_slope - cross**2
    to_slope = (h_ease * g_slope - cross * g_ease) / determinant
    to_ease = (h_slope * g_ease - cross * g_slope) / determinant
    return slope + np.clip(to_slope, -1, 1), ease + np.clip(to_ease, -1, 1)


def _errors(form: Form, slope: Floats, ease: Floats, seen: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the standard errors of a and d and their covariance, from the information at the fit."""
    chance = 1 / (1 + np.exp(-(slope[:, None] * GRID + ease[:, None])))
    weight = seen * chance * (1 - chance)
    h_ease = weight.sum(axis=1) + 1 / EASE_SD**2
    if form == "1PL":
        return np.zeros_like(ease), 1 / np.sqrt(h_ease), np.zeros_like(ease)
    h_slope, cross = weight @ GRID**2 + 1 / SLOPE_SD**2, weight @ GRID
    determinant = h_ease * h_slope - cross**2
    return np.sqrt(h_ease / determinant), np.sqrt(h_slope / determinant), -cross / determinant
