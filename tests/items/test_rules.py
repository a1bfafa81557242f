from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import ItemRules
from kina_build.errors import ConfigError
from kina_build.items.checking import equality
from kina_build.items.checking.equality import equal_options
from kina_build.items.checking.expressions import read_formula
from kina_build.items.checking.lint import check, check_item, severities_of
from kina_build.items.checking.mathmarkup import check_math
from kina_build.items.checking.rulebook import RULES
from kina_build.items.checking.statements import check_statements, find_subsets, read_combination
from kina_build.items.checking.stems import check_stem, is_placeholder
from kina_build.items.cues import probe_balance, probe_cues, tail
from kina_build.items.importing.labels import split_block, strip_labels
from kina_build.items.model import Item, Option

Make = Callable[..., Item]


def rules_of(item: Item) -> set[str]:
    return {fault.rule for fault in check_item(item)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1/2", "0.5"),
        (r"$\dfrac12$", ".50"),
        ("50%", "1/2"),
        ("1,000", "1000"),
        ("5 \\times 10^{3}", "5000"),
        ("½", "0.5"),
        ("5×10³", "5,000"),
        ("−1", "-1.0"),
        ("0.5 kg", "1/2 kg"),
        (r"\sqrt{4}", "2"),
    ],
)
def test_one_number_written_twice(make_item: Make, one: str, other: str) -> None:
    item = make_item("q", "Q?", [one, other, "77"], "A")
    assert [(group.keys, group.how) for group in equal_options(item)] == [(("A", "B"), "value")]
    assert "keyed_option_duplicated" in rules_of(item)


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [
        ("9^2", "81", "expression"),
        ("(x+1)^2", "x^2+2x+1", "expression"),
        ("2 \\pi r", "2πr", "value"),
        ("$x^{2}$", "x^2", "markup"),
        (r"$\mathrm{Fe}$", "Fe", "markup"),
        (r"\left(a\right)", "( a )", "markup"),
        ("a\u00a0b", "a b", "text"),
    ],
)
def test_in_what_sense_options_are_equal(make_item: Make, one: str, other: str, how: str) -> None:
    assert [group.how for group in equal_options(make_item("q", "Q?", [one, other, "z"], "C"))] == [how]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("GG", "Gg"),
        ("x²", "x2"),
        ("2 m", "2 M"),
        ("1000000001", "1000000002"),
        ("007", "7"),
        ("AB", "BA"),
        ("45%-50%", "70%-75%"),
        ("1492-1641", "1792-1941"),
        ("30^0", "45^0"),
        ("L mol-1 s-1", "mol L-1 s-1"),
        ("2(1/2)%", "3(1/3)%"),
        ("f(2)", "2f"),
        ("log n^2", "(log n)^2"),
        (".2/.3/.5", ".2/.5/.3"),
        ("", ""),
        ("1/0", "2/0"),
        ("9^9^9^9", "9^9^9^8"),
        ("12:30", "0:30"),
        ("+", "-"),
    ],
)
def test_options_that_differ(make_item: Make, one: str, other: str) -> None:
    assert equal_options(make_item("q", "Q?", [one, other], "A")) == []


@given(st.fractions(max_denominator=999))
def test_a_fraction_is_itself_in_latex(value: Fraction) -> None:
    plain = read_formula(f"{value.numerator}/{value.denominator}")
    latex = read_formula(rf"\frac{{{value.numerator}}}{{{value.denominator}}}")
    assert plain is not None
    assert latex is not None
    assert plain.same(latex)


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("2^128", True),
        ("2^129", False),
        ("1^129", False),
        ("2^-128", True),
        ("2^-129", False),
        ("65535^128", True),  # 16 bits, 128 times
        ("65536^121", False),
        ("65536^120", True),
    ],
)
def test_a_power_of_too_many_digits_is_not_computed(text: str, is_read: bool) -> None:
    assert (read_formula(text) is not None) == is_read


