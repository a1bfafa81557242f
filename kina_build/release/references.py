"""How options, explanations and stems speak of options: together, by letter, or perhaps by letter."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kina_build.items.model import Item

PINNED = re.compile(
    r"""(?xi)
    \W* (?: (?:all|none|any|some|most|both|neither|either) \s+ (?:\w+\s+)? of \s+ (?:the\s+)?
            (?:above|below|following|preceding|previous|other|others|these|those|them|options?|answers?
              |choices?|statements?|listed) \b .*
      | none | all | no \s+ (?:correct|right) \s+ (?:answer|option|choice) | no \s+ other \s+ option .*
      | (?:以上|上述|上記).* | いずれも.* | どれでもない
      | (?:ningun[oa]|tod[oa]s) \s+ (?:de\s+)?l[oa]s \s+ .* | ningun[oa] | todas
      | (?:nenhuma?|tod[oa]s) \s+ d?[oa]s \s+ .*
      | (?:aucune?|toutes?|tous) \s+ (?:de\s+|d')? (?:ces|les|celles|ce) \b .*
      | (?:keine?r?s?|alle) \s+ (?:der|die|davon|dieser|oben|antworten|genannten) \b .* | keine | alle
      | (?:nessun[ao]|tutt[ei]) \s+ (?:delle|dei|degli|le|i|gli) \s+ .*
      | (?:ни\s+один|ничего|все|всё) \s+ (?:из\s+)? (?:вышеперечисленн|перечисленн|вариант|ответ|выше) .* )
    \W*"""
)
"""A whole option that speaks of the other options together ("none of the above")."""

_LETTERS = r"\(?[A-Z]\)?(?:\s*(?:,|/|&|,?\s*(?:and|or|nor|und|oder|et|ou|y|o|e)\b)\s*\(?[A-Z]\)?)*"

CUED = re.compile(
    rf"\b(?i:options?|answers?|choices?|alternatives?)(?:\s+(?:is|are))?\s*:?\s*(?P<list>{_LETTERS})(?![\w'’])"
)
"""Letters behind a word that says they are options."""

CUES = ("option", "answer", "choice", "alternative")
"""The beginnings of those words."""

PAIRED = re.compile(
    rf"\W*(?i:both|neither|either|only)\s+(?P<list>{_LETTERS})(?:\s+(?:only|are|is)\b.*|\s+above)?\W*"
)
"""A whole option that is some of the others: "both A and C"."""

BARE = re.compile(rf"\W*{_LETTERS}(?:\s+only)?\W*")
"""A whole option that is letters and nothing else: options, vitamins, points of a figure?"""

DOUBTFUL = re.compile(
    r"\([A-Za-z]\)|\b[A-Z]\s+(?:is|was|are)\s+(?:not\b|correct|incorrect|wrong|right|true|false)"
    r"|\b(?i:option|answer|choice)s?\s+[b-z]\b"
)
"""Letters in an explanation that may name options."""

LABELLED = re.compile(r"\([A-Z]\)|\b[A-Z][.):]\s|\b(?:[Ss]tatements?|[Rr]easons?|[Aa]ssertions?)\s+[A-Z]\b")
"""A stem with letters of its own: an option's letters may mean those."""

ROMAN = re.compile(r"\b(?:II|III|IV|VI|VII|VIII|IX)\b")
"""Roman numerals, beside which "I" is no letter."""

LETTER = re.compile(r"\b[A-Z]\b")


def find_doubt(item: Item) -> str:
    """Say which letter of an item may or may not name an option; empty where none is in doubt."""
    keys = {option.key for option in item.options}
    if _is_cued(item.question):
        return "the question names options by letter"
    for option in item.options:
        named = _named(option.answer)
        if not named or not named <= keys:
            continue
        if BARE.fullmatch(option.answer):
            return f"option {option.key} is bare letters"
        if option.key in named or _has_own_letters(item):
            return f"option {option.key} names letters that may be the question's own"
    explanations = (item.explanation, *(option.explanation for option in item.options))
    if any(_doubtful(text) & keys for text in explanations if text):
        return "an explanation names letters that may be options"
    return ""


def rename(text: str, renamed: Mapping[str, str]) -> str:
    """Carry the letters of certain references along.

    Args:
        text: of an option or explanation in which nothing is in doubt.
        renamed: old letter to new letter.
    """
    if not LETTER.search(text):  # nearly every text
        return text

    def carry(found: re.Match[str]) -> str:
        start, end = (edge - found.start() for edge in found.span("list"))
        letters = LETTER.sub(lambda one: renamed.get(one[0], one[0]), found["list"])
        return found[0][:start] + letters + found[0][end:]

    return (PAIRED if PAIRED.fullmatch(text) else CUED).sub(carry, text)


def _is_cued(question: str) -> bool:
    """Tell whether a question names options by letter; looking for the words first is quick."""
    folded = question.casefold()
    return any(map(folded.__contains__, CUES)) and CUED.search(question) is not None


def _has_own_letters(item: Item) -> bool:
    """Tell whether an item has letters that name other things than options."""
    texts = (item.question, *(option.answer for option in item.options))
    return LABELLED.search(item.question) is not None or any(map(ROMAN.search, texts))


def _named(answer: str) -> set[str]:
    """Return the letters an option seems to name as options."""
    if not LETTER.search(answer):
        return set()
    found = PAIRED.fullmatch(answer) or CUED.search(answer)
    if found:
        return set(LETTER.findall(found["list"]))
    return set(LETTER.findall(answer)) if BARE.fullmatch(answer) else set()


def _doubtful(explanation: str) -> set[str]:
    left = DOUBTFUL.findall(CUED.sub("", explanation))
    return {letter.upper() for found in left for letter in re.findall(r"\b[A-Za-z]\b", found)}
