"""How two stems differ: the words one has and the other lacks, and what their change means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal

from kina_build.dedup.compare.lexical import Reading
from kina_build.dedup.compare.meanings import (
    NEGATED_FORMS,
    OPPOSITE_SIGNS,
    ROMAN,
    is_negation,
    of_one_family,
    opposed,
    other_units,
    prefixed,
)
from kina_build.dedup.compare.tokens import dense

Change = Literal["none", "number", "unit", "polarity", "name", "sign", "order", "spelling", "word"]
"""The most telling way in which two stems differ."""

MEANING = frozenset({"number", "unit", "polarity", "name", "sign"})
"""Changes that make another question, whatever else agrees."""

MARKUP = frozenset("$\\{}^*#`&~|")
"""Signs that set type; their coming and going changes no meaning."""

SPELLING_RATIO = 0.8
"""Similarity (matching characters) from which two words count as spellings of one."""

TYPED_WORD = 4
"""Letters from which two neighbours that changed places are a typing error."""

LONG_WORD = 6
"""Letters from which one letter more, less or other is a typing error, the first one apart."""


def classify_change(left: Reading, right: Reading, minus: Sequence[str], plus: Sequence[str]) -> Change:
    """Name the most telling way in which two stems differ, given the tokens that do."""
    if not minus and not plus:
        return _reordered(left, right)
    return _meaning(left, right, minus, plus) or ("spelling" if _respelled(minus, plus) else "word")


def _reordered(left: Reading, right: Reading) -> Change:
    """Name the change of stems that hold the same tokens: numbers that changed places are other numbers."""
    if left.token_form == right.token_form:
        return "none"
    words = [[word for word in reading.tokens if not word[0].isdigit()] for reading in (left, right)]
    return "number" if words[0] == words[1] else "order"


def differing_tokens(left: Reading, right: Reading) -> tuple[list[str], list[str]]:
    """List the tokens of each stem that the other lacks, sorted, repeats included.

    Where words are glued in one and parted in the other they are the same words.
    """
    minus, plus = left.counts - right.counts, right.counts - left.counts
    if minus.total() != plus.total() and _may_be_glued(minus, plus):
        minus, plus = _aligned(left.tokens, right.tokens)
    return sorted(minus.elements()), sorted(plus.elements())


def _may_be_glued(minus: Counter[str], plus: Counter[str]) -> bool:
    return any(
        long != short and long.startswith(short)
        for longs, shorts in ((minus, plus), (plus, minus))
        for long in longs
        for short in shorts
    )


def _aligned(left: Sequence[str], right: Sequence[str]) -> tuple[Counter[str], Counter[str]]:
    """Count the tokens that differ once both sides are set beside one another in order."""
    here, there = Counter[str](), Counter[str]()
    for kind, start, end, begin, stop in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        one, other = left[start:end], right[begin:stop]
        if kind != "equal" and dense(one) != dense(other):
            here.update(one)
            there.update(other)
    return here - there, there - here


def _meaning(left: Reading, right: Reading, minus: Sequence[str], plus: Sequence[str]) -> Change | None:
    """Name the change that makes another question, if there is one."""
    if _numeric(minus) and _numeric(plus):
        return "number"
    if _turned(left, right, minus, plus):
        return "polarity"
    if other_units(minus, plus):
        return "unit"
    if of_one_family(minus, plus) or 0 < _lettered(minus) == _lettered(plus):
        return "name"
    return _by_form(left, right, minus, plus)


def _by_form(left: Reading, right: Reading, minus: Sequence[str], plus: Sequence[str]) -> Change | None:
    """Name the change of words by their letters and capitals, and of signs."""
    if _mistyped(minus, plus):
        return "spelling"
    named = left.entities.intersection(minus) and right.entities.intersection(plus)
    if named and not _abbreviated(left, minus, plus) and not _abbreviated(right, plus, minus):
        return "name"
    if _signs(minus) != _signs(plus) and (not _worded(minus) and not _worded(plus)):
        return "polarity" if opposed(minus, plus, OPPOSITE_SIGNS) else "sign"
    return None


def _abbreviated(long: Reading, words: Sequence[str], letters: Sequence[str]) -> bool:
    """Tell whether what one stem says in words the other says by their first letters ("UN")."""
    firsts = "".join(word[0] for word in long.tokens if word in words)
    return len(letters) == 1 and len(letters[0]) > 1 and letters[0] in firsts


def _numeric(words: Sequence[str]) -> bool:
    return any(word[0].isdigit() or word in ROMAN for word in words)


def _lettered(words: Sequence[str]) -> int:
    """Count the letters that stand among the words as names: "vitamin C", "point Q", "angle β"."""
    return sum(len(word) == 1 and word.isalpha() and word < "\u0400" for word in words)


def _worded(words: Sequence[str]) -> bool:
    return any(word[0].isalnum() for word in words)


def _signs(words: Sequence[str]) -> list[str]:
    return [word for word in words if not word[0].isalnum() and word not in MARKUP]


def _turned(left: Reading, right: Reading, minus: Sequence[str], plus: Sequence[str]) -> bool:
    """Tell whether a negation came or went, or a word gave way to an opposite."""
    if sum(map(is_negation, minus)) != sum(map(is_negation, plus)):
        return True
    if not left.content.isascii():
        forms = [len(NEGATED_FORMS.findall(reading.content)) for reading in (left, right)]
        if forms[0] != forms[1]:
            return True
    return opposed(minus, plus) or prefixed(minus, plus)


def _mistyped(minus: Sequence[str], plus: Sequence[str]) -> bool:
    """Tell whether each word that differs is the other with a typing error."""
    return len(minus) == len(plus) > 0 and all(map(_is_typo, minus, plus))


def _is_typo(old: str, new: str) -> bool:
    """Tell whether two neighbours changed places, or one letter within a long word is more, less or other."""
    if old[0] != new[0] or min(len(old), len(new)) < TYPED_WORD or not (old.isalpha() and new.isalpha()):
        return False
    front = next((place for place, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old))
    one, other = old[front:], new[front:]
    if len(one) == len(other):
        swapped = one[:2] == other[1::-1] and one[2:] == other[2:]
        return swapped or (len(old) >= LONG_WORD and one[1:] == other[1:])
    return min(len(old), len(new)) >= LONG_WORD and (one[1:] == other or one == other[1:])


def _respelled(minus: Sequence[str], plus: Sequence[str]) -> bool:
    """Tell whether the words that differ are, in order of the alphabet, spellings of one another."""
    return len(minus) == len(plus) and all(
        SequenceMatcher(None, old, new, autojunk=False).ratio() >= SPELLING_RATIO
        for old, new in zip(minus, plus, strict=True)
    )