@given(st.text(alphabet="0123456789+-*/^(){}[]\\fracsqt x.,%=!_πθ²", max_size=60))
def test_any_text_is_read_quickly_or_not_at_all(text: str) -> None:
    formula = read_formula(text)
    assert formula is None or formula.same(formula)


@given(st.lists(st.text(alphabet="ABab1().:x ", min_size=1, max_size=6), min_size=2, max_size=5))
def test_labels_are_stripped_from_all_options_or_none(texts: list[str]) -> None:
    labelled = [f"({letter}) {text.strip() or 'x'}" for letter, text in zip("ABCDE", texts, strict=False)]
    stripped, labels = strip_labels(labelled)
    assert labels == list("ABCDE"[: len(texts)])
    assert len(stripped) == len(texts)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("A. x B. y C. z", 3),
        ("(a) x\n(b) y", 2),
        ("1) x\n2) y\n3) z", 3),
        ("A. x\nB. y\nz\nD. w", 0),
        ("A x B y", 0),
        ("no labels", 0),
        ("A. x", 0),
        ("A. see B. y\nB. z", 0),
    ],
)
def test_options_in_one_string(text: str, count: int) -> None:
    assert len(split_block(text)) == count


STATEMENTS = "Which are true?\nI. a\nII. b\nIII. c\nIV. d\nV. e\nVI. f"


def test_a_sound_combination(make_item: Make) -> None:
    item = make_item("q", STATEMENTS, ["I and II", "II, III only", "IV and V", "I, VI"], "A")
    combination = read_combination(item)
    assert combination is not None
    assert len(combination.statements) == 6
    assert list(check_statements(item)) == []


def test_a_combination_with_faults(make_item: Make) -> None:
    stem = "Which hold? (1) a (2) b (3) c (4) d"
    item = make_item("q", stem, ["1, 2", "1, 2 and 3", "(4)", "1, 2, 3, 4"], "A")
    found = {
        fault.rule: fault.evidence for fault in check_statements(item, ItemRules(statement_size_ratio=3))
    }
    assert found["too_few_statements"] == {"statements": 4}
    assert ["A", "B"] in found["statement_subset"]["pairs"]
    assert found["statement_sizes_unbalanced"] == {"sizes": [1, 2, 3, 4]}


def test_circled_statements(make_item: Make) -> None:
    item = make_item("q", "正确的是：①甲 ②乙 ③丙", ["①②", "②③", "①③", "①②③"], "A")
    assert {fault.rule for fault in check_statements(item)} == {"too_few_statements", "statement_subset"}


def test_plain_items_are_no_combination(make_item: Make) -> None:
    assert read_combination(make_item("q", "How many? 1. 2. 3. steps", ["1", "2", "3", "4"], "A")) is None


@given(st.dictionaries(st.sampled_from("ABCDE"), st.frozensets(st.sampled_from("123456"), min_size=1)))
def test_subsets_are_strict_and_one_way(sets: dict[str, frozenset[str]]) -> None:
    pairs = find_subsets(sets)
    assert all(sets[small] < sets[large] for small, large in pairs)
    assert not {(large, small) for small, large in pairs} & set(pairs)


@pytest.mark.parametrize(
    "stem", ["A, B, C", "题目", "Question 12:", "...", "{{question}}", "[stem]", "TODO", "n/a", "？", "Q5"]
)
def test_lost_stems(stem: str) -> None:
    assert is_placeholder(stem)


@pytest.mark.parametrize(
    "stem", ["喜马拉雅山位于", "2+2=?", "-4 + ( -3 )=", "Why?", "Pick A or B", "Is x prime", "¿Qué?", "π is"]
)
def test_short_whole_stems(stem: str) -> None:
    assert not is_placeholder(stem)


