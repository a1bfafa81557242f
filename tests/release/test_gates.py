"""Gates: each one fires on its fault, names the items, and passes clean pools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kina_build.config import ItemRules
from kina_build.items.model import Item
from kina_build.release.gates import GATES, HARD, Draft, exempt, find_faults
from tests.release.pools import make, spread


def fired(splits: dict[str, list[Item]], **more: Any) -> dict[str, tuple[str, ...]]:
    return {fault.rule: fault.item_ids for fault in find_faults(Draft(splits, **more))}


COMBINED = "Which hold? I. a II. b III. c"


@pytest.mark.parametrize(
    ("rule", "bad"),
    [
        ("key_not_in_options", make("bad", ["a", "b"], "C")),
        ("too_few_options", make("bad", ["a"])),
        ("empty_option", make("bad", ["a", " ", "c"])),
        ("empty_stem", make("bad", ["a", "b"], question=" ")),
        ("keyed_option_duplicated", make("bad", ["1/2", "0.5", "3"], "A")),
        ("duplicate_distractor", make("bad", ["$x^2$", "y", "y "], "A")),
        ("too_few_statements", make("bad", ["I and II", "II and III", "I and III"], "A", COMBINED)),
        ("statement_subset", make("bad", ["I and II", "I, II and III", "III"], "A", COMBINED)),
        ("missing_license", make("bad", ["a", "b"], license=" ")),
        ("missing_source", make("bad", ["a", "b"], question_source=None)),
    ],
)
def test_a_gate_names_the_item(rule: str, bad: Item) -> None:
    found = fired({"test": [*spread(40), bad]})
    assert found[rule] == ("bad",)


def test_options_that_only_look_alike_pass() -> None:
    assert fired({"test": [*spread(40), make("g", ["GG", "Gg", "gg", "x²", "x2"])]}) == {}


def test_the_blank_that_gives_the_key_away_is_found() -> None:
    items = spread(80)
    leaking = [
        item.model_copy(
            update={
                "options": tuple(
                    o.model_copy(update={"answer": " " + o.answer}) if o.key == item.correct_answer else o
                    for o in item.options
                )
            }
        )
        for item in items
    ]
    assert "surface_cue" in fired({"test": leaking})


def test_keys_that_crowd_on_one_letter_of_test_alone_are_found() -> None:
    crowd = [
        make(f"t{n}", [f"{k} of item {n}" for k in ("one", "two", "three", "four")], "A", f"{n}?")
        for n in range(40)
    ]
    rest = [
        make(f"d{n}", [f"{k} of item {n}" for k in ("five", "six", "seven", "eight")], "BCD"[n % 3], f"d{n}?")
        for n in range(120)
    ]
    assert fired({"test": crowd, "dev": rest}) == {"key_position": ()}


def test_an_option_pinned_last_is_no_crowd() -> None:
    items = [make(f"t{n}", [f"{n}a", f"{n}b", "None of the above"], "AB"[n % 2], f"{n}?") for n in range(200)]
    assert "key_position" not in fired({"test": items})
    stuck = [item.model_copy(update={"correct_answer": "A"}) for item in items]
    assert "key_position" in fired({"test": stuck})


def test_copies_in_two_splits_are_named() -> None:
    items = spread(40)
    found = fired({"test": items[:20], "dev": items[20:]}, clusters=[["i3", "i30"], ["i4", "i5"]])
    assert found == {"cluster_straddles": ("i3", "i30")}


def test_ids_that_are_one_where_case_does_not_count_are_named() -> None:
    items = [
        *spread(40),
        make("I7", ["a", "b"]),
        make("\u0065\u0301", ["c", "d"]),
        make("\u00e9", ["e", "f"]),
    ]
    assert set(fired({"test": items})["ids_alike"]) == {"i7", "I7", "\u0065\u0301", "\u00e9"}


def test_another_licence_than_the_card_claims_is_named() -> None:
    items = [*spread(40), make("mit", ["a", "b"], license="MIT")]
    assert fired({"test": items}, licenses=frozenset({"cc0 1.0"})) == {"license_mismatch": ("mit",)}
    assert fired({"test": items}, licenses=frozenset({"CC0-1.0", "mit"})) == {}


def test_the_same_item_twice_and_with_two_keys() -> None:
    twins = [make(i, ["a", "b", "c"], "B", "Twins?") for i in ("one", "two")]
    rivals = [make(i, ["a", "b", "c"], k, "Rivals?") for i, k in (("three", "A"), ("four", "C"))]
    found = fired({"test": [*spread(40), *twins, *rivals]})
    assert set(found["item_repeated"]) == {"one", "two"}
    assert set(found["keys_conflict"]) == {"three", "four"}


def test_a_reason_lets_a_gate_pass_but_not_a_hard_one() -> None:
    draft = Draft({"test": [*spread(40), make("x", ["a", "b"], license=None), make("y", ["c", "d"], "C")]})
    reasons = dict.fromkeys(GATES, "because")
    stopping, passed = exempt(find_faults(draft), reasons)
    assert [fault.rule for fault in stopping] == ["key_not_in_options"]
    assert [(one.rule, one.reason, one.item_ids) for one in passed] == [
        ("missing_license", "because", ("x",))
    ]
    assert set(GATES) >= HARD


def test_a_gate_turned_off_in_the_settings_is_silent() -> None:
    draft = Draft({"test": [*spread(40), make("x", ["a", "b"], question_source=None), make("y", ["a"])]})
    off = ItemRules(severity={"missing_source": "off", "too_few_options": "off"})
    assert [fault.rule for fault in find_faults(draft, off)] == ["too_few_options"], "hard gates stay"


def test_progress_is_told(make_item: Callable[..., Item]) -> None:
    told: list[tuple[int, int]] = []
    find_faults(Draft({"test": spread(3)}), on_progress=lambda done, total: told.append((done, total)))
    assert told == [(3, 3)]


def test_gates_shared_among_processes_find_the_same() -> None:
    bad = [make(f"bad{n}", ["a", " ", f"c{n}"], question=f"Which of {n}?") for n in range(4)]
    draft = Draft({"test": spread(1200), "dev": bad})
    told: list[tuple[int, int]] = []
    shared = find_faults(draft, on_progress=lambda done, total: told.append((done, total)), processes=2)
    assert [(one.rule, one.item_ids) for one in shared if one.rule == "empty_option"] == [
        ("empty_option", ("bad0", "bad1", "bad2", "bad3"))
    ]
    assert shared == find_faults(draft)
    assert told == [(500, 1204), (1000, 1204), (1204, 1204)]
