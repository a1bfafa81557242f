"""Two questions side by side: which words differ, and which option of one is which of the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from kina_build.items.model import Item, Option

Difference = Literal["", "word", "number", "negation"]

TOKEN = re.compile(r"\s*(?:[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\d+(?:[.,]\d+)*|[^\W\d_]+|[^\s])|\s+")
"""A word, a number, a letter of a script without spaces, or one sign, with the space before it: of
"is 2.5" the tokens "is" and " 2.5", and not "is 2"."""
NUMBER = re.compile(r"\d")
NEGATION = re.compile(
    r"(?i)(?:not|no|never|none|except|without|least|nicht|kein\w*|ne|pas|sauf|sin|nunca|不|没|非|無|ない)"
)
"""A word that turns a question round: "not", and not "knot"."""
LONGEST = 3_000
"""Tokens of a text that is still compared by words."""
ALIKE = 0.6
"""Share of equal letters from which two options stand beside each other."""


@dataclass(frozen=True)
class Span:
    """Words of a text, all of them in the other text or none."""

    text: str
    differs: Difference = ""
    """number and negation: such a difference is the likeliest to make another question."""


@dataclass(frozen=True)
class Beside:
    """Two options that say the same, or one alone."""

    left: Option | None
    right: Option | None

    @property
    def equal(self) -> bool:
        """Tell whether both say the same, letter for letter."""
        return self.left is not None and self.right is not None and self.left.answer == self.right.answer


def compare_words(one: str, other: str) -> tuple[list[Span], list[Span]]:
    """Mark the words that one text has and the other lacks, on both sides."""
    left, right = TOKEN.findall(one), TOKEN.findall(other)
    if max(len(left), len(right)) > LONGEST:
        return [Span(one)], [Span(other)]
    spans: tuple[list[Span], list[Span]] = ([], [])
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for found, words in zip(spans, (left[a:b], right[c:d]), strict=True):
            found.extend([Span("".join(words))] if kind == "equal" else _mark(words))
    return spans


def _mark(words: Sequence[str]) -> list[Span]:
    """Mark words, but not the space before them."""
    text = "".join(words)
    shown = text.lstrip() or text
    space = text[: len(text) - len(shown)]
    return [Span(one, kind) for one, kind in ((space, ""), (shown, _kind(words))) if one]  # type: ignore[arg-type]


def align(one: Item, other: Item) -> list[Beside]:
    """Put the options of two items beside each other by what they say, whatever their letters."""
    left, right = list(one.options), list(other.options)
    partner = _equal(left, right)
    for n, option in enumerate(left):
        if n not in partner:
            free = [m for m in range(len(right)) if m not in partner.values()]
            best = _closest(option, [right[m] for m in free])
            if best is not None:
                partner[n] = free[best]
    rows = [Beside(option, right[partner[n]] if n in partner else None) for n, option in enumerate(left)]
    return rows + [Beside(None, option) for m, option in enumerate(right) if m not in partner.values()]


def _equal(left: Sequence[Option], right: Sequence[Option]) -> dict[int, int]:
    """Return which options say the same, as places on the left and on the right."""
    places: dict[str, list[int]] = {}
    for m, option in enumerate(right):
        places.setdefault(fold(option.answer), []).append(m)
    found = ((n, places.get(fold(option.answer))) for n, option in enumerate(left))
    return {n: free.pop(0) for n, free in found if free}


def _closest(option: Option, others: Sequence[Option]) -> int | None:
    """Return the place of the option that is likest, the first of equal ones; None where none is alike."""
    best, most = None, ALIKE
    for m, other in enumerate(others):
        pair = SequenceMatcher(None, fold(option.answer), fold(other.answer), autojunk=False)
        # the quick ratios are never below the ratio, which takes a thousand times as long
        if pair.real_quick_ratio() < most or pair.quick_ratio() < most:
            continue
        ratio = pair.ratio()
        if ratio > most or (best is None and ratio == most):
            best, most = m, ratio
    return best


def fold(text: str) -> str:
    """Return a text without what does not matter to its meaning: capitals and the width of spaces."""
    return " ".join(text.casefold().split())


def _kind(words: Sequence[str]) -> Difference:
    if any(NEGATION.fullmatch(word.strip()) for word in words):
        return "negation"
    return "number" if any(NUMBER.search(word) for word in words) else "word"
