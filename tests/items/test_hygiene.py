"""What people find in question files, and texts that only look like it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.items.checking.explaining import claimed_letters
from kina_build.items.checking.leftovers import RESIDUE, RESIDUE_WORDS, check_leftovers
from kina_build.items.checking.lint import check, check_item
from kina_build.items.checking.mathmarkup import check_math
from kina_build.items.checking.media import POINTS_AT_MEDIA
from kina_build.items.checking.quantities import read_quantity
from kina_build.items.findings import items_at_fault
from kina_build.items.model import Item

Make = Callable[..., Item]


def rules_of(item: Item) -> set[str]:
    return {fault.rule for fault in check_item(item)} - {
        "option_count",
        "missing_explanation",
        "missing_source",
    }


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("Find the index of <p> in S_5.", ["1", "2", "3"]),
        ("What prints vector<b>(3)?", ["x", "y", "z"]),
        ("Whose motto is « SÃO JOÃO »?", ["São", "Ângela", "É", "Über"]),
        ("When was the treaty signed?", ["3-May", "7-Jun", "9-Oct"]),
        ("Which date format does Excel show?", ["#N/A", "0", "1"]),
        ("Which letter is a vowel?", ["A", "B", "C"]),
        ("Which is the most common gas in the", ["air", "sea", "soil"]),
        ("The most abundant element is the", ["oxygen", "tin", "oak"]),
        ("Which city is described as current capital in the treaty of 1494?", ["Lyon", "Rome", "Bonn"]),
        ("Select the word that fits.", ["tin", "oak", "sea"]),
        ("Which values are a, b?", ["(1, 2)", "(2, 1)", "(3, 1)"]),
        ("Which meter is it?", ["3/4", "2/3", "5/8"]),
        ("Was heißt „im Bilde sein“?", ["wissen", "malen", "gehen"]),
        ("次の表計算関数はどれか。", ["和", "積", "差"]),
        ("The following figures are taken from the books: 3, 5. Which is odd?", ["x", "y", "z"]),
        ("Which operator is f-string {name} in Python?", ["x", "y", "z"]),
        ("Which virus causes COVID?", ["SARS", "коронавирус", "flu"]),
    ],
)
def test_texts_without_a_fault(make_item: Make, question: str, options: list[str]) -> None:
    assert rules_of(make_item("q", question, options, "A")) == set()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("It wasn‚Äôt there", "mojibake"),
        ("Ñ‚ÐµÑ€Ð¼Ð¸Ð½ is what?", "mojibake"),
        ("the angle Î± and Ï€", "mojibake"),
        ("x<sup>2</sup>", "html_tag"),
        ("<a href='x'>here</a>", "html_tag"),
        ("Tom &amp; Ann", "html_entity"),
        ("Sure! Here's a hard question: why?", "chatbot_residue"),
        ("It costs [insert price here] a day", "template_slot"),
        ("pays 00,000 a year", "lost_amount"),
    ],
)
def test_what_tools_leave(make_item: Make, text: str, rule: str) -> None:
    assert [fault.rule for fault in check_leftovers(make_item("q", text))] == [rule]


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("So the answer is (B).", {"B"}),
        ("The correct option is C because it floats.", {"C"}),
        ("故选D。", {"D"}),
        ("正解はBである", {"B"}),
        ("La réponse correcte est la C.", {"C"}),
        ("Правильный ответ: Б.", {"B"}),
        ("The answer is A mixture of both.", set()),
        ("The answer is not B.", set()),
        ("The answer is B or C.", set()),
        ("Here the key is B-flat.", set()),
        ("A is correct that B is older.", set()),
    ],
)
def test_letters_that_an_explanation_calls_right(text: str, letters: set[str]) -> None:
    assert claimed_letters(text) == letters


@given(st.text(alphabet="ABCD answer is correct:(.)=正解は選", max_size=80))
def test_any_explanation_claims_letters_only(text: str) -> None:
    assert claimed_letters(text) <= set("ABCDEFGHIJ")


def test_each_language_points_at_what_is_not_there() -> None:
    for question in (
        "Welk dier staat op de onderstaande afbeelding?",
        "Perhatikan gambar berikut ini. Apa itu?",
        "Що показано на рисунку?",
        "شکل زیر چه چیزی را نشان می‌دهد؟",
        "নিচের চিত্রে কী দেখা যাচ্ছে?",
    ):
        assert POINTS_AT_MEDIA.search(question, question.lower())


def test_quantities_are_brought_to_one_unit() -> None:
    one, other = read_quantity("1.5 hours"), read_quantity("90 minutes")
    assert one
    assert other
    assert (one.kind, one.size) == (other.kind, other.size)
    assert read_quantity("5 apples") is None
    assert read_quantity("1-2 km") is None


def test_statement_orders_are_no_equal_sets(make_item: Make) -> None:
    stem = "In which order?\n① a\n② b\n③ c\n④ d"
    assert "statement_sets_equal" not in rules_of(make_item("q", stem, ["①②③④", "②①③④", "③①②④"], "A"))


def test_no_logic_is_read_as_a_product(make_item: Make) -> None:
    options = [r"$\neg p \wedge q$", r"$p \wedge \neg q$", r"$p$"]
    assert rules_of(make_item("q", "Which is it?", options, "A")) == set()


@pytest.mark.parametrize("text", ["saving rises by $X.", "cost is $56 + 2X", r"\ding{217} and $x$"])
def test_money_by_a_letter_opens_no_mathematics(make_item: Make, text: str) -> None:
    assert list(check_math(make_item("q", text))) == []


def test_items_that_share_an_error_are_all_at_fault(make_item: Make) -> None:
    one, two, sound = make_item("a", "Q?"), make_item("b", "Q?", correct_answer="B"), make_item("c", "R?")
    assert items_at_fault(check([one, two, sound])) == {"a", "b"}
    assert items_at_fault(check([one, one, sound], "kina")) == {"a", "c"}


def test_three_equal_items_are_one_finding(make_item: Make) -> None:
    found = check([make_item(name, "Q?") for name in "abc"])
    assert [(one.item_id, one.rule, one.evidence["others"]) for one in found] == [
        ("a", "item_repeated", ["b", "c"])
    ]


@pytest.mark.parametrize(
    "text",
    [
        "As an AI model, I",
        "As an artificial intelligence model",
        "as a large language model",
        "As an AI language model",
        "I'm sorry, but I can",
        "I can't help with that",
        "I am unable to assist with this",
        "Sure! Here are two",
        "Certainly, here’s one",
        "Here is a tricky quiz question",
        "as of my knowledge cutoff",
        "my last knowledge update",
        "my training data ends",
        "I hope this helps!",
        "Let me know if you need more.",
        "Regenerate response",
        "contentReference[oaicite:0]",
        "【12†source】",
        "turn0search3",
        "x?utm_source=chatgpt",
        "作为一个AI语言模型",
        "En tant que modèle de langage",
        "como modelo de lenguaje",
        "als KI-Sprachmodell",
    ],
)
def test_what_chatbots_say_holds_a_word_that_is_looked_for_first(text: str) -> None:
    assert RESIDUE.search(text)
    assert any(word in text.lower() for word in RESIDUE_WORDS)
