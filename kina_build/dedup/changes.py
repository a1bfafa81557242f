"""How two stems differ: the words one has and the other lacks, and what their change means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal

from kina_build.dedup.canonical import dense
from kina_build.dedup.lexical import Reading

Change = Literal["none", "number", "polarity", "name", "sign", "order", "spelling", "word"]
"""The most telling way in which two stems differ."""

MEANING = frozenset({"number", "polarity", "name", "sign"})
"""Changes that make another question, whatever else agrees."""


def words_of(text: str) -> frozenset[str]:
    """Return the words of a line as a set."""
    return frozenset(text.split())


NEGATIONS = words_of(
    "not no never none nor neither without except cannot false incorrect wrong least untrue"
    " 不 非 无 無 没 未 错 誤 误 否 除"
)
"""Words that turn a question round wherever they are added or taken away."""

_AXES = """
most more greater larger higher maximum max highest largest greatest longest bigger biggest increase increases
 increased increasing rise rises gain|less fewer smaller lower minimum min lowest smallest least shortest
 decrease decreases decreased decreasing fall falls loss;
before|after; above over|below under; strong stronger strongest|weak weaker weakest;
positive positively|negative negatively; first earliest early earlier|second|third|last latest late later;
always|sometimes|often|rarely; best good|worst bad; acid acidic|base basic; all|some|any; must|may;
left|right; true correct right|false incorrect wrong;
强 強|弱; 大|小; 多|少; 增 加|减 減; 升|降; 前|后 後; 左|右; 高|低; 正|负 負; 上|下; 内|外;
长|短; 快|慢; 最|较; 加|除|乘
"""

OPPOSITES = tuple(tuple(map(words_of, axis.split("|"))) for axis in _AXES.split(";"))
"""Axes of words that turn a question when one pole stands in place of another: "most" and "largest"
stand on one pole, "most" and "least" on two."""

NEGATING_PREFIXES = ("un", "in", "im", "ir", "il", "non", "dis", "a", "anti")

SHORT_WORD = 3
"""Letters up to which a prefix says nothing ("a" and "are", "in" and "into")."""

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
        return "none" if left.token_form == right.token_form else "order"
    return _meaning(left, right, minus, plus) or ("spelling" if _respelled(minus, plus) else "word")


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
    if _turned(minus, plus):
        return "polarity"
    if _mistyped(minus, plus):
        return "spelling"
    if left.entities.intersection(minus) and right.entities.intersection(plus):
        return "name"
    if _signs(minus) != _signs(plus) and (not _worded(minus) and not _worded(plus)):
        return "sign"
    return None


def _numeric(words: Sequence[str]) -> bool:
    return any(word[0].isdigit() for word in words)


def _worded(words: Sequence[str]) -> bool:
    return any(word[0].isalnum() for word in words)


def _signs(words: Sequence[str]) -> list[str]:
    return [word for word in words if not word[0].isalnum() and word not in MARKUP]


def _turned(minus: Sequence[str], plus: Sequence[str]) -> bool:
    """Tell whether a negation came or went, or a word gave way to an opposite."""
    negations = [
        sum(word in NEGATIONS or word.endswith(("n't", "n’t")) for word in words) for words in (minus, plus)
    ]
    if negations[0] != negations[1]:
        return True
    if _opposed(set(minus), set(plus)):
        return True
    both = {*minus, *plus}
    prefixed = [word for word in both if word.startswith(NEGATING_PREFIXES)]
    return any(
        word[len(prefix) :] in both
        for word in prefixed
        for prefix in NEGATING_PREFIXES
        if word.startswith(prefix) and len(word) > len(prefix) + SHORT_WORD
    )


def _opposed(minus: set[str], plus: set[str]) -> bool:
    """Tell whether a word gave way to one of another pole of its axis, and to none of its own."""
    for axis in OPPOSITES:
        gone = {pole for pole, words in enumerate(axis) if words & minus}
        came = {pole for pole, words in enumerate(axis) if words & plus}
        if gone and came and gone != came:
            return True
    return False


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
