from __future__ import annotations

from collections.abc import Callable

import pytest

from kina_build.items.markup import show_item, show_text
from kina_build.items.model import Item


@pytest.mark.parametrize(
    "text",
    ["so $x^2$ grows", r"so \(x^2\) grows", r"so $$x^2$$ grows", r"so \[x^2\] grows"],
)
def test_formulas_become_mathml(text: str) -> None:
    shown = show_text(text)
    assert "<msup>" in shown
    assert shown.startswith("so <math")
    assert shown.endswith("</math> grows")


@pytest.mark.parametrize(
    "text",
    [
        "A pass costs $5. How many for $20?",
        "from $5 to $10",
        "US$5 and US$6",
        "one $ alone",
        "a $ b $ c",
        "$5-$10",
    ],
)
def test_prices_are_not_formulas(text: str) -> None:
    assert show_text(text) == text


def test_a_number_alone_is_a_formula() -> None:
    assert show_text("$0$").startswith("<math")


def test_broken_formulas_are_shown_as_written() -> None:
    assert show_text(r"see $\left( x$ now") == r"see <code>\left( x</code> now"
    assert "<code>" in show_text("$" + "x" * 3000 + "$")


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", 'a " b & c', "$<b>x</b>$"])
def test_nothing_of_the_text_is_live_html(text: str) -> None:
    shown = show_text(text)
    assert "<script" not in shown
    assert "<b>x" not in shown


@pytest.mark.parametrize(
    "formula",
    [
        r"\text{<script>alert(1)</script>}",
        r"\href{javascript:alert(1)}{x}",
        r"\style{background:url(//a.example)}{x}",
        r"\class{wide}{x}",
    ],
)
def test_nothing_of_a_formula_is_live_html(formula: str) -> None:
    shown = show_text(f"${formula}$")
    assert shown.startswith("<math")
    for live in ("<script", "href=", "style=", "class="):
        assert live not in shown


def test_signs_of_a_formula_are_shown_once_escaped() -> None:
    assert "<mo>&lt;</mo>" in show_text("$a < b$")
    assert "≤" in show_text(r"$a \leq b$")


def test_an_item_shows_its_key_only_when_asked(make_item: Callable[..., Item]) -> None:
    item = make_item("q1", "Which?", ["red", "blue"], "B", explanation="Because.")
    assert "✓" in show_item(item)
    assert "Because." in show_item(item)
    hidden = show_item(item, keyed=False)
    assert "✓" not in hidden
    assert "Because." not in hidden
    assert "right" not in hidden
