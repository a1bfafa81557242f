r"""Explicit declarations: "Answer: C", "the correct option is C", "\boxed{C}", {"choice": "C"}."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from kina_build.scoring.letters import cues, denials
from kina_build.scoring.letters.clean import BOX_CLOSE, BOX_OPEN
from kina_build.scoring.letters.mentions import NATIVE
from kina_build.scoring.letters.patterns import (
    CLOSERS,
    COMBINATIONS_KEPT,
    OPENERS,
    UNSPACED,
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

LAST_CUES = 64
"""Cues read at most: in a reply that announces its answer more often, the last ones count."""

HEADINGS = listed(
    """
    choice · option · letter · selection · pick · prediction · label · selected · final · result ·
    solution · conclusion · response · verdict · correct · ans · opción · wahl · choix
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

_TABLES = tuple(map(Cues, (cues.ANSWER_NOUNS, cues.OPTION_NOUNS, cues.RIGHT, HEADINGS, cues.PICKS)))
_NEGATED = Cues(cues.NOT_COPULAS)
_SUPPOSES = Cues(SUPPOSING)
_TURNED = re.compile(rf",|{any_of(denials.TURNS)}", re.IGNORECASE)
_LINK = re.compile(
    rf"\s*[\"'”’{CLOSERS}]{{0,3}}\s*(?:[-=]+>|[:：=→])|\s[-–—]+(?=\s)"
    rf"|\s*{any_of((*cues.COPULAS, *cues.NOT_COPULAS))}\s*[:：]?",
    re.IGNORECASE,
)
_BARE = re.compile(
    rf"\s*\n\s*|[ \t]*\.{{2,}}\s*|[ \t]*[{CLOSERS}]{{1,3}}\s*|[ \t]*(?=[{OPENERS}{NATIVE}A-Za-z])"
)
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


def find_declarations(text: str, start: int = 0) -> list[Declaration]:
    """List the explicit declarations of a text from a place on; of very many, the last LAST_CUES."""
    lowered = text[start:].lower()
    found = tuple(table.present(lowered) for table in _TABLES)
    pattern = _pattern(found, BOX_OPEN in lowered)
    if pattern is None:
        return []
    heads = deque(pattern.finditer(text, start), maxlen=LAST_CUES)
    return [declaration for head in heads if (declaration := _declaration(text, head)) is not None]


@lru_cache(maxsize=COMBINATIONS_KEPT)
def _pattern(found: tuple[tuple[str, ...], ...], boxed: bool) -> re.Pattern[str] | None:
    """Build the pattern of all heads of declarations from the words that occur."""
    nouns, options, rights, keys, picks = found
    heads = [*_noun_heads(nouns), *(_option_heads(options, rights) if options and rights else ())]
    parts = [rf"(?P<noun>{'|'.join(heads)})"] if heads else []
    if keys:
        key = "|".join(sorted(keys, key=len, reverse=True))
        quoted, heading = rf"[\"'](?:{key})[\"']\s*[:=]\s*", rf"(?:final |my |the )?(?:{key})\s*[:：=]\s*"
        parts.append(rf"(?P<key>{quoted}|^[ \t\-•]*{heading})")
    if picks:
        parts.append(rf"(?P<pick>{any_of(picks)}\s+(?:that\s+)?)")
    if boxed:
        parts.append(f"(?P<box>{BOX_OPEN})")
    return re.compile("|".join(parts), re.IGNORECASE | re.MULTILINE) if parts else None


def _noun_heads(nouns: tuple[str, ...]) -> Iterator[str]:
    if nouns:
        left = rf"(?:(?<![^\W{UNSPACED}])|(?-i:(?<=[a-z])(?=[A-Z])))"
        words = "|".join(sorted(nouns, key=len, reverse=True))
        yield rf"{left}(?:{words}){{1,3}}(?:\s?(?:key|letter|choice|option|id))?(?![^\W{UNSPACED}])"


def _option_heads(options: tuple[str, ...], rights: tuple[str, ...]) -> Iterator[str]:
    right, option = any_of(rights), any_of(options)
    yield rf"{right}(?:\s+\w{{1,15}}){{0,2}}?\s+{option}"
    yield rf"{option}\s+(?:que es |yang )?{right}"
    yield rf"{right}[的な]?{option}"


def _declaration(text: str, head: re.Match[str]) -> Declaration | None:
    groups = head.groupdict()
    end, negated, strict = head.end(), False, True
    if groups.get("noun") is not None:
        link = _LINK.search(text, end, end + MIDDLE)
        if link is not None and _BREAK.search(text, end, link.start()) is None:
            end, strict, negated = link.end(), False, _NEGATED.search(link[0]) is not None
        elif (bare := _BARE.match(text, end) or _dotted(text, head)) is not None:
            end = bare.end()
        else:
            return None
    window, offset = _window(text, end)
    if negated:
        window, offset = "not " + window, offset - len("not ")
    boxed = groups.get("box") is not None
    supposed = not boxed and _is_supposed(text[max(0, head.start() - SENTENCE) : head.start()])
    return Declaration(head.start(), window, offset, strict, supposed, boxed)


def _dotted(text: str, head: re.Match[str]) -> re.Match[str] | None:
    """Read "Ans. C" at the start of a line."""
    first = not text[text.rfind("\n", 0, head.start()) + 1 : head.start()].strip()
    return _DOTTED.match(text, head.end()) if first else None


def _window(text: str, offset: int) -> tuple[str, int]:
    stop = min(len(text), offset + WINDOW)
    while offset < stop and text[offset] in " \n":
        offset += 1
    end = _WINDOW_END.search(text, offset, stop)
    return text[offset : end.end() if end else stop], offset


def _is_supposed(before: str) -> bool:
    sentence = _SENTENCE_BREAK.split(before)[-1]
    supposition = _SUPPOSES.search(sentence)
    return supposition is not None and _TURNED.search(sentence, supposition.end()) is None
