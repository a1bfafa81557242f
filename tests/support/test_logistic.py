from __future__ import annotations

import numpy as np
import pytest

from kina_build.config import SupportRules
from kina_build.errors import InputError
from kina_build.support.bank.logistic import fit_calibrator, sigmoid, solve_ridge_logistic

RULES = SupportRules(bootstraps=30)


def sample(rows: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, 3))
    labels = rng.random(rows) < sigmoid(features @ [2.0, -1.0, 0.0] + 0.5)
    return features, labels, np.arange(rows).reshape(-1, 1)


def fit(features, labels, members, rules=RULES, seed=0):
    rng = np.random.default_rng(seed)
    return fit_calibrator("abc", features, labels=labels, members=members, rules=rules, rng=rng)


def test_the_fit_is_where_the_gradient_of_the_penalised_loss_vanishes():
    features, labels, _ = sample(150)
    design = np.column_stack([np.ones(150), features])
    weights = np.random.default_rng(1).integers(0, 3, size=(4, 150)).astype(float)
    found = solve_ridge_logistic(design, labels.astype(float), weights, ridge=0.7)
    for row, weight in zip(found, weights, strict=True):
        gradient = (weight * (sigmoid(design @ row) - labels)) @ design
        assert gradient[0] == pytest.approx(0, abs=1e-6)
        assert gradient[1:] + 0.7 * row[1:] == pytest.approx(np.zeros(3), abs=1e-6)


def test_the_fit_equals_a_general_minimiser():
    from scipy.optimize import minimize

    features, labels, _ = sample(80)
    design = np.column_stack([np.ones(80), features])
    sign = np.where(labels, 1.0, -1.0)

    def loss(beta):
        return np.logaddexp(0, -sign * (design @ beta)).sum() + 0.5 * (beta[1:] ** 2).sum()

    best = minimize(loss, np.zeros(4), tol=1e-10)
    found = solve_ridge_logistic(design, labels.astype(float), np.ones((1, 80)), ridge=1.0)[0]
    assert found == pytest.approx(best.x, abs=1e-4)


def test_labels_that_one_feature_separates_are_fitted_with_finite_coefficients():
    features = np.linspace(-1, 1, 40).reshape(-1, 1)
    calibrator = fit(features, features[:, 0] > 0, np.arange(40).reshape(-1, 1))
    assert np.isfinite(calibrator.coefficients).all()
    assert np.abs(calibrator.coefficients).max() < 20
    chance = calibrator.probability(features)
    assert (np.diff(chance) > 0).all()
    assert chance[-1] > 0.9


def test_the_lower_quantile_lies_below_the_fit_and_more_labels_bring_it_closer():
    gaps = []
    for rows in (40, 1000):
        features, labels, members = sample(rows)
        calibrator = fit(features, labels, members)
        probe = np.random.default_rng(5).normal(size=(200, 3))
        gap = calibrator.probability(probe) - calibrator.bounds(probe, 0.1)[0]
        assert gap.mean() > 0
        gaps.append(gap.mean())
    assert gaps[1] < gaps[0] / 2


def test_refits_draw_whole_items_so_that_repeated_labels_feign_no_certainty():
    features, labels, members = sample(40)
    once = fit(features, labels, members)
    tenfold = fit(
        np.repeat(features, 10, axis=0), np.repeat(labels, 10), np.repeat(members, 10, axis=0),
        SupportRules(bootstraps=30, ridge=10),
    )  # fmt: skip
    spread_once = once.coefficients[1:, 1].std()
    assert tenfold.coefficients[1:, 1].std() == pytest.approx(spread_once, rel=0.2)


def test_a_pair_counts_as_often_as_both_its_items_were_drawn():
    features, labels, _ = sample(60)
    chain = np.column_stack([np.arange(60), np.arange(1, 61)])
    calibrator = fit(features, labels, chain)
    assert calibrator.coefficients.shape == (31, 4)
    assert np.ptp(calibrator.coefficients[1:, 1]) > 0


def test_equal_seeds_give_equal_fits_and_other_seeds_do_not():
    features, labels, members = sample(60)
    one, two, other = (fit(features, labels, members, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(one.coefficients, two.coefficients)
    assert not np.array_equal(one.coefficients, other.coefficients)
    assert np.array_equal(one.coefficients[0], other.coefficients[0])


def test_a_constant_feature_is_harmless():
    features, labels, members = sample(60)
    features[:, 2] = 7
    assert np.isfinite(fit(features, labels, members).probability(features)).all()


@pytest.mark.parametrize(("rows", "positive"), [(10, 5), (40, 2), (40, 38), (0, 0)])
def test_too_few_labels_are_refused(rows, positive):
    labels = np.arange(rows) < positive
    with pytest.raises(InputError, match=f"{rows} labels, {positive} of them positive"):
        fit(np.zeros((rows, 3)), labels, np.arange(rows).reshape(-1, 1))


def test_a_class_that_hardly_any_sample_holds_is_drawn_until_one_does():
    features, labels, members = sample(40)
    labels[:] = np.arange(40) < 3
    rules = SupportRules(bootstraps=200)
    calibrator = fit(features, labels, members, rules)
    assert np.isfinite(calibrator.coefficients).all()
    assert len(calibrator.refits()) == 200
