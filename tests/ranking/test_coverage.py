"""Do 95 % sets cover in 95 %? Boards drawn from a known order give the answer."""

from __future__ import annotations

import numpy as np

from kina_build.ranking.bootstrap import resample
from kina_build.ranking.intervals import percentile_interval
from kina_build.ranking.ranks import average_ranks, compare_all, rank_sets
from tests.ranking.boards import draw_board

BOARDS = 150
MODELS = 15
TRUTH = np.arange(MODELS, 0, -1)
"""The true rank of each row: means rise from row to row."""


def cover(means, items, rng):
    """Return which rows the marginal, simultaneous and percentile bounds cover on one board."""
    board = draw_board(means, items, rng)
    drawn = resample(board, 400, int(rng.integers(1 << 30)))
    sets = rank_sets(compare_all(board, drawn, 0.95))
    low, high = percentile_interval(average_ranks(drawn.means), 0.95)
    # row names m1, m10, m2, ... are sorted as text: put the truth into that order
    truth = np.array([TRUTH[int(name[1:]) - 1] for name in board.models])
    return (
        (sets.low <= truth) & (truth <= sets.high),
        (sets.low_simultaneous <= truth) & (truth <= sets.high_simultaneous),
        (low <= truth) & (truth <= high),
    )


def test_rank_sets_cover_and_the_percentile_interval_does_not():
    rng = np.random.default_rng(11)
    # a close field, as between neighbours of a leaderboard
    means = np.linspace(0.48, 0.52, MODELS)
    marginal, simultaneous, percentile = (
        np.array(rows) for rows in zip(*[cover(means, 400, rng) for _ in range(BOARDS)], strict=True)
    )
    assert marginal.mean(axis=0).min() >= 0.94
    assert simultaneous.all(axis=1).mean() >= 0.95
    assert percentile.all(axis=1).mean() < 0.6


def test_among_equals_hardly_a_board_separates_anyone():
    rng = np.random.default_rng(12)
    equal = np.full(MODELS, 0.5)
    wrong = 0
    for _ in range(BOARDS):
        board = draw_board(equal, 400, rng)
        contrasts = compare_all(board, resample(board, 400, int(rng.integers(1 << 30))), 0.95)
        wrong += bool(contrasts.beats_simultaneous.any())
    # 5 % of 150 is 7.5, with a standard deviation of 2.7
    assert wrong <= 15
