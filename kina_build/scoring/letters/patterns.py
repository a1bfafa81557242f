"""Tables of cue words as regular expressions that stay fast although the tables are long.

A text of a few dozen words holds few of a table's entries. Looking for each entry's first
letters is much cheaper than one alternation of all of them; the alternation of those that
occur is then compiled once and kept.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from functools import lru_cache

OPENERS, CLOSERS = "(\\[{<«“\"'‘‚„「『【〔", ")\\]}>»”\"'’」』】〕"
"""Brackets and quotation marks, to stand inside a character class."""

UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts that write no blanks, or glue particles to a letter: Thai, kana, Han, Hangul."""

SYMBOLS = "\u2600-\u27bf"
"""Check marks, crosses and their kin."""

COMBINATIONS_KEPT = 4096
"""Compiled alternations kept, per kind."""

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
    """A table of cue words between a fixed lead and a fixed tail."""

    def __init__(self, pieces: Iterable[str], *, lead: str = "", tail: str = "") -> None:
        self.lead, self.tail = lead, tail
        self._stems = tuple((stem(piece), piece) for piece in dict.fromkeys(pieces))
        self._ascii = tuple(pair for pair in self._stems if pair[0].isascii())

    def present(self, lowered: str) -> tuple[str, ...]:
        """Return the entries that may occur in a lower-case text."""
        stems = self._ascii if lowered.isascii() else self._stems
        return tuple([piece for start, piece in stems if start in lowered])

    def pattern(self, text: str) -> re.Pattern[str] | None:
        """Return a pattern of the entries that may occur in a text; None if none may."""
        found = self.present(text.lower())
        return _compiled(found, self.lead, self.tail) if found else None

    def search(self, text: str) -> re.Match[str] | None:
        """Find the first cue of a text."""
        pattern = self.pattern(text)
        return pattern.search(text) if pattern else None

    def match(self, text: str) -> re.Match[str] | None:
        """Find a cue at the start of a text."""
        pattern = self.pattern(text)
        return pattern.match(text) if pattern else None

    def last(self, text: str) -> re.Match[str] | None:
        """Find the last cue of a text."""
        pattern = self.pattern(text)
        found = deque(pattern.finditer(text) if pattern else (), maxlen=1)
        return found[0] if found else None


@lru_cache(maxsize=COMBINATIONS_KEPT)
def _compiled(pieces: tuple[str, ...], lead: str, tail: str) -> re.Pattern[str]:
    return re.compile(lead + any_of(pieces) + tail, re.IGNORECASE)
