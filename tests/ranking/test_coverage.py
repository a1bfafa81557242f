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


def passages(means, count, size, rng):
    """Draw boards whose items come in passages on which a model is good or bad as a whole, with gaps."""
    from scipy.special import ndtri

    from kina_build.ranking.board import build_board

    items, models = count * size, len(means)
    shared = np.repeat(rng.normal(size=(models, count)), size, axis=1)
    latent = (shared + rng.normal(size=(models, items))) / np.sqrt(2)
    scores = (latent < ndtri(means)[:, None]).astype(float)
    scores[rng.random(scores.shape) < 0.03] = np.nan  # calls that failed, whoever made them
    names, ids = [f"m{row:02d}" for row in range(models)], [f"q{column:04d}" for column in range(items)]
    clusters = {item: f"p{column // size}" for column, item in enumerate(ids)}
    together = build_board(names, ids, scores, clusters=clusters, missing="wrong")
    return together, build_board(names, ids, scores, missing="wrong")


def test_rank_sets_cover_with_passages_and_gaps_and_not_without_the_passages():
    rng = np.random.default_rng(13)
    means = np.linspace(0.44, 0.56, 8)
    truth = np.arange(8, 0, -1)
    covered = {True: 0, False: 0}
    for _ in range(120):
        for clustered, board in zip((True, False), passages(means, 60, 8, rng), strict=True):
            sets = rank_sets(compare_all(board, resample(board, 400, int(rng.integers(1 << 30))), 0.95))
            inside = (sets.low_simultaneous <= truth) & (truth <= sets.high_simultaneous)
            covered[clustered] += bool(inside.all())
    assert covered[True] >= 0.93 * 120
    assert covered[False] < 0.9 * 120
