"""Admission: what is withheld, why, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kina_build.errors import InputError, Refusal, RowErrors
from kina_build.items.model import Item
from kina_build.release.admission import Decision, admit
from kina_build.release.sources import read_decisions

MakeItem = Callable[..., Item]


@pytest.fixture
def pool(make_item: MakeItem) -> list[Item]:
    return [make_item(i) for i in ("10", "9", "x", "y")]


def test_each_item_held_back_has_its_reason(pool: list[Item]) -> None:
    made = admit(
        pool,
        selected=["y", "9", "10", "x"],
        decisions=[
            Decision(item_id="y", decision="accept"),
            Decision(item_id="9", decision="reject", reason="two right options"),
            Decision(item_id="10", decision="accept"),
        ],
        dropped={"10": "duplicate of x"},
    )
    assert [item.item_id for item in made.items] == ["y"]
    assert {one.item_id: one.reason for one in made.withheld} == {
        "9": "review: reject: two right options",
        "10": "duplicate of x",
        "x": "not reviewed",
    }


@pytest.mark.parametrize(
    "more",
    [
        {"decisions": [Decision(item_id=i, decision="reject") for i in ("10", "9", "y", "X")]},
        {"dropped": {"X": "duplicate of y"}},
        {"taken_down": {" x": "asked for"}},
    ],
)
def test_an_id_in_another_spelling_is_no_silence_about_the_item(
    pool: list[Item], more: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match="the pool has 'x'"):
        admit(pool, **more)


def test_items_come_out_in_counting_order_whatever_the_order_in(pool: list[Item]) -> None:
    assert [i.item_id for i in admit(pool).items] == [i.item_id for i in admit(pool[::-1]).items]
    assert [i.item_id for i in admit(pool).items] == ["9", "10", "x", "y"]


def test_a_key_that_reviewers_corrected_is_corrected(pool: list[Item]) -> None:
    made = admit(pool, decisions=[Decision(item_id="x", decision="accept", corrected_answer="C")])
    assert made.corrected == {"x": ("A", "C")}
    assert made.items[0].correct_answer == "C"


def test_what_reviewers_accept_overrules_the_source(make_item: MakeItem) -> None:
    faulty = make_item("f", metadata={"verdict": "bad_question_clarity"})
    assert admit([faulty, make_item("g")]).withheld[0].reason == "bad_question_clarity"
    assert admit([faulty], decisions=[Decision(item_id="f", decision="accept")]).withheld == ()


def test_a_take_down_wins_over_everything(pool: list[Item]) -> None:
    made = admit(
        pool,
        decisions=[Decision(item_id=i.item_id, decision="accept") for i in pool],
        taken_down={"x": "asked"},
    )
    assert [(one.item_id, one.reason) for one in made.withheld] == [("x", "taken down: asked")]


def test_a_selection_from_another_pool_is_refused(pool: list[Item]) -> None:
    with pytest.raises(InputError, match="names 1 items that the pool does not have: z"):
        admit(pool, selected=["x", "z"])


def test_contradicting_decisions_are_refused(pool: list[Item]) -> None:
    twice = [Decision(item_id="x", decision=word) for word in ("accept", "reject")]
    with pytest.raises(InputError, match="twice, differently"):
        admit(pool, decisions=twice)
    assert admit(pool, decisions=[twice[0], twice[0]]).items


def test_nothing_left_to_release_is_said_with_the_reasons(pool: list[Item]) -> None:
    with pytest.raises(Refusal, match=r"no item is left to release \(4 not reviewed\)"):
        admit(pool, decisions=[])


def test_a_decision_in_another_spelling_is_refused_and_not_taken_for_a_rejection(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    path.write_text("item_id,decision\nx,accept\ny,Accepted\n")
    with pytest.raises(RowErrors, match=r"decisions\.csv:3: decision: .*'accept'"):
        read_decisions(path)


def test_an_opinion_of_another_kind_is_refused_before_a_release_is_begun(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    path.write_text('{"item_id": "x", "decision": "accept", "opinions": {"ann": "perhaps"}}\n')
    with pytest.raises(RowErrors, match=r"decisions\.jsonl:1: opinions\.ann: .*'accept'"):
        read_decisions(path)
