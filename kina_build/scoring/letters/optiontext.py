"""Answers given in words: which option's text does a reply state?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kina_build.items.text import fold_option
from kina_build.scoring.letters.clean import plain

_EDGE = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\"'“”‘’.,:;!?()[]{}…"
"""Signs that are no part of an option's text where they stand around it."""
_LEADIN = r"(?:it|this|that|(?:the )?answer)(?:'s| is| was)\s+|(?:the|an?|la|le|el|die|der|das)\s+"
_BEFORE = re.compile(rf"^(?:{_LEADIN}|[{re.escape(_EDGE)}]+)+", re.IGNORECASE)
"""Matches "the answer is the ", not "other"."""
_DENIED = re.compile(
    r"\b(?:not|neither|nor|isn't|wrong|incorrect|except|nicht|pas|no)\b|不|не\b", re.IGNORECASE
)


def name_option(text: str, options: Sequence[str], *, whole: bool = False) -> int | None:
    """Return the place of the one option whose text a passage states, or None.

    Args:
        text: a cleaned passage.
        options: the option texts in order.
        whole: the passage must be that text and nothing else.
    """
    said = _folded(text)
    texts = [_folded(plain(option)) for option in options]
    exact = [place for place, option in enumerate(texts) if option and option == said]
    if len(exact) == 1:
        return exact[0]
    if whole or exact or _DENIED.search(said):
        return None
    inside = [place for place, option in enumerate(texts) if len(option) > 1 and _stands_in(option, said)]
    longest = [p for p in inside if not any(q != p and texts[p] in texts[q] for q in inside)]
    return longest[0] if len(longest) == 1 else None


def _folded(text: str) -> str:
    return _BEFORE.sub("", fold_option(text).casefold()).rstrip(_EDGE)


def _stands_in(option: str, said: str) -> bool:
    start = said.find(option)
    while start >= 0:
        end = start + len(option)
        if not said[max(0, start - 1) : start].isalnum() and not said[end : end + 1].isalnum():
            return True
        start = said.find(option, start + 1)
    return False
