"""Letters: drawn an item at a time, keys and references carried along."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.items.model import LETTERS, Item, Option
from kina_build.items.wordings import PINNED
from kina_build.release.lettering.balance import balance_letters
from kina_build.release.lettering.order import Lettering, draw_order, keep_letters, letter_items
from kina_build.release.lettering.references import find_doubt, rename

MakeItem = Callable[..., Item]


def letter(item: Item, seed: int) -> Lettering:
    return letter_items([item], seed=seed, secret="", balanced=False)[0]


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
    new = letter(item, seed).item
    assert new.correct_text == item.correct_text
    assert sorted(o.answer for o in new.options) == sorted(options)
    assert [o.key for o in new.options] == list(LETTERS[: len(options)])
    assert letter(new, seed).item == new, "drawing again changes nothing"


def test_the_order_tells_nothing_of_the_old_one(make_item: MakeItem) -> None:
    """Whoever knows seed and pool habits (right option first) must not find private keys."""
    one = make_item("q1", options=["right", "wrong", "worse", "worst"])
    other = make_item("q1", options=["worst", "worse", "right", "wrong"])
    texts = [[o.answer for o in letter(item, 5).item.options] for item in (one, other)]
    assert texts[0] == texts[1]


def test_keys_are_as_even_as_their_number_allows() -> None:
    items = [plain(f"i{n}", [f"o{n}", "x", "y", "z"]) for n in range(30)]
    made = [one.item for one in letter_items(items, seed=1, secret="s")]
    counts = Counter(item.correct_answer for item in made)
    assert sorted(counts.values()) == [7, 7, 8, 8]
    assert "".join(item.correct_answer for item in made) != "".join(sorted(i.correct_answer for i in made))
    assert [item.correct_text for item in made] == [item.correct_text for item in items]


def test_items_that_stay_are_counted_first() -> None:
    """Six keys must stay at A; the six that may move go to B, C and D."""
    still = [plain(f"s{n}", ["iron", "wood", "gold", f"See (b). {n}"]) for n in range(6)]
    still = [item.model_copy(update={"explanation": "B is wrong, since wood floats."}) for item in still]
    free = [plain(f"f{n}", [f"o{n}", "x", "y", "z"]) for n in range(6)]
    made = letter_items([*still, *free], seed=0, secret="")
    counts = Counter(one.item.correct_answer for one in made)
    assert counts == {"A": 6, "B": 2, "C": 2, "D": 2}


def test_an_item_of_an_earlier_release_keeps_its_order() -> None:
    items = [plain(f"i{n}", [f"o{n}", "x", "y", "z"]) for n in range(9)]
    first = {one.item.item_id: one.item for one in letter_items(items, seed=0, secret="a")}
    earlier = {name: [o.answer for o in item.options] for name, item in first.items()}
    again = letter_items(items[2:], seed=0, secret="b", earlier=earlier)
    assert all(one.item == first[one.item.item_id] for one in again)


@given(
    st.lists(st.sets(st.integers(0, 3), min_size=1), max_size=7),
    st.lists(st.integers(0, 3), max_size=4),
    st.integers(0, 99),
)
def test_no_other_placing_is_more_even(allowed: list[set[int]], frozen: list[int], seed: int) -> None:
    movable = [(str(n), sorted(places)) for n, places in enumerate(allowed)]
    tie = {n: (n * 7 + seed) % 13 for n in range(4)}
    placed = balance_letters(movable, frozen, tie)
    assert all(placed[item_id] in places for item_id, places in movable)
    best = min(
        (
            sorted(Counter([*frozen, *choice, 0, 1, 2, 3]).values(), reverse=True)
            for choice in product(*(places for _, places in movable))
        ),
    )
    assert sorted(Counter([*frozen, *placed.values(), 0, 1, 2, 3]).values(), reverse=True) == best


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
        item = letter(make_item(options=["one", "two", "three", text]), seed).item
        assert item.options[3].answer == text


@pytest.mark.parametrize("text", ["all metals", "none-linear growth", "The None type", "Allegro", "以下"])
def test_ordinary_options_are_not_pinned(text: str) -> None:
    assert not PINNED.fullmatch(text)


def test_a_pair_of_options_is_named_by_its_new_letters(make_item: MakeItem) -> None:
    item = make_item(options=["iron", "wood", "gold", "Both A and C"], correct_answer="D")
    for seed in range(6):
        made = letter(item, seed)
        new = {o.answer: o.key for o in made.item.options}
        pair = next(o.answer for o in made.item.options if o.answer.startswith("Both"))
        assert pair == f"Both {new['iron']} and {new['gold']}"
        assert made.item.correct_text == pair


def test_explanations_follow_the_letters(make_item: MakeItem) -> None:
    item = make_item(options=["iron", "wood"], explanation="Option B floats, so the answer is A.")
    new = next(
        made for made in (letter(item, seed) for seed in range(20)) if made.item.options[0].answer == "wood"
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
    made = letter(item, 3)
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
    made = keep_letters(gappy)
    assert [(o.key, o.answer) for o in made.item.options] == [("A", "x"), ("B", "y")]
    assert made.item.correct_answer == "B"
