r"""Numbers and formulas in options, written plainly or in LaTeX: are two of them the same?

A small parser of our own: sympy's LaTeX parser (lark) needs .1 to 1 s an expression,
reads neither "2\pi r" nor "\sqrt 3" and gives wrong trees for "\sin(x)+\cos(2x)" (sympy
1.14), and sympy's other parsers run what they read. Here nothing is run, input length
and number sizes are bounded, and arithmetic is exact as long as it stays rational.

Two formulas are the same when they agree at fixed sample values of their symbols
(Schwartz, J. ACM 1980: distinct polynomials of low degree hardly ever agree at a point).
"""

from __future__ import annotations

import re
from fractions import Fraction

from kina_build.items.checking.formulas import Formula, parse_formula
from kina_build.items.checking.mathmarkup import fold_markup
from kina_build.items.checking.quantities import NotAFormula

LONGEST = 120
"""Characters of the longest text that is read as a formula."""
HINT = re.compile(r"[\d\\^√π½⅓¼¾²³]")
"""What a text without any of these cannot be: a number or a formula worth reading."""
FOREIGN = re.compile(r"[\"#&?@`°:]")
"""Characters that no number or formula has."""
WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")
MOST_WORDS = 3
"""Words outside LaTeX commands beyond which a text is prose: quicker than finding out by parsing."""
AMBIGUOUS = re.compile(
    r"\d\s*%?\s*[-–]\s*[\d.,]+\s*%?(?![\d.,%\s]*[-+*/^=])$"  # 45%-50% is a range
    r"|\^\{?[0o]\b|\d\s*\(\d|(?<![A-Za-z\\])[^\W\d_]\("  # 30^0 are degrees, 2(1/2) is 2.5, f(2) is no product
    r"|[A-Za-z]{2,}\s*-\s*\d"  # mol-1 is a unit
    r"|(?<!\\)\b[A-Za-z](?:sin|cos|tan|log|ln|exp)\s*\("  # tcos(2t) is no symbol "tcos"
)
"""Notations with two readings: texts that hold one are not compared in value."""
PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
"""Numbers that need no parser."""


def read_formula(text: str) -> Formula | None:
    """Read a text as a number or formula; None where it is anything else, or too large."""
    if not may_be_formula(text):
        return None
    if PLAIN.fullmatch(text):
        return Formula((), (Fraction(text),), plain=True)
    markup = fold_markup(text)
    if AMBIGUOUS.search(markup):
        return None
    try:
        return parse_formula(markup)
    except (NotAFormula, ArithmeticError, ValueError):
        return None


def may_be_formula(text: str) -> bool:
    """Tell quickly that a text is no formula, from its characters and words; True decides nothing."""
    if len(text) > LONGEST or not HINT.search(text) or FOREIGN.search(text):
        return False
    if "$" in text and "\\" not in text and text.count("$") == 1:  # money, not markup
        return False
    return len(WORD.findall(text)) <= MOST_WORDS
