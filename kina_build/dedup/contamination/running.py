"""Running text in blocks that overlap, without markup, whatever its length."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from kina_build.dedup.contamination.packed import Tally

BLOCK_CHARS = 1 << 18
"""Characters of running text looked through at once."""
OVERLAP_CHARS = 1 << 14
"""Characters of a block that are looked through again with the next one: no question is longer."""
TAG = re.compile(
    r"<(?:script|style)\b.*?</(?:script|style)\s*>|<!--.*?-->|</?[a-z!][^<>]*>", re.DOTALL | re.IGNORECASE
)
"""Matches "<b>", "</p>" and a whole script, not "a < b"."""
LINK = re.compile(r"\]\([^()\s]*\)")
"""Matches the "](page.html)" of a link in Markdown, not "f(x)"."""


@dataclass(frozen=True)
class Text:
    """One text of a corpus."""

    place: str
    """The file, by its path in the corpus; empty where that is one file; an id where `line` is 0."""
    line: int
    """Its row; of running text the line on which it begins; 0 where `place` says all."""
    text: str
    running: bool = False
    """Whether lines are counted on through the text."""

    def at(self, offset: int) -> str:
        """Name the place of a character of the text."""
        if not self.line:
            return self.place
        number = self.line + (self.text.count("\n", 0, offset) if self.running else 0)
        if self.place:
            return f"{self.place}:{number}"
        return f"{'line' if self.running else 'row'} {number}"


ESCAPE = re.compile(r"\\(\\|[nrt]|u[0-9a-fA-F]{4})")
r"""Matches the "\n" and the "\u00e9" of JSON's text, and "\\" as one, so that the "n" of "\\nu" stays."""


def running(
    lines: Readable, place: str, tally: Tally, *, marked: bool = False, escaped: bool = False
) -> Iterator[Text]:
    """Read running text block by block, each with the end of the one before."""
    kept, line, any_text = "", 1, False
    while block := lines.read(BLOCK_CHARS):
        text = kept + block
        any_text = any_text or bool(block.strip())
        yield Text(place, line, _clean(text, marked=marked, escaped=escaped), running=True)
        kept = text[-OVERLAP_CHARS:]
        line += text.count("\n", 0, len(text) - len(kept))
    tally.texts += any_text
    tally.unread += not any_text


def _clean(text: str, *, marked: bool, escaped: bool) -> str:
    """Take tags, links and escapes out; line ends stay, so that lines can be counted."""
    if marked:
        text = TAG.sub(lambda tag: "\n" * tag.group().count("\n"), LINK.sub("]", text))
        return html.unescape(text)
    return unescaped(text) if escaped else text


def unescaped(text: str) -> str:
    """Write out the escapes of a JSON string, also where the string is torn."""

    def written(escape: re.Match[str]) -> str:
        sign = escape.group(1)
        return chr(int(sign[1:], 16)) if len(sign) > 1 else "\\" if sign == "\\" else " "

    return ESCAPE.sub(written, text) if "\\" in text else text


class Readable(Protocol):
    """What gives characters."""

    def read(self, count: int, /) -> str:
        """Return up to so many, none at the end."""
