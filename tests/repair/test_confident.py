"""Confident learning on small votes, and the linking of two pools that its measurement rests on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.keys import link, row
from kina_build.errors import InputError
from kina_build.items.answers import build_matrix, spread_strings
from kina_build.items.model import Item
from kina_build.repair.confident import find_label_faults

Make = Callable[..., Item]
VOTES = [
    {"model": "m1", "answers": "ABCA"},
    {"model": "m2", "answers": "ABCA"},
    {"model": "m3", "answers": "ABBA"},
    {"model": "m4", "answers": "AB-D"},
]


@pytest.fixture
def pool(make_item: Make) -> list[Item]:
    """Return four items whose keys are A, B, C and D; three of four models deny the last."""
    return [make_item(f"q{n}", f"Question {n}?", correct_answer="ABCD"[n]) for n in range(4)]


def test_a_key_is_doubted_where_a_rival_is_as_sure_as_keys_are(pool: list[Item]) -> None:
    found = find_label_faults(pool, build_matrix(pool, spread_strings(VOTES, pool)))
    assert found.threshold == pytest.approx((1 + 1 + 0.5 + 0.25) / 4)
    (doubt,) = found.doubts
    assert (doubt.item_id, doubt.key, doubt.rival) == ("q3", "D", "A")
    assert (doubt.key_share, doubt.rival_share) == (0.25, 0.75)
    assert found.items == 4


def test_a_weak_rival_and_a_confirmed_key_are_left_alone(pool: list[Item]) -> None:
    split = [{**one, "answers": str(one["answers"])[:3] + "ABCD"[n]} for n, one in enumerate(VOTES)]
    assert find_label_faults(pool, build_matrix(pool, spread_strings(split, pool))).doubts == ()
    right = [{**one, "answers": "ABCD"} for one in VOTES]
    assert find_label_faults(pool, build_matrix(pool, spread_strings(right, pool))).doubts == ()


def test_only_the_named_models_count(pool: list[Item]) -> None:
    matrix = build_matrix(pool, spread_strings(VOTES, pool))
    assert find_label_faults(pool, matrix, ["m4"]).doubts == ()
    assert len(find_label_faults(pool, matrix, ["m1", "m2"]).doubts) == 1
    with pytest.raises(InputError, match="no responses of model 'm9'"):
        find_label_faults(pool, matrix, ["m9"])


def test_items_no_model_was_asked_are_not_judged(pool: list[Item]) -> None:
    matrix = build_matrix(pool, {"m1": {"q3": "A"}, "m2": {"q3": "A"}})
    found = find_label_faults(pool, matrix)
    assert (found.items, [one.item_id for one in found.doubts]) == (1, ["q3"])


def test_judged_items_are_linked_by_their_texts_and_losses_are_counted(make_item: Make) -> None:
    def judged(question: str, options: list[str], key: str, verdict: str) -> Item:
        return make_item("j", question, options, key).model_copy(update={"metadata": {"verdict": verdict}})

    pool = [
        make_item("p1", "Which gas?", ["argon", "oxygen", "neon"], "B"),
        make_item("p2", "Which metal?", ["tin", "zinc"], "A"),
        make_item("p3", "Which sea?", ["Red", "Dead"], "A"),
    ]
    found = link(
        [
            judged("which gas?", ["oxygen", "argon"], "A", "wrong_groundtruth"),
            judged("Which metal?", ["tin", "zinc"], "B", "ok"),
            judged("Which sea?", ["Red", "Black"], "A", "ok"),
            judged("Which lake?", ["x", "y"], "A", "ok"),
        ],
        pool,
    )
    assert found.verdicts == {"p1": "wrong_groundtruth"}
    assert dict(found.lost) == {
        "MMLU-Pro changed the key": 1,
        "MMLU-Pro changed an option": 1,
        "the question is not in MMLU-Pro": 1,
    }
    verdicts = {"a": "ok", "b": "wrong_groundtruth", "c": "bad_question_clarity", "d": "ok"}
    line = row("some", ["a", "b", "elsewhere"], verdicts)
    assert [cell.split(" ")[0] for cell in line] == ["some", "1/2", "1/2", "1/1", "1/1", "2.0"]
