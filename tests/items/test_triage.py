from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import ItemRules
from kina_build.errors import InputError
from kina_build.items.answers import build_matrix, gather_letters, read_letter, spread_strings
from kina_build.items.model import Item
from kina_build.items.triage import convene_panel, discriminations, triage_keys

Make = Callable[..., Item]
MODELS = ["m1", "m2", "m3", "m4", "m5"]


@pytest.fixture
def pool(make_item: Make) -> list[Item]:
    """Return four items whose keys are A, B, C and D; the models contradict the last."""
    return [make_item(f"q{n}", f"Question {n}?", correct_answer="ABCD"[n]) for n in range(4)]


ANSWERS = [
    {"model": "m1", "answers": "ABCA"},
    {"model": "m2", "answers": "ABCA"},
    {"model": "m3", "answers": "AB-A"},
    {"model": "m4", "answers": "ACCA"},
    {"model": "m5", "answers": "DCBD"},
]


def test_a_key_that_strong_models_contradict_comes_first(pool: list[Item]) -> None:
    matrix = build_matrix(pool, spread_strings(ANSWERS, pool))
    result = triage_keys(pool, matrix, ItemRules(strong_models=4, rival_share=0.8))
    assert result.strong == ("m1", "m2", "m3", "m4")
    first = result.queue[0]
    assert (first.rank, first.item_id, first.key, first.rival) == (1, "q3", "D", "A")
    assert (first.rival_votes, first.key_votes, first.voters) == (4, 0, 4)
    assert set(first.flags) == {"agreed_rival", "negative_discrimination"}
    assert (first.right, first.asked, first.p_value) == (1, 5, 0.2)
    assert first.p_low < 0.2 < first.p_high


def test_an_item_all_answer_alike_has_no_discrimination(pool: list[Item]) -> None:
    rows = [{**row, "answers": "A" + str(row["answers"])[1:]} for row in ANSWERS]
    result = triage_keys(pool, build_matrix(pool, spread_strings(rows, pool)))
    alike = next(one for one in result.queue if one.item_id == "q0")
    assert alike.flags == ("undefined_discrimination",)
    assert alike.discrimination is None


def test_strong_models_can_be_named(pool: list[Item]) -> None:
    matrix = build_matrix(pool, spread_strings(ANSWERS, pool))
    assert triage_keys(pool, matrix, strong=["m5"]).strong == ("m5",)
    with pytest.raises(InputError, match="m9"):
        triage_keys(pool, matrix, strong=["m9"])


def test_samples_vote_and_ties_are_no_answer() -> None:
    rows = [
        ("m", "q", "A"),
        ("m", "q", "B"),
        ("m", "q", "A"),
        ("m", "r", "A"),
        ("m", "r", "B"),
        ("m", "s", None),
    ]
    assert gather_letters(rows) == {"m": {"q": "A", "r": "-", "s": "-"}}


def test_strings_must_fit_the_pool(pool: list[Item]) -> None:
    with pytest.raises(InputError, match="3 answers for 4 items"):
        spread_strings([{"model": "m", "answers": "ABC"}], pool)
    with pytest.raises(InputError, match="no response is about"):
        build_matrix(pool, {"m": {"elsewhere": "A"}})


def test_models_not_asked_do_not_count(pool: list[Item]) -> None:
    given = spread_strings(ANSWERS, pool)
    del given["m5"]["q3"]
    result = triage_keys(pool, build_matrix(pool, given))
    assert next(one for one in result.queue if one.item_id == "q3").asked == 4


@given(st.integers(3, 8), st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_discrimination_is_the_item_rest_correlation(models: int, count: int, seed: int) -> None:
    right = np.random.default_rng(seed).random((count, models)) < 0.5
    found = discriminations(right, np.ones_like(right))
    for row in range(count):
        rest = np.delete(right, row, axis=0).sum(axis=0)
        if right[row].std() and rest.std():
            assert found[row] == pytest.approx(np.corrcoef(right[row], rest)[0, 1])
        else:
            assert np.isnan(found[row])


def test_the_panel_admits_what_three_of_five_fail(pool: list[Item]) -> None:
    matrix = build_matrix(pool, spread_strings(ANSWERS, pool))
    panel = convene_panel(pool, matrix, MODELS)
    assert {one.item_id: one.difficulty for one in panel.difficulties} == {
        "q0": 0.2,
        "q1": 0.4,
        "q2": 0.4,
        "q3": 0.8,
    }
    assert [one.item_id for one in panel.difficulties if one.admitted] == ["q3"]
    assert panel.difficulties[3].wrong == ("m1", "m2", "m3", "m4")


def test_an_item_a_panel_model_did_not_see_is_not_admitted(pool: list[Item]) -> None:
    given = spread_strings(ANSWERS, pool)
    del given["m1"]["q3"]
    panel = convene_panel(pool, build_matrix(pool, given), MODELS)
    assert panel.difficulties[3].missing == ("m1",)
    assert not any(one.admitted for one in panel.difficulties)
    with pytest.raises(InputError, match="m9"):
        convene_panel(pool, build_matrix(pool, given), ["m9"])


@pytest.mark.parametrize("letter", ["AB", "Answer: B", ["A"], 1, True, {}])
def test_a_letter_that_is_none_is_refused_by_its_line(letter: object) -> None:
    with pytest.raises(InputError, match=r"r\.jsonl:3: letter: .* is not one letter"):
        read_letter({"model": "m", "item_id": "q", "letter": letter}, "r.jsonl:3")
