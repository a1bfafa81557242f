"""What is made of the letters that a rule found: one letter, or a status that says why there is none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kina_build.scoring.replies import denials
from kina_build.scoring.replies.labels import AMBIGUOUS, labels
from kina_build.scoring.replies.optiontext import name_option
from kina_build.scoring.replies.patterns import CLOSERS, Cues

EXTRACTOR_VERSION = "letters-4"
"""Changes whenever any reply could be read differently."""

LetterStatus = Literal[
    "ok",
    "multiple",
    "conflict",
    "ambiguous",
    "refused",
    "empty",
    "reasoning_only",
    "truncated",
    "out_of_range",
    "unreadable",
]

_REFUSED = Cues(denials.REFUSALS)
_BREAKS_OFF = re.compile(r"(?:[\w,(\[{\"'“«=+*/:：，、…-]|\.\.\.)\s*$")
_PLACE_SIGNS = re.compile(r"(?<!\w)[БГДЖЗИЛбгджзилΓΔΘ](?!\w)")
EITHER_REACH = 60
"""Characters from the first of several letters in which "or" leaves them undecided."""
_EITHER = re.compile(r"(?<!\w)[A-Z]\W{1,4}(?:or|oder|ou|o|lub|atau|veya|или|或|または)\W{1,4}[A-Z](?!\w)")
GOES_ON_REACH = 8
"""Characters at the end in which a list of letters may break off."""
_GOES_ON = re.compile(rf"(?<!\w)[A-Z][{CLOSERS}\s]*(?:[,，、&+]|\b(?:and|und|et|y|e|и)\b|[和と])$")
"""Matches "A, C," and "A and", not "A, C." """
_REST_OF_LINE = re.compile(rf"[{CLOSERS}\s]*[.):：\]—–-]?\s*([^\n]*)")


@dataclass(frozen=True)
class Extraction:
    """What was read from one reply."""

    letter: str | None
    """Its label; of several that are chosen together all of them, in order: "BD"."""
    status: LetterStatus
    rule: str
    """The rule that decided; empty where none did."""
    span: tuple[int, int] | None = None
    """Where the letter stands in the cleaned text."""
    version: str = EXTRACTOR_VERSION


@dataclass(frozen=True)
class Reading:
    """One cleaned reply and what its item allows."""

    text: str
    index: dict[str, int]
    """Label -> place."""
    options: Sequence[str] | None
    disguised: bool = False
    """Words of the reply hide Latin letters behind look-alikes."""
    several: bool = False
    """More than one option may be chosen."""


def settle(reading: Reading, found: tuple[str, ...], rule: str, span: tuple[int, int]) -> Extraction:
    """Turn the letters that a rule found into one answer of the item, or into what hinders it.

    Args:
        reading: the reply and its item.
        found: the letters, in order.
        rule: that found them.
        span: where they stand.
    """
    if reading.several:
        return _all_of(reading, found, rule, span)
    if len(found) > 1:
        return Extraction(None, "multiple", rule, span)
    letter = _settled(reading, found[0], span) if found[0] in AMBIGUOUS else found[0]
    if letter is None:
        return Extraction(None, "ambiguous", rule, span)
    if letter not in reading.index:
        return Extraction(None, "out_of_range", rule, span)
    if _contradicts_text(reading, letter, span):
        return Extraction(None, "conflict", rule, span)
    return Extraction(letter, "ok", rule, span)


def _all_of(reading: Reading, found: tuple[str, ...], rule: str, span: tuple[int, int]) -> Extraction:
    """Put letters that are chosen together into one answer."""
    if len(found) > 1 and _EITHER.search(reading.text, span[0], span[0] + EITHER_REACH):
        return Extraction(None, "multiple", rule, span)
    if _GOES_ON.search(reading.text.rstrip()[-GOES_ON_REACH:]):
        return Extraction(None, "truncated", rule, span)
    settled = [_settled(reading, one, span) if one in AMBIGUOUS else one for one in dict.fromkeys(found)]
    signs = [one for one in settled if one is not None]
    if len(signs) < len(settled):
        return Extraction(None, "ambiguous", rule, span)
    if not all(one in reading.index for one in signs):
        return Extraction(None, "out_of_range", rule, span)
    return Extraction("".join(sorted(set(signs), key=reading.index.__getitem__)), "ok", rule, span)


def _settled(reading: Reading, sign: str, span: tuple[int, int]) -> str | None:
    """Decide a sign that is one letter by its look and another by its place, where something decides."""
    look, place = AMBIGUOUS[sign]
    candidates = [label for label in (look, place) if label in reading.index]
    if len(candidates) < 2:
        return candidates[0] if candidates else look
    if reading.disguised:
        return look
    named = _text_behind(reading, span)
    if named is not None and named in candidates:
        return named
    return place if _PLACE_SIGNS.search(reading.text) else None


def _contradicts_text(reading: Reading, letter: str, span: tuple[int, int]) -> bool:
    named = _text_behind(reading, span)
    return named is not None and named != letter


def _text_behind(reading: Reading, span: tuple[int, int]) -> str | None:
    """Return the label of the option whose text stands behind a letter, where there is one."""
    if not reading.options:
        return None
    rest = _REST_OF_LINE.match(reading.text, span[1])
    place = name_option(rest[1], reading.options, whole=True) if rest and rest[1].strip() else None
    return None if place is None else labels(len(reading.index))[place]


def tell_unread(text: str, *, cut_off: bool) -> Extraction:
    """Say why no letter was read: the reply was cut off, declines, breaks off, or names none."""
    if cut_off:
        return Extraction(None, "truncated", "")
    if _REFUSED.occurs(text):
        return Extraction(None, "refused", "")
    breaks_off = _BREAKS_OFF.search(text.rstrip()) is not None and len(text.split()) > 3
    return Extraction(None, "truncated" if breaks_off else "unreadable", "")
