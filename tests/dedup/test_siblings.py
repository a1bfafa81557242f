"""Pairs of one kind beside the tricky cases: one word, unit or form differs, in many languages."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kina_build.dedup.compare.canonical import answer_form, with_points
from kina_build.dedup.compare.tokens import tokens
from kina_build.dedup.compare.verdict import Verdict
from kina_build.items.model import Item

ANSWERS = ["the long wall of the town", "the old mill", "a lamp of tin", "the north lock"]

TURNED = [
    ("Welche dieser Städte liegt am Rhein?", "Welche dieser Städte liegt nicht am Rhein?"),
    ("Welches dieser Tiere ist ein Säugetier?", "Welches dieser Tiere ist kein Säugetier?"),
    ("Quel organe produit de l'insuline ici ?", "Quel organe ne produit pas de l'insuline ici ?"),
    ("¿Qué ciudad siempre tuvo un gran puerto?", "¿Qué ciudad nunca tuvo un gran puerto?"),
    ("Quale di questi metalli reagisce con acqua?", "Quale di questi metalli non reagisce con acqua?"),
    ("Qual destes rios corre para o mar?", "Qual destes rios não corre para o mar?"),
    ("Какой металл реагирует с холодной водой?", "Какой металл не реагирует с холодной водой?"),
    ("次の都市のうち、海に面している都市はどれか。", "次の都市のうち、海に面していない都市はどれか。"),
    ("다음 가운데 바다에 접한 도시는 어느 것인가?", "다음 가운데 바다에 접하지 않은 도시는 어느 것인가?"),
    ("أي من هذه المدن تقع على ساحل البحر؟", "أي من هذه المدن لا تقع على ساحل البحر؟"),
    ("Which range lies to the north of the valley?", "Which range lies to the south of the valley?"),
    ("Which is a necessary condition for this?", "Which is a sufficient condition for this?"),
    ("What does the male finch of the island eat?", "What does the female finch of the island eat?"),
    ("What marks hypertension in an adult patient?", "What marks hypotension in an adult patient?"),
    ("Which needle turns clockwise in the field?", "Which needle turns counterclockwise in the field?"),
    ("Which microbes turn nitrate into a gas?", "Which microbes turn nitrite into a gas?"),
    ("Which organ suffers from hepatitis B first?", "Which organ suffers from hepatitis C first?"),
    ("What follows from a type I error in a test?", "What follows from a type II error in a test?"),
    ("Which tank holds 40 litres of the brine?", "Which tank holds 40 gallons of the brine?"),
    ("How many of the twenty knights came home?", "How many of the thirty knights came home?"),
    ("For which x does 2x + 3 > 11 hold in it?", "For which x does 2x - 3 > 11 hold in it?"),
    ("What spans the matrix [[1, 2], [3, 4]] here?", "What spans the matrix [[1, 3], [2, 4]] here?"),
]
ALIKE = [
    ("Let f(x) = x^2. What is the slope of f at 2?", r"Let \(f(x) = x^2\). What is the slope of \(f\) at 2?"),
    (
        "A train of 205 m passes in 2.5 hours; why?",
        "A train of two hundred and five m passes in two and a half hours; why?",
    ),
    ("What was the 1st metal seen in that spectrum?", "What was the first metal seen in that spectrum?"),
    ("What does the United Nations charter allow?", "What does the UN charter allow?"),
    ("When does H2 + O2 -> H2O take place there?", "When does H₂ + O₂ → H₂O take place there?"),
    ("كم عدد الأيام في 12 شهرا من السنة؟", "كم عدد الأيام في ١٢ شهرا من السنة؟"),
]


@pytest.fixture
def status(make_item: Callable[..., Item], judged: Callable[..., Verdict]) -> Callable[[str, str], str]:
    return lambda one, other: judged(make_item("a", one, ANSWERS), make_item("b", other, ANSWERS)).status


@pytest.mark.parametrize(("one", "other"), TURNED)
def test_a_word_that_turns_a_question_makes_another_one(
    one: str, other: str, status: Callable[[str, str], str]
) -> None:
    assert status(one, other) == status(other, one) == "template_sibling"


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_another_way_to_write_a_question_is_put_to_a_person(
    one: str, other: str, status: Callable[[str, str], str]
) -> None:
    assert status(one, other) == status(other, one) == "review"


def test_answers_that_say_the_same_in_other_words_are_put_to_a_person(
    make_item: Callable[..., Item], judged: Callable[..., Verdict]
) -> None:
    one = make_item("a", "What foretells a child's adjustment best?", ["degree of conflict of the parents"])
    other = make_item("b", "Best sign of how children adjust?", ["degree of conflicts between parents"])
    third = make_item("c", "Best sign of how children adjust?", ["the school of the town"])
    assert (judged(one, other, 0.83).status, judged(one, other, 0.83).rule) == ("review", "answer")
    assert judged(one, other, 0.7).status == "distinct"
    assert judged(one, third, 0.83).rule == "cosine"


@pytest.mark.parametrize(
    "answers",
    [
        ["5 kg", "5kg", "5 kilograms"],
        ["2 μF", "2 uF", "2 microfarads"],
        ["150 °C", "150 degrees Celsius", r"$150^\circ\mathrm{C}$"],
        ["5 m/s", "5 metres per second"],
        ["1/2", "½", r"$\frac12$"],
        ["1.4e-23", "1.4 × 10^-23", "1.4 × 10⁻²³", r"$1.4\times10^{-23}$"],
        ["3 ‰", "3 per mille"],
        ["5000 dollars", "$5,000"],
        ["x <= 3", "x ≤ 3"],
    ],
)
def test_answers_have_one_form_however_they_are_written(answers: list[str]) -> None:
    assert len(set(map(answer_form, answers))) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("5 mW", "5 MW"), ("1.4e-23", "1.4e23"), ("3 %", "3 ‰"), ("2½", "21/2"), ("5 kg", "5 g")],
)
def test_answers_that_differ_keep_different_forms(one: str, other: str) -> None:
    assert answer_form(one) != answer_form(other)


def test_decimal_commas_are_told_from_lists_and_thousands() -> None:
    assert with_points(["0,5", "0,25"]) == ["0.5", "0.25"]
    assert with_points(["1,25 m", "none"]) == ["1.25 m", "none"]
    assert with_points(["12 500", "3 400"]) == ["12500", "3400"]
    for kept in (["1,2", "1,3"], ["12,500", "14,700"], ["(1,25)", "(2,35)"], ["none"]):
        assert with_points(kept) == kept


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one hundred thousand and one of the two", "100000 and one of the 2"),
        ("ten thousand five hundred", "10500"),
        ("1.5 million people", "1500000 people"),
        ("three and four", "3 and 4"),
        ("nineteen eighty-four", "19 84"),
        ("hundred men", "hundred men"),
        ("the 22nd", "the 22 nd"),
    ],
)
def test_number_words_are_read_as_numbers(text: str, expected: str) -> None:
    assert " ".join(tokens(text)) == expected
