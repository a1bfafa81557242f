"""A folded text cut into numbers, words, Chinese characters and signs."""

from __future__ import annotations

import re

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
