"""Who stands on the board, and who is set aside."""

from __future__ import annotations

import numpy as np
import pytest

from kina_build.errors import InputError, Refusal
from kina_build.ranking.board import build_board

NAN = float("nan")


def build(rows, models=("a", "b"), items=("q1", "q2", "q3"), **more):
    return build_board(list(models), list(items), np.array(rows, dtype=float), **more)


def test_rows_and_columns_are_sorted_by_name():
    board = build([[1, 0, 0], [0, 1, 1]], models=("b", "a"), items=("q3", "q1", "q2"))
    assert board.models == ("a", "b")
    assert board.item_ids == ("q1", "q2", "q3")
    assert board.scores.tolist() == [[1, 1, 0], [0, 0, 1]]


def test_a_model_with_gaps_is_shown_but_not_ranked():
    board = build([[1, 0, 1], [1, NAN, 1]])
    assert board.models == ("a",)
    assert [(m.model, m.reason, m.accuracy) for m in board.not_ranked] == [
        ("b", "scores for 2 of 3 items", 1.0)
    ]


def test_gaps_outside_the_chosen_items_do_not_matter():
    board = build([[1, 0, 1], [1, NAN, 1]], only=["q1", "q3"])
    assert board.models == ("a", "b")
    assert board.item_ids == ("q1", "q3")


def test_a_filter_model_is_not_ranked_even_with_all_scores():
    board = build([[1, 0, 1], [0, 0, 0]], filter_models=["b"])
    assert [(m.model, m.reason) for m in board.not_ranked] == [("b", "used in the filter")]


def test_nobody_left_is_a_refusal_that_says_why():
    with pytest.raises(Refusal, match="a: scores for 1 of 3 items"):
        build([[1, NAN, NAN], [NAN, 1, NAN]])


def test_one_item_is_no_board():
    with pytest.raises(Refusal, match="two items"):
        build([[1, 1, 1], [0, 0, 0]], only=["q1"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"models": ("a", "a")}, "model stands more than once"),
        ({"items": ("q1", "q1", "q2")}, "item_id stands more than once"),
        ({"filter_models": ["c"]}, "filter model 'c' has no scores"),
        ({"only": ["q1", "q9"]}, "1 items to rank on have no scores, first 'q9'"),
    ],
)
def test_bad_boards_are_named(change, message):
    with pytest.raises(InputError, match=message):
        build([[1, 0, 1], [0, 0, 0]], **change)


def test_percents_are_refused():
    with pytest.raises(InputError, match=r"outside \[0, 1\]"):
        build([[53.2, 0, 1], [0, 0, 0]])


def test_clusters_default_to_the_item_itself():
    assert not build([[1, 0, 1], [0, 0, 0]]).clustered
    assert build([[1, 0, 1], [0, 0, 0]], clusters={"q1": "p", "q2": "p"}).clusters == ("p", "p", "q3")


def gappy() -> tuple[list[str], list[str], np.ndarray]:
    """Two models on four items; b was blocked on one and answered one of two samples of another."""
    return ["a", "b"], ["q1", "q2", "q3", "q4"], np.array([[1, 0, 1, 0], [1, np.nan, 1, 1]], dtype=float)


def test_a_gap_keeps_a_model_off_unless_something_is_to_become_of_it() -> None:
    models, items, scores = gappy()
    assert [one.model for one in build_board(models, items, scores).not_ranked] == ["b"]
    wrong = build_board(models, items, scores, missing="wrong")
    assert (wrong.models, list(wrong.accuracy), wrong.coverage) == (("a", "b"), [0.5, 0.75], (1.0, 0.75))
    common = build_board(models, items, scores, missing="common")
    assert (common.item_ids, common.coverage) == (("q1", "q3", "q4"), (1.0, 0.75))
    bounds = build_board(models, items, scores, missing="bounds")
    assert (list(bounds.accuracy), bounds.best) == ([0.5, 0.75], (0.5, 1.0))


def test_samples_without_an_answer_count_as_wrong_by_their_share() -> None:
    models, items, scores = gappy()
    known = np.array([[1, 1, 1, 1], [1, 0, 0.5, 1]])
    half = build_board(models, items, scores, known=known, missing="bounds")
    assert (list(half.accuracy), half.coverage, half.best) == ([0.5, 0.625], (1.0, 0.625), (0.5, 1.0))


def test_no_common_item_is_refused_with_the_model_that_lacks_most() -> None:
    scores = np.array([[1, np.nan, np.nan], [np.nan, 1, 1]])
    with pytest.raises(Refusal, match="0 items are scored for every model") as refused:
        build_board(["a", "b"], ["q1", "q2", "q3"], scores, missing="common")
    assert "'a' lacks 2 of 3" in str(refused.value.hint)


def test_a_model_without_any_score_is_never_ranked() -> None:
    scores = np.array([[1, 0], [np.nan, np.nan]])
    assert build_board(["a", "b"], ["q1", "q2"], scores, missing="wrong").models == ("a",)
