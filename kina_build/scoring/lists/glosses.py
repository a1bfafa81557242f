"""What a list entry may name: the whole of it, or what stands before or inside its gloss."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_AROUND = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\"'“”‘’«»„*_`~"
"""Signs that are no part of a name where they stand around it: blanks, quotes, emphasis."""

_BOLD = re.compile(r"\s*(?:\*\*|__)(?P<name>[^*_\n]{1,200})(?:\*\*|__)\s*(?P<gloss>.*)", re.DOTALL)
_DASHED = re.compile(r"\s+[-–—―−→]+>?\s+|\s*[:：=]\s+|(?<=[^\W\d])：|\s+\.\.\.\s+")
_BRACKET = re.compile(
    r"^(?P<name>[^()（）\[\]]*[^()（）\[\]\s])\s*[（(\[](?P<gloss>[^()（）\[\]]*)[)）\]]\.?$"
)
_LINK = re.compile(r"!?\[([^\[\]]{1,300})\]\([^()\s]{1,500}\)")

LONGEST_ENTRY = 2_000
"""Characters of an entry that may name something and explain it; a longer one is prose."""

Known = Callable[[str], bool]
"""Tells whether a text is a name of the question."""


def bare(name: str) -> str:
    """Return a name without blanks, quotes and emphasis around it."""
    return name.strip(_AROUND)


def drop_links(text: str) -> str:
    """Write the text of Markdown links in their place."""
    return _LINK.sub(r"\1", text) if "](" in text else text


def readings(entry: str) -> Iterator[tuple[str, str]]:
    """Yield (rule, reading) of an entry, the whole of it first."""
    whole = bare(entry.replace("**", "").replace("__", ""))
    yield "whole", whole
    if len(whole) <= LONGEST_ENTRY:
        yield from _explained(entry, whole)


def _explained(entry: str, whole: str) -> Iterator[tuple[str, str]]:
    bold = _BOLD.match(entry)
    if bold:
        yield "bold", bare(bold["name"]).rstrip(":： ")
    head = _DASHED.split(whole, maxsplit=1)[0]
    if head != whole:
        yield "before gloss", bare(head)
    for text in dict.fromkeys((whole, head.strip())):
        bracket = _BRACKET.match(text)
        if bracket:
            yield "before bracket", bare(bracket["name"])
            yield "inside bracket", bare(bracket["gloss"])
    for text in (whole, head):
        if text.endswith((".", "。")):
            yield "without full stop", bare(text.rstrip(".。"))
    if "," in whole:
        yield "before comma", bare(whole.partition(",")[0])


def resolve(entry: str, known: Known, *, cut: bool = True) -> tuple[str, str]:
    """Return (rule, name) of the first reading that is a name of the question.

    Args:
        entry: a line of a list, a cell, or a piece of a sentence.
        known: tells the names of the question.
        cut: where no reading is known, take what stands before a dash or colon; else the whole.
    """
    listed = list(readings(entry))
    for rule, reading in listed:
        if reading and known(reading):
            return rule, reading
    by_rule = dict(reversed(listed))
    name = (by_rule.get("bold") or by_rule.get("before gloss")) if cut else None
    return "unresolved", name or by_rule["whole"]
