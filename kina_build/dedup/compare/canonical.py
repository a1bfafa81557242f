"""One form for what is written in many: markup, units, percent, blanks, hyphens, labels, frames.

Nothing is dropped for being equal in this form, because it forgets signs that can bear
meaning: it says what a person should look at, and keeps false reasons from being given.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from kina_build.dedup.compare.meanings import UNITS
from kina_build.dedup.compare.tokens import dense, tokens
from kina_build.items.text import drop_invisible, fold_stem, squeeze

RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
RAISED_RUN = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")
"""Matches "⁻¹⁹" of "10⁻¹⁹", not "19"."""

FRACTION = re.compile(r"\\[dt]?frac\s*(?:\{([^{}]*)\}|(\w))\s*(?:\{([^{}]*)\}|(\w))")
r"""Matches "\frac{3}{4}" and "\frac34", not "\frac{a}"."""

SET_APART = re.compile(r"\\[()\[\]]")
r"""Marks between which LaTeX sets a formula: matches "\(", not "("."""

COMMANDS = {
    "times": "×", "cdot": "·", "div": "÷", "pm": "±", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥",
    "neq": "≠", "ne": "≠", "sqrt": "sqrt", "circ": "°", "mu": "μ", "pi": "π", "alpha": "α", "beta": "β",
    "gamma": "γ", "delta": "δ", "theta": "θ", "lambda": "λ", "sigma": "σ", "omega": "ω", "infty": "∞",
    "ldots": "...", "dots": "...", "to": "→", "rightarrow": "→", "percent": "%", "approx": "≈",
    "int": "∫", "sum": "∑",
    "sin": "sin", "cos": "cos", "tan": "tan", "log": "log", "ln": "ln", "exp": "exp", "lim": "lim",
    "max": "max", "min": "min", "in": "∈", "cup": "∪", "cap": "∩", "subset": "⊂", "neg": "¬",
    "land": "∧", "lor": "∨",
}  # fmt: skip
"""LaTeX commands that are read as what they print; all others only set type."""

COMMAND = re.compile(r"\\([a-z]+)\s?", re.IGNORECASE)
r"""Matches "\times ", not "\%"."""

TAGS = re.compile(r"</?(?:b|i|u|em|strong|sub|sup|span|div|font|p|br)(?: [^<>]*)?/?>", re.IGNORECASE)
"""Matches "<b>" and "</span>", not "<html>" or "a < b"; only where one of them is closed is it markup."""

PERCENT = re.compile(r"\bper ?cent\b", re.IGNORECASE)
"""Matches "per cent", not "percentage"."""

PERMILLE = re.compile(r"\b(?:per ?mill?e?|promille)\b", re.IGNORECASE)
"""Matches "per mille" and "per mil", not "permill"."""

VULGAR = re.compile("[¼-¾⅐-⅞]")
"""A fraction that is one character."""

POWER = re.compile(r"(?<=\d)(?:\s*[x×X*·⋅]\s*10\s*\^\s*|[eE])\+?(?=-?\d{1,3}(?!\w))")
"""Matches the "e" of "3.2e15" and the " x 10^" of "3 x 10^-4", not the "x 10" of "3 x 10 cm"."""

TYPED = {"<=": "≤", ">=": "≥", "!=": "≠", "->": "→", "=>": "⇒"}
TYPED_SIGN = re.compile("[<>!]=|[-=]>")
"""A sign typed as two: matches "<=" and "->", not "=<"."""

DECIMAL_COMMA = re.compile(r"(?<![\d.,(\[])(\d+),(\d+)(?![\d.,])")
"""Matches "0,375" and "12,5 kg", not "1,000,000" and "(3,4)"."""

SPACED = re.compile(r"(?<=\d)[\u0020'’](?=\d{3}(?!\d))")
"""The blank or apostrophe in "12 500" and "12'500", not that in "1 of 500"."""


CYRILLIC = str.maketrans("асеорхуіјѕԁһԛԝАВСЕНІЈКМОРЅТХ", "aceopxyijsdhqwABCEHIJKMOPSTX")
"""Cyrillic letters that look like Latin ones."""

NUMBERED = re.compile(r"^\s*(?:q(?:uestion)?\s*)?\d{1,3}[.)]\s+(?=\D)", re.IGNORECASE)
"""Matches the "12. " of "12. Which gas", not "5.4 litres"."""

LABEL = re.compile(r"^\s*(?:\(([A-Z])\)|([A-Z])[.):])\s*(?=\S)", re.IGNORECASE)
"""Matches the "(A) " of "(A) neon" and the "b. " of "b. iron", not "A gas"."""

NUMERIC = re.compile(
    r"(?P<sign>-?)\s*(?P<number>\d[\d,]*(?:\.\d+)?|\.\d+)"
    r"(?:(?:\s*[×x*·]\s*10\s*\^?\s*|[eE])(?P<power>[-+]?\d+))?"
    r"(?:\s*/\s*(?P<below>\d+))?\s*(?P<unit>[^\d]*(?:\^?-?\d[^\d]*){0,3})"
)
"""Matches "1.38 × 10^-23 J/K", "1.4e-23" and "3/4", not "between 2 and 3"."""

EXACT_DIGITS = 2
"""Significant digits from which a number may be a rounding of another."""


@dataclass(frozen=True)
class Quantity:
    """A number with its unit."""

    value: float
    step: float
    """What one more in its last place adds."""
    digits: int
    unit: str


def plain(text: str) -> str:
    """Write a text without the marks that only set type; its letters keep their case."""
    if not text.isascii():
        text = RAISED_RUN.sub(lambda run: "^" + run.group().translate(RAISED), drop_invisible(text))
        text = _latin(VULGAR.sub(_spelt, text)).replace("−", "-").replace("⁄", "/")
    if "\\" in text:
        text = FRACTION.sub(r"\1\2/\3\4", SET_APART.sub("", text))
        text = COMMAND.sub(lambda command: COMMANDS.get(command.group(1).lower(), " "), text)
        text = text.replace("^°", "°").replace("^{°}", "°")
    if "</" in text:
        text = TAGS.sub("", text)
    text = TYPED_SIGN.sub(lambda sign: TYPED[sign.group()], text.translate(_TYPESETTING))
    text = POWER.sub("×10^", text)
    return squeeze(PERMILLE.sub("‰", PERCENT.sub("%", text)))


def _spelt(fraction: re.Match[str]) -> str:
    """Write "½" as "1/2", apart from a number in front of it."""
    whole = fraction.string[fraction.start() - 1 : fraction.start()].isdigit()
    return " " * whole + unicodedata.normalize("NFKC", fraction.group())


_TYPESETTING = str.maketrans("", "", "$\\{}")


def stem_form(question: str) -> str:
    """Return the form in which stems are equal whatever their blanks, hyphens, markup and numbering."""
    return dense(tokens(fold_stem(plain(NUMBERED.sub("", question)))))


def answer_form(folded: str) -> str:
    """Return the form in which answers are equal; letter case stays, as it tells answers apart."""
    words = with_units(tokens(plain(folded)))
    return "1" if words == ["one"] else dense(words) or folded


def with_units(words: Sequence[str]) -> list[str]:
    """Write units behind numbers by their symbols; symbols keep their case."""
    found: list[str] = []
    measured = False
    for word in words:
        symbol = _symbol(word) if measured else None
        measured = word[0].isdigit() or symbol is not None
        if symbol not in MONEY:
            found.append(symbol or word)
    return found


MONEY = frozenset({"dollar"})
"""Units that leave no trace: the dollar's sign is also LaTeX's."""


def _symbol(word: str) -> str | None:
    """Return the symbol of a unit; None for a word that is none, or a symbol already."""
    if word[:1] == "u" and "μ" + word[1:] in UNITS.values():
        return "μ" + word[1:]
    if word in {"per", "/"}:
        return "/"
    return UNITS.get(word.lower()) if len(word) >= SPELT_UNIT else word if word in UNITS.values() else None


SPELT_UNIT = 3
"""Letters from which a unit is a word: shorter ones are symbols, whose case tells ("mW" and "MW")."""


def with_points(answers: Sequence[str]) -> list[str]:
    """Write decimal commas and blanks between thousands as English does, where all answers show them.

    "0,5" and "0,25" are decimals, "1,2" and "1,3" may be lists, and "12,500" is twelve thousand.
    """
    answers = [SPACED.sub("", answer) for answer in answers]
    numbers = [answer for answer in answers if any(map(str.isdigit, answer))]
    found = [DECIMAL_COMMA.findall(answer) for answer in numbers]
    if not found or not all(
        len(commas) == 1 and "." not in answer for commas, answer in zip(found, numbers, strict=True)
    ):
        return answers
    decimals = [(whole, part) for [(whole, part)] in found]
    if not any(whole == "0" or len(part) not in {1, 3} for whole, part in decimals):
        return answers
    return [DECIMAL_COMMA.sub(r"\1.\2", answer) for answer in answers]


def unlabelled(answers: Sequence[str]) -> list[str]:
    """Cut off labels ("(A) ", "b. ") that number all options in order."""
    found = [LABEL.match(answer) for answer in answers]
    letters = [(match.group(1) or match.group(2)).upper() for match in found if match]
    if len(answers) < 2 or letters != [chr(ord("A") + place) for place in range(len(answers))]:
        return list(answers)
    return [answer[match.end() :] for answer, match in zip(answers, found, strict=True) if match]


def unframed(answers: Sequence[str]) -> tuple[list[str], str]:
    """Cut off the words with which all options begin and end; also return those words.

    "It is 20, as the text says" and "It is 40, as the text says" are 20 and 40.
    """
    rows = [tokens(plain(answer)) for answer in answers]
    if len(rows) < 2 or not all(rows):
        return [dense(row) for row in rows], ""
    least = min(map(len, rows)) - 1
    front = _common(rows, least)
    back = _common([row[::-1] for row in rows], least - front)
    first = rows[0]
    frame = dense([*first[:front], "|", *first[len(first) - back :]]) if front + back else ""
    return [dense(row[front : len(row) - back]) for row in rows], frame


def read_quantity(answer: str) -> Quantity | None:
    """Read an answer as one number with its unit; None where it is anything else."""
    match = NUMERIC.fullmatch(plain(answer))
    if match is None:
        return None
    number = match["number"].replace(",", "")
    power = int(match["power"] or 0)
    below = int(match["below"] or 1)
    if abs(power) > 300 or len(number) > 30 or not below:
        return None
    scale = 10.0**power / below * (-1 if match["sign"] else 1)
    decimals = len(number.partition(".")[2])
    unit = dense(with_units(["1", *tokens(match["unit"])])[1:])
    return Quantity(float(number) * scale, abs(scale) * 10.0**-decimals, len(number.strip("0.")), unit)


def equal_quantities(one: Quantity, other: Quantity) -> bool:
    """Tell whether two numbers of one unit are equal, or one is the other rounded."""
    if one.unit != other.unit:
        return {one.unit, other.unit} == {"", "%"} and _equal_shares(one, other)
    step = max(one.step, other.step) if min(one.digits, other.digits) >= EXACT_DIGITS else 0.0
    return abs(one.value - other.value) <= step / 2 + 1e-9 * abs(one.value)


def _equal_shares(one: Quantity, other: Quantity) -> bool:
    """Tell whether one is the other's percentage: "50%" is 50 and .5."""
    hundred, plain_one = (one, other) if one.unit else (other, one)
    return any(
        abs(hundred.value / scale - plain_one.value) <= 1e-9 * abs(plain_one.value) for scale in (1, 100)
    )


def _common(rows: Sequence[Sequence[str]], most: int) -> int:
    for place in range(most):
        if len({row[place] for row in rows}) > 1:
            return place
    return max(0, most)


def _latin(text: str) -> str:
    """Write Cyrillic letters that only look like Latin ones as Latin, in a text that is mostly Latin."""
    cyrillic = sum("\u0400" <= char <= "\u052f" for char in text)
    if not cyrillic or 2 * cyrillic > sum(char.isascii() and char.isalpha() for char in text):
        return text
    return text.translate(CYRILLIC)
