from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.items.text import fold_option, fold_stem


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Rise\u00a0 Rise", " Rise Rise "),
        ("zero\u200bwidth", "zerowidth"),
        ("\u202eabc\u202c", "abc"),
        ("soft\u00adhyphen", "softhyphen"),
        ("cafe\u0301", "café"),
        ("a\u3000b", "a b"),
        ("\ufeffx", "x"),
    ],
)
def test_options_that_read_the_same(one: str, other: str) -> None:
    assert fold_option(one) == fold_option(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("GG", "Gg"), ("x²", "x2"), ("H₂O", "H2O"), ("＋", "+"), ("5", "５"), ("-1", "1"), ("①", "1")],
)
def test_options_that_stay_apart(one: str, other: str) -> None:
    assert fold_option(one) != fold_option(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Which ONE?", "which  one?"),
        ("Ｗｈｉｃｈ one？", "which one?"),
        ("STRASSE", "straße"),
        ("ﬁre", "fire"),
        ("ab\u200c\u200dc", "abc"),
    ],
)
def test_stems_that_ask_the_same(one: str, other: str) -> None:
    assert fold_stem(one) == fold_stem(other)


def test_flags_are_told_apart_by_their_tags() -> None:
    england = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    scotland = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
    assert fold_option(england) != fold_option(scotland)


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold_option(fold_option(text)) == fold_option(text)
    assert fold_stem(fold_stem(text)) == fold_stem(text)


@given(st.text(), st.text())
def test_equal_options_have_equal_stems(one: str, other: str) -> None:
    if fold_option(one) == fold_option(other):
        assert fold_stem(one) == fold_stem(other)
    assert fold_stem(one) == fold_stem(fold_option(one))
