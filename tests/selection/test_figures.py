"""What may be printed of a certificate: shares floored, bounds ceiled, rounding carried."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.selection.domains import select
from kina_build.selection.figures import figure, figures_of, percent, share
from kina_build.selection.guarantees import written
from kina_build.selection.inputs import Inputs
from kina_build.support.matrix import LARGEST_SUM, build_matrix, round_weights
from kina_build.support.rows import Score, matrix_from_scores
from kina_build.support.weights import with_weights

steps = st.integers(1, LARGEST_SUM)


@given(steps, steps, st.integers(0, 10**9))
def test_a_share_is_never_above_the_truth_and_whole_only_where_both_are_equal(
    one: int, other: int, slack: int
) -> None:
    value, bound = sorted((one, other))
    assert Fraction(share(value, bound, slack)) <= Fraction(value, bound)
    assert Fraction(percent(value, bound, slack).removesuffix(" %")) / 100 <= Fraction(value, bound)
    assert (percent(value, bound, slack) == "100.00 %") == (value == bound and slack == 0)


@given(steps, st.sampled_from([1, 7, 10**6, 10**15]))
def test_a_figure_stands_on_its_side_of_the_number(value: int, unit: int) -> None:
    exact = Fraction(value, unit)
    low, high = (Fraction(figure(exact, up=up)) for up in (False, True))
    assert low <= exact <= high
    assert high - low <= exact / 10**4


def test_a_set_just_below_the_bound_is_not_called_all_of_it() -> None:
    assert percent(5_000_150, 5_000_200) == "99.99 %"
    assert percent(0, 0) == "100.00 %"
    assert [written(ratio) for ratio in (0.29, 0.9967, 0.996799999, 1.0)] == [
        "29.00 %",
        "99.67 %",
        "99.67 %",
        "100.00 %",
    ]


def test_the_earlier_form_has_no_whole_numbers_and_prints_the_same() -> None:
    matrix = build_matrix(["a", "b"], ["u", "v"], np.array([[0.7, 0.0], [0.4, 0.3]]), np.array([2.0, 1.0]))
    new = select(Inputs(matrix), 1).model_dump()
    old = {"objective": new["objective"], "scale": new["scale"], "weight_unit": new["weight_unit"]}
    bound = {"upper_bound": new["certificate"]["upper_bound"]}
    tight = {"upper_bound": new["certificate"]["tightest"]["upper_bound"]}
    assert figures_of(old | {"certificate": bound | {"tightest": tight}}) == figures_of(new)


@pytest.mark.parametrize(
    "weights", [[5e19, 3.0, 2.0], [4e16, 5.0, 3.0], [1e10, 9e9, 3e3], [1e-9, 1e-12, 0.0]]
)
def test_weights_of_any_size_add_up_exactly_and_none_above_zero_is_lost(weights: list[float]) -> None:
    found = round_weights(np.array(weights), 10**6)
    assert sum(found.steps.tolist()) * 10**6 <= LARGEST_SUM
    assert [step > 0 for step in found.steps.tolist()] == [weight > 0 for weight in weights]
    off = sum(
        abs(Fraction(repr(w)) * found.unit / found.step - s)
        for w, s in zip(weights, found.steps.tolist(), strict=True)
    )
    assert found.slack >= off * 10**6


def test_scores_of_more_digits_than_are_kept_move_the_objective_by_no_more_than_the_slack() -> None:
    rows = [Score("a", "u", 0.87654349, 1), Score("b", "u", 0.5, 2)]
    matrix = matrix_from_scores(rows, {"u": 1.0}, "s.csv")
    said = figures_of(select(Inputs(matrix), 1).model_dump())
    assert Fraction(said.bound) >= Fraction("0.87654349")
    assert said.share != "100.00 %"
    assert matrix_from_scores(rows[1:], {"u": 1.0}, "s.csv").slack == 0


@pytest.mark.parametrize("sum_of_weights", [1.0, 42.0])
def test_the_weights_a_support_was_made_from_leave_it_as_it_is(sum_of_weights: float) -> None:
    names = [f"u{n:02}" for n in range(42)]
    matrix = build_matrix(["a"], names, np.ones((1, 42)), np.full(42, 1 / 42))
    given_weights = dict.fromkeys(names, sum_of_weights / 42)
    assert with_weights(matrix, given_weights, "anchors.jsonl") is matrix
    assert matrix.slack > 0
