"""Letters: drawn an item at a time, keys and references carried along."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.items.model import LETTERS, Item, Option
from kina_build.items.wordings import PINNED
from kina_build.release.letters import assign_letters, draw_order
from kina_build.release.references import find_doubt, rename

MakeItem = Callable[..., Item]


def plain(item_id: str, options: list[str], key: int = 0) -> Item:
    keyed = tuple(Option(key=k, answer=text) for k, text in zip(LETTERS, options, strict=False))
    return Item(item_id=item_id, question="Which?", options=keyed, correct_answer=LETTERS[key])


@given(
    st.text(min_size=1, max_size=5),
    st.lists(st.text(st.characters(categories=["Ll"]), min_size=2), min_size=2, max_size=26, unique=True),
    st.integers(0, 2**32),
    st.data(),
)
def test_the_key_follows_its_text_and_no_option_is_lost(
    item_id: str, options: list[str], seed: int, data: st.DataObject
) -> None:
    item = plain(item_id, options, data.draw(st.integers(0, len(options) - 1)))
    new = assign_letters(item, seed=seed).item
    assert new.correct_text == item.correct_text
    assert sorted(o.answer for o in new.options) == sorted(options)
    assert [o.key for o in new.options] == list(LETTERS[: len(options)])
    assert assign_letters(new, seed=seed).item == new, "drawing again changes nothing"


def test_the_order_tells_nothing_of_the_old_one(make_item: MakeItem) -> None:
    """Whoever knows seed and pool habits (right option first) must not find private keys."""
    one = make_item("q1", options=["right", "wrong", "worse", "worst"])
    other = make_item("q1", options=["worst", "worse", "right", "wrong"])
    texts = [[o.answer for o in assign_letters(item, seed=5).item.options] for item in (one, other)]
    assert texts[0] == texts[1]


def test_keys_spread_evenly_over_letters() -> None:
    items = [plain(f"i{n}", [f"o{n}", "x", "y", "z"]) for n in range(2000)]
    counts = Counter(assign_letters(item, seed=1).item.correct_answer for item in items)
    assert set(counts) == set("ABCD")
    assert max(counts.values()) - min(counts.values()) < 120, counts


def test_the_order_depends_on_seed_and_id_only() -> None:
    options = [f"option number {n}" for n in range(10)]
    orders = {
        (seed, item_id): draw_order(plain(item_id, options), seed)
        for seed in (0, 1)
        for item_id in ("a", "b")
    }
    assert len({tuple(order) for order in orders.values()}) == 4
    assert draw_order(plain("a", options), 0) == orders[0, "a"]


@pytest.mark.parametrize(
    "text",
    [
        "None of the above",
        "all of these.",
        "Both of the above statements are true",
        "None",
        "以上都不是",
        "Keine der genannten Antworten",
        "Ninguna de las anteriores",
        "Aucune de ces réponses",
        "Nessuna delle precedenti",
        "Все вышеперечисленные",
        "Nenhuma das anteriores",
    ],
)
def test_options_about_the_others_stay_where_they_are(text: str, make_item: MakeItem) -> None:
    assert PINNED.fullmatch(text)
    for seed in range(8):
        item = assign_letters(make_item(options=["one", "two", "three", text]), seed=seed).item
        assert item.options[3].answer == text


@pytest.mark.parametrize("text", ["all metals", "none-linear growth", "The None type", "Allegro", "以下"])
def test_ordinary_options_are_not_pinned(text: str) -> None:
    assert not PINNED.fullmatch(text)


def test_a_pair_of_options_is_named_by_its_new_letters(make_item: MakeItem) -> None:
    item = make_item(options=["iron", "wood", "gold", "Both A and C"], correct_answer="D")
    for seed in range(6):
        made = assign_letters(item, seed=seed)
        new = {o.answer: o.key for o in made.item.options}
        pair = next(o.answer for o in made.item.options if o.answer.startswith("Both"))
        assert pair == f"Both {new['iron']} and {new['gold']}"
        assert made.item.correct_text == pair


def test_explanations_follow_the_letters(make_item: MakeItem) -> None:
    item = make_item(options=["iron", "wood"], explanation="Option B floats, so the answer is A.")
    new = next(
        made
        for made in (assign_letters(item, seed=seed) for seed in range(20))
        if made.item.options[0].answer == "wood"
    )
    assert new.item.explanation == "Option A floats, so the answer is B."
    assert new.rewritten


@pytest.mark.parametrize(
    ("question", "options", "explanation"),
    [
        ("Which vitamins dissolve in fat?", ["A and D", "B and C", "only B", "only C"], None),
        ("Which blood groups?", ["AB or O", "A or B", "none here", "O"], None),
        ("Statement A: x. Statement B: y.", ["Only A", "Only B", "Both A and B", "no idea"], None),
        ("I. x II. y", ["only I", "only II", "Both I and II", "a", "b", "c", "d", "e", "f", "g"], None),
        ("Which?", ["iron", "wood", "gold", "tin"], "B is wrong, since wood floats."),
        ("Which?", ["iron", "wood", "gold", "tin"], "See (b)."),
        ("Does option A follow from option B?", ["yes", "no"], None),
    ],
)
def test_items_with_letters_in_doubt_keep_their_order(
    question: str, options: list[str], explanation: str | None, make_item: MakeItem
) -> None:
    item = make_item("q", question, options, "B", explanation=explanation)
    made = assign_letters(item, seed=3)
    assert made.item == item
    assert made.kept == find_doubt(item) != ""


@pytest.mark.parametrize(
    "explanation", ["Vitamin C is an acid.", "A was never seen.", "The answer a chemist gives.", "I am sure."]
)
def test_ordinary_capitals_cast_no_doubt(explanation: str, make_item: MakeItem) -> None:
    item = make_item(explanation=explanation)
    assert find_doubt(item) == ""
    assert rename(explanation, {"A": "C", "C": "A", "I": "B"}) == explanation


def test_without_shuffling_only_gaps_in_the_letters_close(make_item: MakeItem) -> None:
    gappy = Item(
        item_id="g",
        question="Which?",
        options=(Option(key="A", answer="x"), Option(key="C", answer="y")),
        correct_answer="C",
    )
    made = assign_letters(gappy, seed=9, shuffle=False)
    assert [(o.key, o.answer) for o in made.item.options] == [("A", "x"), ("B", "y")]
    assert made.item.correct_answer == "B"
