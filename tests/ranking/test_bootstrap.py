"""The paired bootstrap: exact, order-free, and the stratification trap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.ranking.board import build_board
from kina_build.ranking.bootstrap import draw_counts, resample, stratified_counts, whole_levels
from tests.ranking.boards import board_of


def test_one_draw_of_items_serves_all_models():
    board = board_of([[1, 0, 1, 0], [1, 0, 1, 0], [0, 1, 0, 1]])
    means = resample(board, 500, 0).means
    assert (means[:, 0] == means[:, 1]).all()
    assert means[:, 0] + means[:, 2] == pytest.approx(1)


def test_the_product_equals_a_naive_loop_over_the_same_draws():
    rng = np.random.default_rng(5)
    board = board_of(rng.random((3, 17)) < 0.5)
    means = resample(board, 50, 7).means
    draws = np.random.default_rng(7)
    naive = [board.scores[:, draws.integers(0, 17, 17, dtype=np.int32)].mean(axis=1) for _ in range(50)]
    assert means == pytest.approx(np.array(naive), abs=1e-12)


def test_the_bootstrap_finds_the_standard_error_of_the_mean():
    board = board_of([[1, 0] * 200])
    assert resample(board, 20_000, 1).means.std() == pytest.approx(0.5 / 20, rel=0.03)


def test_items_of_one_passage_are_drawn_together():
    rows = np.array([[1.0] * 5 + [0.0] * 5 + [1.0] * 5 + [0.0] * 5])
    items = [f"q{i:02d}" for i in range(20)]
    board = build_board(["m"], items, rows, clusters={q: f"p{i // 5}" for i, q in enumerate(items)})
    found = resample(board, 20_000, 0)
    assert found.units == 4
    assert found.means.std() == pytest.approx(0.25, rel=0.03)


def test_drawing_whole_clusters_of_unequal_size_averages_over_the_items_drawn():
    rows = np.array([[1.0, 0.0, 0.0, 0.0]])
    board = build_board(["m"], ["a", "b", "c", "d"], rows, clusters={"b": "p", "c": "p", "d": "p"})
    assert set(np.round(resample(board, 200, 0).means.ravel(), 6)) == {0.0, 0.25, 1.0}


@given(st.lists(st.integers(0, 12), min_size=2, max_size=20), st.integers(1, 12))
def test_fractions_become_whole_numbers_of_their_denominator(numerators, denominator):
    scores = np.array([[min(n, denominator) / denominator for n in numerators]])
    levels, unit = whole_levels(scores)
    assert denominator % unit == 0
    assert levels / unit == pytest.approx(scores)


def test_scores_that_are_no_small_fraction_are_kept_to_a_millionth():
    levels, unit = whole_levels(np.array([[0.1234567, 1 / np.pi]]))
    assert unit == 1_000_000
    assert levels.tolist() == [[123457, 318310]]


def test_rows_of_counts_sum_to_the_items():
    blocks = list(draw_counts(30, 7, np.random.default_rng(0)))
    assert np.concatenate(blocks).sum(axis=1).tolist() == [30] * 7


def test_stratifying_by_tiny_disciplines_shrinks_the_error_and_rescaling_mends_it():
    rng = np.random.default_rng(3)
    strata = np.repeat(np.arange(261), [4] * 116 + [3] * 145)  # 899 items, as KINA
    scores = (rng.random(899) < 0.4).astype(float)
    truth = np.sqrt(scores.var(ddof=1) / 899)
    plain = (stratified_counts(strata, 4000, rng, rescaled=False) @ scores / 899).std()
    rescaled = (stratified_counts(strata, 4000, rng) @ scores / 899).std()
    assert plain / truth == pytest.approx(0.84, abs=0.03)
    assert rescaled / truth == pytest.approx(1.0, abs=0.04)


def test_a_stratum_of_one_item_is_refused():
    with pytest.raises(ValueError, match="merge it"):
        stratified_counts(np.array([0, 0, 1]), 5, np.random.default_rng(0))
