"""Two texts side by side: which words differ, and which option is which."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kina_build.desk.words import NEGATION, NUMBER, TOKEN, align, compare_words
from tests.desk.flow import item


def test_the_words_that_differ_are_marked_on_both_sides() -> None:
    left, right = compare_words("Which gas is not noble?", "Which gas is noble at 5 K?")
    assert [(s.text, s.differs) for s in left if s.differs] == [("not", "negation")]
    assert [(s.text, s.differs) for s in right if s.differs] == [("at 5 K", "number")]


def test_a_changed_number_and_a_changed_letter_of_a_script_without_spaces() -> None:
    left, right = compare_words("水在100度沸腾", "水在90度沸腾")
    assert [(s.text, s.differs) for s in (*left, *right) if s.differs] == [
        ("100", "number"),
        ("90", "number"),
    ]


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_letter_is_lost_and_equal_texts_have_no_marks(one: str, other: str) -> None:
    left, right = compare_words(one, other)
    assert "".join(span.text for span in left) == one
    assert "".join(span.text for span in right) == other
    assert any(span.differs for span in (*left, *right)) == (one != other)


def test_options_stand_beside_each_other_by_what_they_say() -> None:
    one = item("a", "?", ("Red", "a green leaf", "blue", "only here"))
    other = item("b", "?", ("a green leaves", "red", "nothing alike at all"))
    rows = [(row.left and row.left.key, row.right and row.right.key) for row in align(one, other)]
    assert rows == [("A", "B"), ("B", "A"), ("C", None), ("D", None), (None, "C")]


def test_an_option_that_is_there_letter_for_letter_is_nobody_else_s_partner() -> None:
    one = item("a", "?", ("a 15.2 kJ fall", "a 15.3 kJ fall"))
    other = item("b", "?", ("A 15.3  kJ fall", "a 15.4 kJ fall"))
    rows = [(row.left and row.left.key, row.right and row.right.key) for row in align(one, other)]
    assert rows == [("A", "B"), ("B", "A")]


def test_the_patterns_match_what_they_say_and_no_more() -> None:
    assert NEGATION.fullmatch("not")
    assert NEGATION.fullmatch("kein")
    assert not NEGATION.fullmatch("knot")
    assert NUMBER.search("2.5")
    assert not NUMBER.search("two")
    assert TOKEN.findall("2.5 not 光合 ") == ["2.5", " not", " 光", "合", " "]
