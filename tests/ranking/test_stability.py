"""How orders agree with themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.ranking.bootstrap import resample
from kina_build.ranking.stability import kendall_tau_b, mean_or_none, measure_agreement, split_half, thin
from tests.ranking.boards import board_of, draw_board

values = st.lists(st.integers(0, 4), min_size=5, max_size=5)


@given(values, values)
def test_tau_b_is_scipys(x, y):
    from scipy.stats import kendalltau

    ours = kendall_tau_b(np.array([x], dtype=float), np.array(y, dtype=float))[0]
    peer = kendalltau(x, y).statistic if len(set(x)) > 1 and len(set(y)) > 1 else float("nan")
    assert ours == pytest.approx(peer, nan_ok=True)


def test_one_model_has_no_order():
    board = board_of([[1, 0, 1, 0]])
    found = measure_agreement(board, resample(board, 100, 0))
    assert found.tau is None
    assert found.leader_kept == 1.0


def test_far_models_keep_their_order():
    board = draw_board(np.array([0.1, 0.5, 0.9]), 400, np.random.default_rng(0))
    found = measure_agreement(board, resample(board, 500, 0))
    assert found.tau == found.spearman == found.leader_kept == 1.0
    assert split_half(board, 20, 0) == (1.0, 1.0)


def test_equal_models_have_no_order_to_keep():
    board = draw_board(np.full(8, 0.5), 400, np.random.default_rng(0))
    tau, _ = split_half(board, 50, 0)
    assert abs(tau) < 0.25
    assert measure_agreement(board, resample(board, 500, 0)).leader_kept < 0.9


def test_thinning_keeps_a_share_of_every_discipline():
    rows = np.random.default_rng(0).random((3, 30)) < 0.5
    board = board_of(rows, ["a"] * 20 + ["b"] * 9 + ["c"])
    found = thin(board, 0.5, 50, 0)
    assert found.items == 10 + 5 + 1  # half rounds up, and no discipline vanishes
    assert found.variance_ratio == pytest.approx(30 / 16 - 1)


def test_thinning_flatters_as_its_variance_says():
    board = draw_board(np.linspace(0.4, 0.6, 12), 900, np.random.default_rng(1))
    taus = [thin(board, rate, 200, 0).top_tau for rate in (0.5, 0.7, 0.9)]
    assert taus == sorted(taus)
    assert taus[2] > measure_agreement(board, resample(board, 200, 0)).tau


def test_a_mean_of_nothing_is_nothing():
    assert mean_or_none(np.array([np.nan, np.nan])) is None
    assert mean_or_none(np.array([np.nan, 2.0])) == 2.0
