"""Ranks that say what is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.ranking.bootstrap import resample
from kina_build.ranking.ranks import (
    average_ranks,
    compare_all,
    find_tiers,
    interval_ranks,
    order_models,
    rank_sets,
    top_k_probability,
)
from tests.ranking.boards import board_of, draw_board, paired_board


def sets_of(board, samples=2000):
    contrasts = compare_all(board, resample(board, samples, 0), 0.95)
    return contrasts, rank_sets(contrasts)


def test_a_difference_of_two_items_is_a_tie():
    _, sets = sets_of(paired_board(6, 4, 899))
    assert sets.low.tolist() == [1, 1]
    assert sets.high.tolist() == [2, 2]


def test_a_difference_of_sixty_items_is_not():
    _, sets = sets_of(paired_board(80, 20, 899))
    assert sets.low_simultaneous.tolist() == [1, 2]
    assert sets.high_simultaneous.tolist() == [1, 2]


def test_equal_rows_share_everything():
    contrasts, sets = sets_of(board_of([[1, 0, 1, 0], [1, 0, 1, 0]]))
    assert contrasts.se[0, 1] == 0
    assert contrasts.win[0, 1] == 0.5
    assert sets.high.tolist() == [2, 2]


@given(st.integers(0, 10_000), st.integers(2, 6))
def test_sets_hold_the_observed_place_and_simultaneous_ones_hold_the_marginal(seed, models):
    rng = np.random.default_rng(seed)
    board = draw_board(rng.uniform(0.2, 0.8, models), 60, rng)
    _, sets = sets_of(board, samples=200)
    for place, row in enumerate(order_models(board.accuracy, board.models), start=1):
        assert sets.low_simultaneous[row] <= sets.low[row] <= place <= sets.high[row]
        assert sets.high[row] <= sets.high_simultaneous[row]


@given(st.integers(0, 10_000))
def test_no_set_depends_on_the_order_of_rows(seed):
    rng = np.random.default_rng(seed)
    board = draw_board(np.array([0.3, 0.45, 0.5, 0.7]), 80, rng)
    one, other = sets_of(board, 200), sets_of(board_of(board.scores[::-1]), 200)
    assert one[1].low.tolist() == other[1].low.tolist()[::-1]
    assert one[0].critical_simultaneous == other[0].critical_simultaneous


def test_differences_win_shares_and_errors_are_antisymmetric():
    contrasts, _ = sets_of(draw_board(np.array([0.3, 0.5, 0.6]), 100, np.random.default_rng(0)))
    assert contrasts.difference == pytest.approx(-contrasts.difference.T)
    assert contrasts.se == pytest.approx(contrasts.se.T)
    assert contrasts.win + contrasts.win.T == pytest.approx(1)


def test_the_paired_error_is_that_of_the_differences():
    board = draw_board(np.array([0.3, 0.5]), 100, np.random.default_rng(0))
    gap = board.scores[0] - board.scores[1]
    contrasts, _ = sets_of(board)
    assert contrasts.se[0, 1] == pytest.approx(gap.std(ddof=1) / 10)


def test_ties_share_their_average_rank():
    assert average_ranks(np.array([[0.5, 0.7, 0.5, 0.1]])).tolist() == [[2.5, 1, 2.5, 4]]


def test_top_k_counts_resamples():
    ranks = np.array([[1.0, 2, 3], [2, 1, 3], [1, 2, 3], [1.5, 1.5, 3]])
    assert top_k_probability(ranks, 1).tolist() == [0.5, 0.25, 0]


def test_intervals_that_overlap_share_ranks():
    low, high = interval_ranks(np.array([0.5, 0.45, 0.1]), np.array([0.6, 0.55, 0.2]))
    assert (low.tolist(), high.tolist()) == ([1, 1, 3], [2, 2, 3])


def test_a_tier_starts_where_its_leader_is_beaten_for_certain():
    beats = np.zeros((4, 4), dtype=bool)
    beats[0, 2] = beats[0, 3] = beats[2, 3] = True
    assert find_tiers([0, 1, 2, 3], beats) == [1, 1, 2, 3]


def test_equal_accuracies_go_by_name():
    assert order_models(np.array([0.5, 0.7, 0.5]), ("b", "c", "a")) == [1, 2, 0]
