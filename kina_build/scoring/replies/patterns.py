"""Tables of cue words as regular expressions that stay fast although the tables are long.

A text of a few dozen words holds few of a table's entries. Looking for each entry's first
letters and matching only the entries that may occur is much cheaper than trying one
alternation of all of them at every place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

OPENERS, CLOSERS = "(\\[{<«“\"'‘‚„「『【〔", ")\\]}>»”\"'’」』】〕"
"""Brackets and quotation marks, to stand inside a character class."""

UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts that write no blanks, or glue particles to a letter: Thai, kana, Han, Hangul."""

SYMBOLS = "\u2600-\u27bf"
"""Check marks, crosses and their kin."""

_BARE = re.compile(f"[{UNSPACED}{SYMBOLS}]")
_REGEX_SIGN = re.compile(r"[\\\[?(]")


def listed(text: str) -> tuple[str, ...]:
    """Split a table of entries parted by "·", each on any line."""
    return tuple(entry for part in text.split("·") if (entry := " ".join(part.split())))


def any_of(pieces: Iterable[str]) -> str:
    """Join pieces into one group, longest first, with word boundaries where the script has words."""
    ordered = sorted(set(pieces), key=lambda piece: (-len(piece), piece))
    bounded = [piece if _BARE.search(piece) else rf"(?<!\w){piece}(?!\w)" for piece in ordered]
    return "(?:" + "|".join(bounded) + ")"


def stem(piece: str) -> str:
    """Return the plain letters a piece begins with: what a text must hold for it to match."""
    cut = _REGEX_SIGN.search(piece)
    if cut is None:
        return piece.lower()
    # "colou?r": the letter before "?" need not be there
    return piece[: cut.start() - (cut[0] == "?")].lower()


class Cues:
    """A table of cue words, each of which must be followed by the same tail."""

    def __init__(self, pieces: Iterable[str], *, tail: str = "") -> None:
        self._tail = re.compile(tail, re.IGNORECASE) if tail else None
        stems = ((stem(piece), piece) for piece in dict.fromkeys(pieces))
        self._stems = tuple(sorted(stems, key=lambda pair: len(pair[0])))
        self._ascii = tuple(pair for pair in self._stems if pair[0].isascii())

    def spans(self, text: str, start: int = 0) -> Iterator[tuple[int, int]]:
        """Yield (start, end of the word) of every cue from a place on, entry by entry."""
        lowered = text[start:].lower()
        for begin, piece in self._ascii if lowered.isascii() else self._stems:
            if len(begin) > len(lowered):
                return  # and the others are longer still
            if begin in lowered:
                for match in _word(piece).finditer(text, start):
                    if self._tail is None or self._tail.match(text, match.end()):
                        yield match.span()

    def occurs(self, text: str) -> bool:
        """Tell whether a text holds a cue."""
        return next(self.spans(text), None) is not None

    def first_end(self, text: str) -> int | None:
        """Return where the first cue ends."""
        return min(self.spans(text), default=(0, None))[1]

    def last_end(self, text: str) -> int | None:
        """Return where the last cue ends."""
        return max(self.spans(text), default=(0, None))[1]


@cache
def _word(piece: str) -> re.Pattern[str]:
    return re.compile(any_of((piece,)), re.IGNORECASE)
