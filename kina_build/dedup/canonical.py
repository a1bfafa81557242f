"""One form for what is written in many: markup, units, percent, blanks, hyphens, labels, frames.

Nothing is dropped for being equal in this form, because it forgets signs that can bear
meaning: it says what a person should look at, and keeps false reasons from being given.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kina_build.items.text import drop_invisible, fold_stem, squeeze

RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
RAISED_RUN = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")
"""Matches "⁻¹⁹" of "10⁻¹⁹", not "19"."""

FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
r"""Matches "\frac{3}{4}", not "\frac34"."""

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

CYRILLIC = str.maketrans("асеорхуіјѕԁһԛԝАВСЕНІЈКМОРЅТХ", "aceopxyijsdhqwABCEHIJKMOPSTX")
"""Cyrillic letters that look like Latin ones."""

NUMBERED = re.compile(r"^\s*(?:q(?:uestion)?\s*)?\d{1,3}[.)]\s+(?=\D)", re.IGNORECASE)
"""Matches the "12. " of "12. Which gas", not "5.4 litres"."""

LABEL = re.compile(r"^\s*(?:\(([A-Z])\)|([A-Z])[.):])\s*(?=\S)", re.IGNORECASE)
"""Matches the "(A) " of "(A) neon" and the "b. " of "b. iron", not "A gas"."""

NUMERIC = re.compile(
    r"(?P<sign>-?)\s*(?P<number>\d[\d,]*(?:\.\d+)?|\.\d+)"
    r"(?:\s*[×x*·]\s*10\s*\^?\s*(?P<power>-?\d+))?"
    r"(?:\s*/\s*(?P<below>\d+))?\s*(?P<unit>[^\d]*(?:\^?-?\d[^\d]*){0,3})"
)
"""Matches "1.38 × 10^-23 J/K" and "3/4", not "between 2 and 3"."""

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
        text = _latin(text).replace("−", "-")
    if "\\" in text:
        text = FRACTION.sub(r"\1/\2", text)
        text = COMMAND.sub(lambda command: COMMANDS.get(command.group(1).lower(), " "), text)
    if "</" in text:
        text = TAGS.sub("", text)
    return squeeze(PERCENT.sub("%", text.translate(_TYPESETTING)))


_TYPESETTING = str.maketrans("", "", "$\\{}")


def dense(words: Sequence[str]) -> str:
    """Join tokens without blanks; numbers stay apart from one another."""
    parts: list[str] = []
    for word in words:
        if parts and word[0].isdigit() and parts[-1][-1].isdigit():
            parts.append("|")
        parts.append(word)
    return "".join(parts)


def stem_form(question: str) -> str:
    """Return the form in which stems are equal whatever their blanks, hyphens, markup and numbering."""
    return dense(tokens(fold_stem(plain(NUMBERED.sub("", question)))))


def answer_form(folded: str) -> str:
    """Return the form in which answers are equal; letter case stays, as it tells answers apart."""
    return dense(tokens(plain(folded))) or folded


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
    unit = dense(tokens(match["unit"]))
    return Quantity(float(number) * scale, abs(scale) * 10.0**-decimals, len(number.strip("0.")), unit)


def equal_quantities(one: Quantity, other: Quantity) -> bool:
    """Tell whether two numbers of one unit are equal, or one is the other rounded."""
    if one.unit != other.unit:
        return False
    step = max(one.step, other.step) if min(one.digits, other.digits) >= EXACT_DIGITS else 0.0
    return abs(one.value - other.value) <= step / 2 + 1e-9 * abs(one.value)


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


TOKEN = re.compile(
    r"(?P<number>\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|(?<!\d)\.\d+)"
    r"|(?P<han>[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)"
    r"|(?P<sign>[^\w\s.,;:!?'\"“”‘’…、。，；：？！「」『』《》·_-]|(?<![\w)])-(?=\d))"
)
"""A number, one Chinese or Japanese character, a word, or a sign that can bear meaning."""

COUNTED = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "eleven": "11", "twelve": "12",
}  # fmt: skip
"""Number words that are read as numbers; "one" is more often a pronoun."""


def tokens(folded: str) -> list[str]:
    """Cut a folded text into numbers, words, Chinese characters and signs.

    Numbers are written one way ("1,000" and "1000.0" are "1000"), so that only their
    values differ.
    """
    return [
        normal_number(match.group())
        if match.lastgroup == "number"
        else COUNTED.get(match.group(), match.group())
        for match in TOKEN.finditer(folded)
    ]


def normal_number(text: str) -> str:
    """Write a decimal number without thousands separators and idle zeros."""
    whole, _, part = text.replace(",", "").partition(".")
    whole, part = whole.lstrip("0") or "0", part.rstrip("0")
    return f"{whole}.{part}" if part else whole


GRAM = 3
"""Length of the character n-grams by which stems and passages are compared."""


def capitalised(text: str) -> frozenset[str]:
    """Return the words that carry a capital although no sentence begins with them, folded."""
    found = re.findall(r"(?<![.?!:]\s)(?<!^)\b([^\W\d_a-z][^\W\d_]+)", squeeze(text))
    return frozenset(fold_stem(word) for word in found if word[0].isupper())


def script(text: str) -> str:
    """Guess a language tag from the script where an item gives none: "ja", "zh" or "en".

    A guess by letters only: languages in Latin letters need their tag on the item.
    """
    if re.search(r"[\u3040-\u30ff]", text):
        return "ja"
    han = len(re.findall(r"[\u3400-\u9fff]", text))
    latin = len(re.findall(r"[A-Za-z]+", text))
    return "zh" if han > latin else "en"


def grams(folded: str) -> frozenset[str]:
    """Return the character n-grams of a text without its blanks."""
    dense = folded.replace(" ", "")
    return frozenset(dense[start : start + GRAM] for start in range(max(1, len(dense) - GRAM + 1)))


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Return the share |left and right| / |left or right|, 0 when both are empty."""
    union = len(left | right)
    return len(left & right) / union if union else 0.0