@pytest.mark.parametrize(
    ("stem", "rule"),
    [
        ("What does the graph above show?", "missing_media"),
        ("As shown in the diagram, what is x?", "missing_media"),
        ("See Table 2: which row is odd?", "missing_media"),
        ("如图，求x", "missing_media"),
        ("[image] What is it?", "missing_media"),
        ("According to the passage, who lies?", "missing_passage"),
        ("What is the main claim of this paper?", "refers_to_context"),
        ("As discussed in the lecture, what is an orbit?", "refers_to_context"),
        ("You are a senior physics expert. What is c?", "role_play"),
        ("Act as a judge. Who wins?", "role_play"),
    ],
)
def test_stems_that_lean_on_something(make_item: Make, stem: str, rule: str) -> None:
    assert {fault.rule for fault in check_stem(make_item("q", stem))} == {rule}


@pytest.mark.parametrize(
    "stem",
    [
        "Which figure of speech is this?",
        "How can one figure out the rate?",
        "Which graph is planar?",
        "What does the image of f contain?",
        "Which statement below follows?",
        "What helps the passage of water?",
        "You are given 3 coins. How many faces?",
        "Who is a public figure here?",
        "Which painter drew the most pictures?",
        "Is the map from A to B linear?",
    ],
)
def test_stems_that_stand_alone(make_item: Make, stem: str) -> None:
    assert list(check_stem(make_item("q", stem))) == []


def test_what_the_material_holds_is_not_missing(make_item: Make) -> None:
    assert not list(check_stem(make_item("q", "What does the passage say?", question_material="It says no.")))
    assert list(check_stem(make_item("q", "What does the diagram above say?", question_material="A text.")))
    assert not list(
        check_stem(make_item("q", "What does the diagram above say?", question_material="img/a.png"))
    )


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (r"\frac{1}{2", "unbalanced_latex"),
        (r"\left( x", "unbalanced_latex"),
        (r"\begin{a} x", "unbalanced_latex"),
        ("Solve $x^2 = 9 for x", "unbalanced_math"),
        (r"\alpha x^2^3", "malformed_latex"),
        (r"so \frac{1}{2} = \sqrt", "malformed_latex"),
        (r"\frac{1} + 2", "malformed_latex"),
    ],
)
def test_latex_that_does_not_close(make_item: Make, text: str, rule: str) -> None:
    assert [fault.rule for fault in check_math(make_item("q", text))] == [rule]


@pytest.mark.parametrize(
    "text",
    [
        "A pass costs $5. Two cost $9.50.",
        "It costs $3. Is $x=3$?",
        "US$5 million or $7bn?",
        r"\$5 and $x$",
        r"$\{1,2\}$ and {",
        r"\left\{ x \right\}",
        r"\begin{a}\begin{b}\end{b}\end{a}",
        r"$\frac{1}{2}$ of $a_1^2$",
        "Set {1, 2",
        r"$3 \times 4$",
    ],
)
def test_texts_without_a_latex_fault(make_item: Make, text: str) -> None:
    assert list(check_math(make_item("q", text))) == []


def test_items_that_repeat_or_contradict(make_item: Make) -> None:
    one, two = make_item("a", "Q?"), make_item("b", "q?", ["green", "red", "grey", "blue"], "B")
    other = make_item("c", "Q?", correct_answer="D")
    rules = [(finding.item_id, finding.rule) for finding in check([one, two])]
    assert rules == [("a", "item_repeated")]
    assert {finding.rule for finding in check([one, two, other])} == {"keys_conflict"}
    assert {finding.rule for finding in check([one, one])} == {"id_repeated", "item_repeated"}


def test_damaged_characters(make_item: Make) -> None:
    item = make_item("q", "What is \x0crac{1}{2} of don\ufffdt?")
    assert {"control_character", "replacement_character"} <= rules_of(item)


def test_the_kina_profile_asks_for_more(make_item: Make) -> None:
    rules = {finding.rule for finding in check([make_item()], "kina")}
    assert rules == {"option_count", "missing_explanation", "missing_source"}
    assert list(check([make_item()], "generic")) == []


