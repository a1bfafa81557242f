"""What makes releases the same, and what changes do to the version."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.errors import UsageError
from kina_build.items.model import Item
from kina_build.release.rows import Row, hide_answer, put_back, take_answer, to_item, to_row
from kina_build.release.versions import (
    Version,
    compare,
    content_hash,
    make_canary,
    next_version,
    parse_version,
    row_hash,
    row_map,
)

MakeItem = Callable[..., Item]


@pytest.fixture
def rows(make_item: MakeItem) -> list[Row]:
    return [to_row(make_item(f"q{n}", f"What is café {n}?", correct_answer="ABCD"[n])) for n in range(4)]


def test_the_hash_does_not_depend_on_order_composition_or_canary(rows: list[Row]) -> None:
    decomposed = [r.model_copy(update={"question": unicodedata.normalize("NFD", r.question)}) for r in rows]
    assert decomposed[0].question != rows[0].question
    stamped = [r.model_copy(update={"canary": "x"}) for r in rows]
    assert content_hash(rows) == content_hash(rows[::-1]) == content_hash(decomposed) == content_hash(stamped)


@pytest.mark.parametrize(
    "change",
    [
        {"question": "Another?"},
        {"answer": "B", "answer_index": 1},
        {"choices": ("red", "green", "grey", "blue")},
        {"subfield": "law"},
        {"license": "MIT"},
        {"explanation": "because"},
        {"id": "other"},
    ],
)
def test_the_hash_sees_every_change(rows: list[Row], change: dict[str, object]) -> None:
    assert content_hash([rows[0].model_copy(update=change), *rows[1:]]) != content_hash(rows)


def test_the_canary_is_one_a_version(rows: list[Row]) -> None:
    content = content_hash(rows)
    first = make_canary("demo", Version(1, 0, 0), content)
    assert first == make_canary("demo", Version(1, 0, 0), content)
    others = {
        make_canary("demo", Version(1, 0, 1), content),
        make_canary("other", Version(1, 0, 0), content),
        make_canary("demo", Version(1, 0, 0), content_hash(rows[1:])),
    }
    assert len({first, *others}) == 4


def changed(rows: list[Row], **update: object) -> list[Row]:
    return [rows[0].model_copy(update=update), *rows[1:]]


def test_a_changed_key_is_major(rows: list[Row]) -> None:
    found = compare({"test": rows}, {"test": changed(rows, answer="B", answer_index=1)})
    assert (found.changed_key, found.changed_options, found.bump) == (("q0",), (), "major")
    assert not found.scores_comparable


def test_a_new_order_of_options_is_no_new_key(rows: list[Row]) -> None:
    turned = changed(rows, choices=("green", "red", "blue", "grey"), answer="B", answer_index=1)
    found = compare({"test": rows}, {"test": turned})
    assert (found.changed_key, found.changed_options, found.bump) == ((), ("q0",), "major")


def test_texts_that_change_places_under_the_same_letter_are_a_new_key(rows: list[Row]) -> None:
    found = compare({"test": rows}, {"test": changed(rows, choices=("green", "red", "blue", "grey"))})
    assert found.changed_key == ("q0",)


def test_a_mended_wording_of_the_right_option_is_no_new_key(rows: list[Row]) -> None:
    found = compare({"test": rows}, {"test": changed(rows, choices=("crimson", "green", "blue", "grey"))})
    assert (found.changed_key, found.changed_options) == ((), ("q0",))


def test_added_items_are_minor_details_are_a_patch_and_nothing_is_nothing(rows: list[Row]) -> None:
    old = {"test": rows[:3], "dev": rows[3:]}
    added = compare({"test": rows[:2], "dev": rows[3:]}, old)
    assert (added.added, added.bump, added.scores_comparable) == (("q2",), "minor", False)
    detail = compare(old, {"test": changed(rows, license="MIT")[:3], "dev": rows[3:]})
    assert (detail.changed_details, detail.bump, detail.scores_comparable) == (("q0",), "patch", True)
    assert compare(old, old).bump == "none"


def test_a_change_in_dev_alone_leaves_test_scores_comparable(rows: list[Row]) -> None:
    found = compare(
        {"test": rows[1:], "dev": rows[:1]}, {"test": rows[1:], "dev": changed(rows, question="?")[:1]}
    )
    assert (found.bump, found.scores_comparable) == ("major", True)


def test_an_item_that_moves_from_dev_to_test_is_seen(rows: list[Row]) -> None:
    found = compare({"test": rows[1:], "dev": rows[:1]}, {"test": rows, "dev": []})
    assert (found.moved, found.bump, found.scores_comparable) == ({"q0": ("dev", "test")}, "major", False)


def test_private_answers_are_not_compared(rows: list[Row]) -> None:
    found = compare({"test": rows}, {"test": [hide_answer(row) for row in rows]})
    assert (found.changed_key, found.bump) == ((), "patch")
    assert found.changed_details == tuple(row.id for row in rows)


def test_old_row_numbers_find_their_items(rows: list[Row]) -> None:
    assert row_map(rows, [rows[3], rows[0]]) == [
        {"id": "q0", "old_row": 0, "new_row": 1},
        {"id": "q1", "old_row": 1, "new_row": None},
        {"id": "q2", "old_row": 2, "new_row": None},
        {"id": "q3", "old_row": 3, "new_row": 0},
    ]


@given(st.tuples(*[st.integers(0, 99)] * 3), st.sampled_from(["none", "patch", "minor", "major"]))
def test_versions_are_read_back_and_grow(numbers: tuple[int, int, int], bump: str) -> None:
    version = Version(*numbers)
    assert parse_version(str(version)) == version
    later = next_version(version, bump)  # type: ignore[arg-type]
    assert (later == version) if bump == "none" else (later > version)


@pytest.mark.parametrize("text", ["1", "1.0", "v1.0.0", "1.0.0-rc1", "01.0.0", "1.0.0\n", "١.٠.٠", ""])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a version"):
        parse_version(text)


def test_rows_and_items_turn_into_each_other(make_item: MakeItem) -> None:
    item = make_item(
        "q1",
        explanation="because",
        question_material="text",
        language="en",
        license="MIT",
        question_source="book",
    )
    row = to_row(item)
    assert to_item(row) == item
    hidden = hide_answer(row)
    assert hidden.answer is hidden.answer_index is hidden.correct_text is None
    assert "because" not in hidden.model_dump_json()
    assert put_back(hidden, take_answer(row)) == row


def test_an_item_is_recognised_whatever_its_letters(rows: list[Row]) -> None:
    turned = rows[0].model_copy(update={"choices": rows[0].choices[::-1], "answer": "D", "answer_index": 3})
    assert row_hash(turned) == row_hash(rows[0]) != row_hash(rows[1])
