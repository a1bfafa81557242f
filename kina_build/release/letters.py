"""The letters of the options: a seeded permutation an item, its key carried along.

Each item's order depends on the seed and its id alone. Options that speak of the others
("none of the above") stay where they stand; options and explanations that name a letter
("both A and C") follow it where the reference is certain, else the item is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kina_build.items.model import LETTERS, Item, Option
from kina_build.release.draw import draw

PINNED = re.compile(
    r"""(?xi)
    \W* (?: (?:all|none|any|some|most|both|neither|either) \s+ (?:\w+\s+)? of \s+ (?:the\s+)?
            (?:above|below|following|preceding|previous|other|others|these|those|them|options?|answers?
              |choices?|statements?|listed) \b .*
      | (?:none|all) | no \s+ (?:correct|right) \s+ (?:answer|option|choice) | no \s+ other \s+ option .*
      | (?:以上|上述|上記).* | いずれも.* | どれでもない
      | (?:ningun[oa]|tod[oa]s) \s+ (?:de\s+)?l[oa]s \s+ .* | ningun[oa] | todas
      | (?:nenhum[a]?|tod[oa]s) \s+ (?:d?[oa]s) \s+ .*
      | (?:aucune?|toutes?|tous) \s+ (?:de\s+|d')? (?:ces|les|celles|ce) \b .*
      | (?:keine?r?s?|alle) \s+ (?:der|die|davon|dieser|oben|antworten|genannten) \b .* | keine | alle
      | (?:nessun[ao]|tutt[ei]) \s+ (?:delle|dei|degli|le|i|gli) \s+ .*
      | (?:ни\s+один|ничего|все|всё) \s+ (?:из\s+)? (?:вышеперечисленн|перечисленн|вариант|ответ|выше) .* )
    \W*"""
)
"""A whole option that speaks of the other options together."""

_LIST = r"\(?[A-Z]\)?(?:\s*(?:,|/|&|,?\s*(?:and|or|nor|und|et|y|e)\b)\s*\(?[A-Z]\)?)*"
CUED = re.compile(
    rf"\b(?i:options?|answers?|choices?|alternatives?)(?:\s+(?:is|are))?\s*:?\s*(?P<list>{_LIST})(?![\w'’])"
)
"""Letters behind a word that says they are options."""
PAIRED = re.compile(
    rf"\W*(?i:both|neither|either|only)\s+(?P<list>{_LIST})(?:\s+(?:only|are|is)\b.*|\s+above)?\W*"
)
"""A whole option that is a pair of other options."""
BARE = re.compile(rf"\W*{_LIST}(?:\s+only)?\W*")
"""A whole option that is letters and nothing else: options, vitamins, points of a figure?"""
DOUBTFUL = re.compile(
    r"\([A-Za-z]\)|\b[A-Z]\s+(?:is|was|are)\s+(?:not\b|correct|incorrect|wrong|right|true|false)"
    r"|\b(?i:option|answer|choice)s?\s+[b-z]\b"
)
"""Letters in an explanation that may name options."""
LETTER = re.compile(r"\b[A-Z]\b")
LABELLED = re.compile(r"\([A-Z]\)|\b[A-Z][.):]\s|\b(?:[Ss]tatements?|[Rr]easons?|[Aa]ssertions?)\s+[A-Z]\b")
"""A stem with letters of its own: an option's letters may mean those."""
ROMAN = re.compile(r"\b(?:II|III|IV|VI|VII|VIII|IX)\b")


@dataclass(frozen=True)
class Lettering:
    """One item with its exported letters."""

    item: Item
    kept: str = ""
    """Why the order was left as it is; empty where it was drawn."""
    rewritten: int = 0
    """Texts in which a letter was carried along."""


def assign_letters(item: Item, *, seed: int, shuffle: bool = True) -> Lettering:
    """Order an item's options by keyed hash and letter them from A; the key follows its text.

    Args:
        item: with at most 26 options.
        seed: of the draw; 0 is a seed like any other.
        shuffle: False leaves the order as it is and only letters it from A.
    """
    reason = ("not asked for" if not shuffle else "") or _why_kept(item)
    order = list(range(len(item.options))) if reason else draw_order(item, seed)
    renamed = {item.options[old].key: LETTERS[new] for new, old in enumerate(order)}
    rewritten = sum(_rewrite(text, renamed) != text for text in _texts(item))
    options = tuple(_letter(item.options[old], LETTERS[new], renamed) for new, old in enumerate(order))
    changed = {
        "options": options,
        "correct_answer": renamed.get(item.correct_answer, item.correct_answer),
        "explanation": item.explanation and _rewrite(item.explanation, renamed),
    }
    return Lettering(item.model_copy(update=changed), reason, rewritten)


def draw_order(item: Item, seed: int) -> list[int]:
    """Draw the old index that goes to each new place; pinned options keep theirs."""
    free = [index for index, option in enumerate(item.options) if not PINNED.fullmatch(option.answer)]
    drawn = iter(sorted(free, key=lambda index: draw(seed, "letters", item.item_id, str(index))))
    return [next(drawn) if index in set(free) else index for index in range(len(item.options))]


def _why_kept(item: Item) -> str:
    """Say which reference to a letter cannot be carried along with certainty."""
    keys = {option.key for option in item.options}
    own_labels = bool(LABELLED.search(item.question)) or any(
        ROMAN.search(text) for text in (item.question, *(o.answer for o in item.options))
    )
    for option in item.options:
        named = _named(option.answer)
        if not named or not named <= keys:
            continue
        if BARE.fullmatch(option.answer):
            return f"option {option.key} is bare letters"
        if own_labels or option.key in named:
            return f"option {option.key} names letters that may be the stem's own"
    for text in (item.explanation, *(option.explanation for option in item.options)):
        if text and _doubtful(text) & keys:
            return "an explanation names letters that may be options"
    return ""


def _named(answer: str) -> set[str]:
    """Return the letters an option seems to name as options."""
    found = PAIRED.fullmatch(answer) or CUED.search(answer)
    if found:
        return set(LETTER.findall(found["list"]))
    return set(LETTER.findall(answer)) if BARE.fullmatch(answer) else set()


def _doubtful(explanation: str) -> set[str]:
    """Return the letters that an explanation may use for options, without a certain cue."""
    left = DOUBTFUL.findall(CUED.sub("", explanation))
    return {letter.upper() for found in left for letter in re.findall(r"\b[A-Za-z]\b", found)}


def _texts(item: Item) -> list[str]:
    texts = (item.explanation, *(text for o in item.options for text in (o.answer, o.explanation)))
    return [text for text in texts if text]


def _letter(option: Option, key: str, renamed: Mapping[str, str]) -> Option:
    answer = option.answer if BARE.fullmatch(option.answer) else _rewrite(option.answer, renamed)
    explanation = option.explanation and _rewrite(option.explanation, renamed)
    return option.model_copy(update={"key": key, "answer": answer, "explanation": explanation})


def _rewrite(text: str, renamed: Mapping[str, str]) -> str:
    """Carry the letters of certain references along."""

    def carry(found: re.Match[str]) -> str:
        start, end = (edge - found.start() for edge in found.span("list"))
        whole = found[0]
        letters = LETTER.sub(lambda one: renamed.get(one[0], one[0]), whole[start:end])
        return whole[:start] + letters + whole[end:]

    pattern = PAIRED if PAIRED.fullmatch(text) else CUED
    return pattern.sub(carry, text)
