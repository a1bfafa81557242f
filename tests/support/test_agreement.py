from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import SupportRules
from kina_build.support.judge.agreement import HALF_STEPS, calibrate_ratings, compare_experts, compare_judges
from tests.support.test_ratings import rate


def test_two_judges_are_compared_on_the_pairs_both_rated():
    ratings = [rate("q", f"u{i}", r, "a") for i, r in enumerate((0, 1, 2, 4))]
    ratings += [rate("q", f"u{i}", r, "b") for i, r in enumerate((0, 2, 2))]
    [row] = compare_judges(ratings)
    assert (row["judges"], row["pairs"], row["exact"], row["within_one"]) == (["a", "b"], 3, 0.6667, 1.0)


def test_kappa_is_one_for_equals_below_zero_for_opposites_and_undefined_for_constants():
    def kappa(one, two):
        ratings = [rate("q", f"u{i}", r, "a") for i, r in enumerate(one)]
        ratings += [rate("q", f"u{i}", r, "b") for i, r in enumerate(two)]
        return compare_judges(ratings)[0]["kappa"]

    assert kappa((0, 2, 4), (0, 2, 4)) == 1.0
    assert kappa((0, 2, 4), (4, 2, 0)) == -1.0
    assert kappa((0, 0, 0), (0, 1, 2)) is None


def test_kappa_equals_the_textbook_sum_over_the_confusion_table():
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, 5, 60), rng.integers(0, 5, 60)
    table = np.zeros((5, 5))
    np.add.at(table, (one, two), 1 / 60)
    cost = (np.arange(5)[:, None] - np.arange(5)) ** 2
    textbook = 1 - (table * cost).sum() / (np.outer(table.sum(1), table.sum(0)) * cost).sum()
    ratings = [rate("q", f"u{i}", int(r), "a") for i, r in enumerate(one)]
    ratings += [rate("q", f"u{i}", int(r), "b") for i, r in enumerate(two)]
    assert compare_judges(ratings)[0]["kappa"] == pytest.approx(textbook, abs=1e-4)


def test_pairs_on_which_experts_differ_widely_are_listed():
    report = compare_experts({("q", "u"): 4.0, ("q", "v"): 1.0}, {("q", "u"): 0.0, ("q", "v"): 1.0})
    assert report["bias"] == 2.0
    assert report["far_apart"] == [{"item_id": "q", "anchor_id": "u", "judges": 4.0, "experts": 0.0}]
    assert compare_experts({}, {})["bias"] is None


def test_a_judge_who_is_always_one_point_high_is_brought_down():
    medians = {(f"q{i}", "u"): float(1 + i % 4) for i in range(60)}
    labels = {pair: value - 1 for pair, value in medians.items()}
    fit = calibrate_ratings(medians, labels)
    assert fit.applied
    assert fit.error_before == 1.0
    assert fit.error_after is not None
    assert fit.error_after < 0.35
    assert fit.apply({("q0", "u"): 3.0})["q0", "u"] == pytest.approx(2.1, abs=0.15)


def test_too_few_labels_or_no_gain_change_nothing():
    medians = {(f"q{i}", "u"): float(i % 5) for i in range(60)}
    few = calibrate_ratings(medians, {("q1", "u"): 0.0})
    assert (few.applied, few.labels, few.values) == (False, 1, HALF_STEPS)
    perfect = calibrate_ratings(medians, medians)
    assert (perfect.applied, perfect.values) == (False, HALF_STEPS)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), min_size=30, max_size=60))
def test_calibrated_values_never_decrease_and_stay_on_the_scale(rows):
    medians = {(f"q{i}", "u"): judged / 2 for i, (judged, _) in enumerate(rows)}
    labels = {(f"q{i}", "u"): float(expert) for i, (_, expert) in enumerate(rows)}
    values = np.array(calibrate_ratings(medians, labels, SupportRules(calibration_prior=0.5)).values)
    assert (np.diff(values) >= -1e-9).all()
    assert values.min() >= 0
    assert values.max() <= 4
