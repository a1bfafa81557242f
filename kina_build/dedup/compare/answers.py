"""Whether two items ask for the same answer, or for answers that exclude each other."""

from __future__ import annotations

from collections.abc import Sequence

from kina_build.dedup.compare.canonical import equal_quantities, plain
from kina_build.dedup.compare.lexical import FRAME_WORDS, Reading
from kina_build.dedup.compare.meanings import words_of
from kina_build.dedup.compare.tokens import jaccard, tokens
from kina_build.dedup.records import Gold
from kina_build.items.text import fold_stem

CHOOSING = words_of(
    "which following these those could can may might possible example approximately about not except estimate"
)
"""Words by which a question may have several right answers, of which each item shows one."""
ANSWER_WORDS = 3
"""Words told that two right answers must share to say the same in other words."""
ANSWER_SHARE = 0.35
"""Share (Jaccard) of the right answers' words from which they do (read on MMLU-Pro: .36 to .71 are true)."""
STEM_LETTERS = 6
"""Letters by which words of one stem are known: "conflict" and "conflicts" are "confli"."""


def compare_gold(left: Reading, right: Reading, loosely: bool) -> Gold:
    """Tell whether two keys name the same text; loosely folded where the options agree only so."""
    if not left.gold or not right.gold:
        return "unknown"
    if left.gold == right.gold:
        return "same"
    if loosely and set(map(fold_stem, left.gold)) == set(map(fold_stem, right.gold)):
        return "same"
    return "same" if _equal_answers(left, right) else "different"


def contradicting(left: Reading, right: Reading) -> bool:
    """Tell whether two keys cannot both be right answers to one question.

    Each item offers the other's right answer and calls it wrong; or both ask for a number and
    give two that are not roundings of one another.
    """
    if not left.right or not right.right or _equal_answers(left, right):
        return False
    here, there = ({reading.forms[place] for place in reading.right} for reading in (left, right))
    if here <= set(right.forms) - there and there <= set(left.forms) - here:
        return True
    one, other = left.quantity, right.quantity
    if one is None or other is None or CHOOSING.intersection(left.tokens):
        return False
    return one.unit == other.unit and not equal_quantities(one, other)


def _equal_answers(left: Reading, right: Reading) -> bool:
    """Tell whether the right answers are one in another form."""
    if len(left.right) != len(right.right) or not left.right:
        return False
    if _at(left.forms, left) == _at(right.forms, right):
        return True
    if frames_agree(left, right) and _at(left.framed[0], left) == _at(right.framed[0], right):
        return True
    one, other = left.quantity, right.quantity
    return one is not None and other is not None and equal_quantities(one, other)


def worded_alike(left: Reading, right: Reading) -> bool:
    """Tell whether two right answers share most of their words."""
    if not left.right or not right.right:
        return False
    one, other = (_said(reading) for reading in (left, right))
    return len(one & other) >= ANSWER_WORDS and jaccard(one, other) >= ANSWER_SHARE


def _said(reading: Reading) -> frozenset[str]:
    words = tokens(plain(" ".join(reading.answers[place] for place in reading.right)).lower())
    return frozenset(
        word[:STEM_LETTERS] for word in words if word.isalpha() and len(word) > 2 and word not in FRAME_WORDS
    )


def _at(answers: Sequence[str], reading: Reading) -> frozenset[str]:
    return frozenset(answers[place] for place in reading.right)


def frames_agree(left: Reading, right: Reading) -> bool:
    """Tell whether frames can be left out: one has none, and nothing in the other bears meaning."""
    one, other = left.framed[1], right.framed[1]
    if one == other:
        return True
    frame = one or other
    return not (one and other) and not any(char.isdigit() for char in frame) and not _negated(frame)


def _negated(frame: str) -> bool:
    return any(part.startswith(("not", "no", "never")) or "isnot" in part for part in frame.split("|"))