def test_kina_toml_has_the_last_word_on_severity(make_item: Make) -> None:
    rules = ItemRules(severity={"option_count": "off", "missing_source": "info"})
    found = {finding.rule: finding.severity for finding in check([make_item()], "kina", rules)}
    assert found == {"missing_explanation": "warning", "missing_source": "info"}


def test_an_unknown_rule_in_kina_toml_is_refused() -> None:
    with pytest.raises(ConfigError, match="no rule"):
        severities_of("generic", ItemRules(severity={"option_cuont": "off"}))


def test_every_fault_has_a_rule(make_item: Make) -> None:
    bad = make_item("q", "Figure 1. You are an expert: $x", ["A", "", "(A)", "Both A and B"], "Z")
    assert rules_of(bad) <= RULES.keys()


NUMBERS = st.sampled_from(
    ["5", "-5", "−5", "+5", "5.0", ".5", "0.5", "1,000", "1000", "0", "-0", "007", "12"]
)
SHAPES = st.sampled_from(
    [
        "{}",
        "{} kg",
        "$ {}",
        "x = {}",
        "x={}",
        "{}%",
        "{}⁰",
        "- {}",
        "x^{}",
        "{} × 10^3",
        "about {}",
        "{{{}}}",
        "sqrt({})",
    ]
)


@given(st.lists(st.builds(str.format, SHAPES, NUMBERS), min_size=2, max_size=4))
def test_the_quick_look_at_options_hides_no_equal_ones(texts: list[str]) -> None:
    options = [Option(key=key, answer=text) for key, text in zip("ABCD", texts, strict=False)]
    item = Item(item_id="q", question="Q?", options=tuple(options), correct_answer="A")
    with pytest.MonkeyPatch.context() as patch:
        quick = equal_options(item)
        patch.setattr(equality, "_may_be_equal", lambda texts: True)
        # blanks around signs count only beside numbers or LaTeX: what is a formula, the quick look decides
        slow = [group for group in equal_options(item) if quick or group.how in ("value", "expression")]
    assert quick == slow


@pytest.mark.parametrize(
    ("texts", "how"),
    [(["$5 - 6", "$5-6"], "markup"), (["7⁰", "9⁰"], "expression"), (["-5 kg", "− 5 kg"], "value")],
)
def test_quick_looks_that_would_have_missed(texts: list[str], how: str, make_item: Make) -> None:
    assert [group.how for group in equal_options(make_item("q", "Q?", [*texts, "z"], "C"))] == [how]


@given(st.lists(st.integers(2, 6), min_size=1, max_size=9), st.data())
def test_the_tail_is_that_of_independent_draws(options: list[int], data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, len(options)))
    law = [1.0]
    for size in options:
        padded = [0.0, *law, 0.0]
        law = [padded[k + 1] * (1 - 1 / size) + padded[k] / size for k in range(len(law) + 1)]
    assert tail(hits, Counter(options)) == pytest.approx(sum(law[hits:]))


def test_fair_keys_raise_no_alarm(make_item: Make) -> None:
    rng = random.Random(5)
    words = ["tin", "oak", "sea", "fog", "sun", "elm", "ash", "hay"]
    pool = [
        make_item(f"q{n}", f"Question {n}?", rng.sample(words, 4), rng.choice("ABCD")) for n in range(300)
    ]
    assert list(check(pool)) == []
    assert probe_balance(pool).df == 3
    assert all(probe.p_value > 0.001 for probe in probe_cues(pool))


def test_findings_do_not_depend_on_the_order_of_items(make_item: Make) -> None:
    pool = [make_item(f"q{n}", f"Question {n}?", [f" {n}", "x", "y", "x"], "A") for n in range(12)]
    assert check(pool) == check(pool[::-1])
