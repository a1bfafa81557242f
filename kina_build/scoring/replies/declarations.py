r"""Explicit declarations: "Answer: C", "the correct option is C", "\boxed{C}", {"choice": "C"}."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from typing import Literal

from kina_build.scoring.replies import cues, denials
from kina_build.scoring.replies.clean import BOX_CLOSE, BOX_OPEN
from kina_build.scoring.replies.mentions import MARKS, NATIVE
from kina_build.scoring.replies.patterns import (
    CLOSERS,
    OPENERS,
    Cues,
    any_of,
    listed,
)

WINDOW = 200
"""Characters read behind a cue."""

MIDDLE = 60
"""Characters that may stand between "answer" and "is"."""

SENTENCE = 70
"""Characters before a cue searched for an "if"."""

OPTION_REACH = 30
"""Characters before "correct" in which the word for an option may begin."""

LAST_CUES = 24
"""Cues read at most: in a reply that announces its answer more often, the last ones count."""

HEADINGS = listed(
    """
    choice · option · letter · selection · pick · prediction · label · selected · final · result ·
    solution · conclusion · response · verdict · correct · true · ans · opción · wahl · choix
    """
)
"""Words that declare only as a key of JSON, or at the start of a line before a colon."""

SUPPOSING = (
    *denials.HYPOTHETICAL,
    *listed(
        r"""
        wrong · incorrect · not · \w+n['’]t · never · mistaken · might · may · could · tempting · common ·
        nicht · 不
        """
    ),
)
"""Words that make a declaration behind them in the sentence no declaration."""

_OPTION_WORD = rf"(?i:{any_of(cues.OPTION_NOUNS)})"
_NOUNS = Cues(cues.ANSWER_NOUNS)
_RIGHT = Cues(cues.RIGHT)
_PICKS = Cues(cues.PICKS, tail=r"\s")
_NEGATED = Cues(cues.NOT_COPULAS)
_SUPPOSES = Cues(SUPPOSING)
_SUPERSEDED = Cues(denials.SUPERSEDED)
_OTHERS = Cues(denials.OTHERS)
_CONDITIONAL = Cues(denials.CONDITIONAL)
_CHOICES = re.compile(r"\b(?:choices|options)\b|选项|選項", re.IGNORECASE)
_SIGN_NEXT = re.compile(
    rf"(?:[ \t]*{any_of(cues.RIGHT)}){{0,2}}[ \t]*[{OPENERS}]*(?:{_OPTION_WORD}[ \t]*[{OPENERS}]*)?"
    rf"(?:[A-ZА-ЯΑ-Ω]|[{NATIVE}])(?!\w|[{MARKS}])"
)
_ANY_OPTION = any_of(cues.OPTION_NOUNS)
_OPTION_BEHIND = re.compile(rf"(?:(?:\s+\w{{1,15}}){{0,2}}?\s+|[的な]?){_ANY_OPTION}", re.IGNORECASE)
_OPTION_BEFORE = re.compile(rf"{_ANY_OPTION}\s+(?:que es |yang )?$", re.IGNORECASE)
_THAT = re.compile(r"\s+(?:that\s+)?", re.IGNORECASE)
_ANY_HEADING = "|".join(sorted(HEADINGS, key=len, reverse=True))
_KEY = re.compile(
    rf"[\"'](?:{_ANY_HEADING})[\"']\s*[:=]\s*|^[ \t\-•]*(?:final |my |the )?(?:{_ANY_HEADING})\s*[:：=]\s*",
    re.IGNORECASE | re.MULTILINE,
)
_TURNED = re.compile(rf",|{any_of(denials.TURNS)}", re.IGNORECASE)
_LINK = re.compile(
    rf"\s*[\"'”’{CLOSERS}]{{0,3}}\s*(?:[-=]+>|[:：=→➜➔⟶՝])|\s[-–—]+(?=\s)"
    rf"|\s*{any_of((*cues.COPULAS, *cues.NOT_COPULAS))}\s*[:：]?",
    re.IGNORECASE,
)
_BARE = re.compile(
    rf"\s*\n\s*|[ \t]*\.{{2,}}\s*|[ \t]*[{CLOSERS}]{{1,3}}\s*|[ \t]*(?=[{OPENERS}{NATIVE}A-Za-z])"
)
_SUFFIX = re.compile(r"(?:\s?(?:key|letter|choice|option|id)(?!\w))?", re.IGNORECASE)
_DOTTED = re.compile(rf"\.\s*(?=[{OPENERS}]?[A-Z](?!\w))")
_BREAK = re.compile(r"[.!?:：。！？\n=]")
_SENTENCE_BREAK = re.compile(r"[.!?\n。！？]")
_WINDOW_END = re.compile(rf"\n|(?<=[^\s.])[.!?](?=\s|$)|[。！？；{BOX_CLOSE}]|(?<=\w)[.]{{2,}}")


@dataclass(frozen=True)
class Declaration:
    """One explicit cue and the text it introduces."""

    start: int
    window: str
    offset: int
    """Where the window starts in the text."""
    strict: bool
    """Only a letter right at the window's start counts."""
    supposed: bool
    """Stands in an "if" or behind "wrong"."""
    boxed: bool = False
    bare: bool = False
    """Nothing joins the announcement to what follows: only a letter that ends its clause counts."""


Kind = Literal["noun", "key", "pick", "box"]


Place = tuple[int, int, Kind]
"""The fields of a Head: cheaper than one, as a reply may hold thousands."""


@dataclass(frozen=True)
class Head:
    """The words of a declaration, up to what joins them to a letter."""

    start: int
    end: int
    kind: Kind


@lru_cache(maxsize=4)
def find_declarations(text: str, start: int = 0) -> tuple[Declaration, ...]:
    """List the explicit declarations of a text from a place on; of very many, the last LAST_CUES."""
    heads = sorted(nlargest(LAST_CUES, set(_heads(text, start))))
    found = (_declaration(text, Head(*head)) for head in heads)
    return tuple(declaration for declaration in found if declaration is not None)


def _heads(text: str, start: int) -> Iterator[Place]:
    for begin, end in _NOUNS.spans(text, start):
        yield (begin, end, "noun")
    for begin, end in sorted(_RIGHT.spans(text, start))[-LAST_CUES:]:
        yield from _option_heads(text, start, begin, end)
    for match in _KEY.finditer(text, start):
        yield (match.start(), match.end(), "key")
    for begin, end in _PICKS.spans(text, start):
        if text[begin - 1 : begin] in tuple("-–—"):
            continue  # a name such as Niemann–Pick
        that = _THAT.match(text, end)
        yield (begin, that.end() if that else end, "pick")
    place = text.find(BOX_OPEN, start)
    while place >= 0:
        yield (place, place + 1, "box")
        place = text.find(BOX_OPEN, place + 1)


def _option_heads(text: str, floor: int, begin: int, end: int) -> Iterator[Place]:
    """Yield "correct option" and "opción correcta" around a word of RIGHT."""
    behind = _OPTION_BEHIND.match(text, end)
    if behind:
        yield (begin, behind.end(), "noun")
    first = max(floor, begin - OPTION_REACH)
    before = _OPTION_BEFORE.search(text[first:begin])
    if before:
        yield (first + before.start(), end, "noun")


def _declaration(text: str, head: Head) -> Declaration | None:
    end, negated, strict, bare_head = head.end, False, True, False
    if head.kind == "noun":
        end = _SUFFIX.match(text, end).end()  # type: ignore[union-attr]
        link = _LINK.search(text, end, end + MIDDLE)
        next_sign = _SIGN_NEXT.match(text, end)
        joined = link is not None and _BREAK.search(text, end, link.start()) is None
        if link is not None and joined and not (next_sign and next_sign.end() <= link.start()):
            if _CHOICES.search(text, end, link.start()):
                return None
            end, strict, negated = link.end(), False, _NEGATED.occurs(link[0])
        elif (bare := _BARE.match(text, end) or _dotted(text, head.start, end)) is not None:
            end, bare_head = bare.end(), "\n" not in bare[0]
        elif next_sign:
            bare_head = True
        else:
            return None
    window, offset = _window(text, end)
    if negated:
        window, offset = "not " + window, offset - len("not ")
    boxed = head.kind == "box"
    supposed = not boxed and _is_supposed(text, head)
    return Declaration(head.start, window, offset, strict, supposed, boxed, bare_head)


def _dotted(text: str, start: int, end: int) -> re.Match[str] | None:
    """Read "Ans. C" at the start of a line."""
    first = not text[text.rfind("\n", 0, start) + 1 : start].strip()
    return _DOTTED.match(text, end) if first else None


def _window(text: str, offset: int) -> tuple[str, int]:
    stop = min(len(text), offset + WINDOW)
    while offset < stop and text[offset] in " \n":
        offset += 1
    end = _WINDOW_END.search(text, offset, stop)
    return text[offset : end.end() if end else stop], offset


def _is_supposed(text: str, head: Head) -> bool:
    """Tell whether a declaration tells of what would hold, what others choose, or what was thought before."""
    before = _SENTENCE_BREAK.split(text[max(0, head.start - SENTENCE) : head.start])[-1]
    behind = _SENTENCE_BREAK.split(text[head.start : head.end + SENTENCE])[0]
    if denials.imagined(before, behind):
        return True
    superseded = _SUPERSEDED.last_end(before + text[head.start : head.end])
    if superseded is not None and _TURNED.search(before, min(superseded, len(before))) is None:
        return True
    picks = head.kind == "pick" or text[head.start : head.end] in ("选", "選", "选择", "選擇")
    if picks and (_OTHERS.occurs(before) or _choosing(text, head)):
        return True
    end = _SUPPOSES.first_end(before)
    return end is not None and _TURNED.search(before, end) is None


def _choosing(text: str, head: Head) -> bool:
    """Tell whether a verb of choice is the subject of a sentence: "Choosing A would mean ..."."""
    verb = text[head.start : head.end].lower()
    return verb.rstrip().endswith("ing") and _CONDITIONAL.occurs(text[head.end : head.end + 20])
