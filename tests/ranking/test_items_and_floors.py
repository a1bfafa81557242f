"""Items through the models' eyes, and scores that need no knowledge."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from kina_build.ranking.files import itemfiles
from kina_build.ranking.files.itemfiles import AnswerKey, find_floors, letter_habit, read_items
from kina_build.ranking.itemanalysis import add_distractors, analyse_items
from tests.ranking.boards import board_of


def key_of(keys: str, counts: list[int]) -> AnswerKey:
    return AnswerKey(tuple(f"q{i}" for i in range(len(keys))), tuple(keys), tuple(counts))


def test_chance_follows_the_option_counts():
    floors = find_floors(key_of("ABA", [10, 4, 2]))
    assert floors.chance == pytest.approx(0.283333, abs=1e-6)
    assert (floors.letter, floors.letter_accuracy) == ("A", pytest.approx(2 / 3))


def test_a_model_that_always_says_a_earns_what_a_earns():
    key = key_of("AABC", [4, 4, 4, 4])
    assert find_floors(key, {"m": "AAAA"}).habits == {"m": 0.5}


def test_the_habit_score_is_the_mean_over_all_permutations():
    key = key_of("ABBC", [4, 4, 4, 4])
    letters = "ABCD"
    by_hand = np.mean(
        [np.mean([a == b for a, b in zip(p, key.keys, strict=True)]) for p in permutations(letters)]
    )
    assert letter_habit(letters, key) == pytest.approx(by_hand)


def test_letters_are_dealt_only_among_items_with_as_many_options():
    assert letter_habit("AJ", key_of("AJ", [2, 10])) == 1.0


def test_no_letter_never_scores():
    assert letter_habit("--", key_of("AB", [4, 4])) == 0.0


def test_distractors_name_the_letter_that_draws_the_better_models():
    board = board_of([[1, 0], [1, 0], [0, 1]])
    figures = add_distractors(analyse_items(board), ["AC", "AC", "BD"], "AD", board.accuracy)
    assert figures[1].picks == {"C": 2, "D": 1}
    assert (figures[1].distractor, figures[1].distractor_beats_key) == ("C", True)


def test_nobody_wrong_means_no_distractor():
    board = board_of([[1, 0], [1, 0]])
    figures = add_distractors(analyse_items(board), ["A-", "A-"], "AD", board.accuracy)
    assert [f.distractor for f in figures] == [None, None]


def test_items_with_several_right_answers_have_their_own_chance(tmp_path: Path) -> None:
    rows = [
        {"item_id": "one", "options": ["a", "b", "c"], "correct_answer": "B"},
        {"item_id": "two", "options": ["a", "b", "c"], "correct_answer": "CA"},
        {"item_id": "list", "options": ["a", "b", "c"], "answer": ["B"]},
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    items = read_items(path)
    assert [(item.letter, item.several) for item in items] == [("B", False), ("AC", True), ("B", True)]
    floors = find_floors(itemfiles.key_of(items, ["one", "two", "list"]))
    assert floors.chance == pytest.approx((1 / 3 + 1 / 7 + 1 / 7) / 3)
    assert (floors.letter, floors.letter_accuracy) == ("B", 2 / 3)
