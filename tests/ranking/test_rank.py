"""The whole leaderboard of a board."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kina_build.config import RankingRules
from kina_build.ranking.assembly import rank_board
from kina_build.ranking.board import build_board
from tests.ranking.boards import board_of, draw_board, paired_board

FEW = RankingRules(samples=400, split_halves=20, thinning_samples=50)


@pytest.fixture
def board():
    return draw_board(np.array([0.3, 0.5, 0.52, 0.8]), 300, np.random.default_rng(2))


def test_standings_go_by_accuracy_and_ties_share_a_rank(board):
    found = rank_board(board, FEW)
    assert [s.model for s in found.standings] == ["m4", "m3", "m2", "m1"]
    assert [s.rank for s in found.standings] == [1, 2, 2, 4]
    assert [s.tier for s in found.standings] == [1, 2, 2, 3]


def test_equal_bytes_from_any_order_of_rows_and_columns(board):
    shuffled = build_board(
        board.models[::-1], board.item_ids[::-1], board.scores[::-1, ::-1], board.disciplines[::-1]
    )
    assert rank_board(shuffled, FEW).model_dump_json() == rank_board(board, FEW).model_dump_json()


def test_every_pair_is_there_once_and_families_are_corrected(board):
    found = rank_board(board, FEW)
    assert len(found.pairs) == 6
    assert sum(pair.p_next_holm is not None for pair in found.pairs) == 3
    leader = [pair for pair in found.pairs if pair.p_leader_holm is not None]
    assert {pair.first for pair in leader} == {"m4"}
    assert all(pair.p <= pair.p_leader_holm for pair in leader)


def test_right_or_wrong_answers_get_wilson_and_mcnemar():
    found = rank_board(paired_board(6, 4, 899), FEW)
    assert found.interval == "wilson"
    assert (found.pairs[0].only_first, found.pairs[0].only_second) == (6, 4)
    assert found.pairs[0].mdd == pytest.approx(2.8 * np.sqrt((10 / 899 - (2 / 899) ** 2) / 899), abs=1e-6)
    assert found.mdd == found.pairs[0].mdd


def test_averages_over_several_answers_get_bootstrap_and_z():
    rows = np.random.default_rng(0).integers(0, 5, (2, 200)) / 4
    found = rank_board(board_of(rows), FEW)
    assert found.interval == "bootstrap percentile"
    assert found.standings[0].wilson_low is None
    assert found.pairs[0].test == "paired-z"
    assert found.pairs[0].p_exact is None


def test_one_model_is_a_board_without_pairs():
    found = rank_board(board_of([[1, 0, 1]]), FEW)
    assert (found.pairs, found.mdd, found.tau) == ((), None, None)
    assert found.standings[0].rank_high == 1


def test_clusters_widen_what_is_said():
    rows = np.repeat(np.random.default_rng(4).random((2, 40)) < [[0.5], [0.7]], 5, axis=1).astype(float)
    items = [f"q{i:03d}" for i in range(200)]
    alone = rank_board(build_board(["a", "b"], items, rows), FEW)
    together = rank_board(
        build_board(["a", "b"], items, rows, clusters={q: f"p{i // 5}" for i, q in enumerate(items)}), FEW
    )
    assert together.clusters == 40
    assert together.interval == "bootstrap percentile"
    wide, narrow = together.pairs[0], alone.pairs[0]
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
    # McNemar's test takes items as independent: it has no place here
    assert (wide.test, narrow.test) == ("paired-z", "mcnemar")


def test_disciplines_withhold_ranks_below_twenty_items():
    rows = np.random.default_rng(0).random((2, 50)) < 0.5
    found = rank_board(board_of(rows, ["law"] * 31 + ["art"] * 19), FEW)
    assert [(d.discipline, d.n, d.ranks_withheld) for d in found.disciplines] == [
        ("art", 19, True),
        ("law", 31, False),
    ]
    assert found.disciplines[0].rows[0].rank_low is None
    assert found.disciplines[1].rows[0].rank_low == 1


def test_the_papers_table_is_made_on_request_only(board):
    assert rank_board(board, FEW).paper == ()
    assert [row.rate for row in rank_board(board, FEW, paper=True).paper] == [0.5, 0.7, 0.9]


def test_the_document_holds_no_nan(board):
    json.dumps(rank_board(board, FEW, paper=True).model_dump(mode="json"), allow_nan=False)


def test_a_difference_above_one_is_never_named_as_detectable():
    found = rank_board(board_of([[1, 1, 1, 0], [1, 0, 0, 0]]), FEW)
    assert (found.mdd, found.pairs[0].mdd, found.pairs[0].high_simultaneous) == (None, None, 1.0)
