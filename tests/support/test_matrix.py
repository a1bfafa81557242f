"""Scores and weights become whole numbers: to the nearest, and never to nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kina_build.support.matrix import LARGEST_SUM, build_matrix, round_weights, weight_unit


def test_scores_and_weights_go_to_the_nearest_whole_number() -> None:
    scores = np.array([[0.26, 0.24]])
    matrix = build_matrix(["q"], ["u", "v"], scores, np.array([1.6, 8.4]), scale=10, weight_sum=10)
    assert matrix.levels.tolist() == [[3, 2]]
    assert (matrix.weights.tolist(), matrix.weight_unit, matrix.faded) == ([2, 8], 1, ())


def test_a_weight_that_would_round_to_nothing_counts_as_the_least_there_is() -> None:
    rounded = round_weights(np.array([0.2, 9.8, 0.0]), 10, 10)
    assert rounded.steps.tolist() == [1, 10, 0]
    assert rounded.tiny.tolist() == [True, False, False]
    assert rounded.slack == 10  # 0.8 and 0.2 of a weight, ten levels each


def test_heavy_weights_are_rounded_to_the_nearest_step() -> None:
    heavy = np.array([16.0, 15.0]) * LARGEST_SUM
    rounded = round_weights(heavy, 1)
    exact = [Fraction(float(weight)) * rounded.unit / rounded.step for weight in heavy]
    assert rounded.step > 1
    assert all(
        abs(step - weight) <= Fraction(1, 2)
        for step, weight in zip(rounded.steps.tolist(), exact, strict=True)
    )
    assert int(rounded.steps.sum()) <= LARGEST_SUM


@pytest.mark.parametrize(("total", "unit"), [(1.0, 1000), (1 - 1e-12, 1000), (0.99, 10_000), (1000.0, 1)])
def test_a_hair_below_one_costs_no_factor_of_ten(total: float, unit: int) -> None:
    assert weight_unit(np.array([total / 2, total / 2]), 1000) == unit
