"""Cuts at the signs that part names in a line: marks of an enumeration, delimiters outside brackets."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from functools import cache

from kina_build.scoring.lists.glosses import Known, bare

HARD = "\n;；؛、|"
COMMAS = ",，،"
_GROUPS = re.compile(r"\d{1,3}(?:,\d{3})+(?![\d])")
OPENED, CLOSED = "([{（［【「『《〈", ")]}）］】」』》〉"
INLINE_MARKS = re.compile(
    r"(?:(?<=\s)|(?<=[,;，；、。（(])|^)(?:\(?\d{1,3}\s?[.)．）](?=\s|[^\W\d])|[(（]\d{1,3}[)）]|\(?[a-zа-я]\)(?=\s)|\((?:[ivx]{1,5}|[a-z])\))"
    r"|[①-⑳❶-❿➀-➉]"
)
"""Marks of an enumeration inside one line: "1. Gauss 2. Euler", "(a) x, (b) y", "①赵②钱"."""

_MARK_HINT = re.compile(r"[\d)）①-⑳❶-❿➀-➉]")
"""A sign that every mark inside a line has."""
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_LETTERS = re.compile(r"(?:(?<=\s)|^)(?P<mark>[A-Za-z])[.)]\s+")
_ORDINALS = re.compile(
    rf"(?:(?<=[.;,]\s)|^)(?:and )?(?P<mark>{'|'.join(ORDINALS)})(?:ly)?[,:]?\s+", re.IGNORECASE
)
LEAST_MARKS = 3
"""Marks in order that make an enumeration: two may be initials."""


def cut_at_marks(text: str) -> list[str] | None:
    """Cut "1. Gauss 2. Euler" at its marks."""
    marks = list(INLINE_MARKS.finditer(text)) if _MARK_HINT.search(text) else []
    if len(marks) < 2 or not _counts(marks):
        marks = _in_order(text)
    if len(marks) < 2:
        return None
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]


def _counts(marks: Sequence[re.Match[str]]) -> bool:
    """Tell whether marks count up from the first: not in "3. Mai, 4. Mai" or "1. FC Köln, 1. FC Bonn"."""
    number = re.search(r"\d+", marks[0][0])
    return marks[0][0] != marks[1][0] and (number is None or int(number[0]) <= 1)


def _in_order(text: str) -> list[re.Match[str]]:
    """Return marks that count from the first, at the start: "A. x B. y C. z", "First, x. Second, y"."""
    for pattern, order in ((_LETTERS, string.ascii_lowercase), (_ORDINALS, ORDINALS)):
        if not pattern.match(text):
            continue
        marks: list[re.Match[str]] = []
        for mark in pattern.finditer(text):
            if len(marks) < len(order) and mark["mark"].lower() == order[len(marks)]:
                marks.append(mark)
        if len(marks) >= LEAST_MARKS and not text[: marks[0].start()].strip():
            return marks
    return []


def cut(text: str, delimiters: str) -> Iterator[str]:
    """Yield the parts between delimiters that stand outside brackets and not inside a number."""
    if not any(map(text.__contains__, delimiters)):
        yield text
        return
    held = _commas_of_numbers(text) if "," in delimiters else frozenset()
    depth = start = 0
    for found in signs_of(delimiters).finditer(text):
        place, sign = found.start(), found[0]
        if sign in OPENED:
            depth += 1
        elif sign in CLOSED:
            depth = max(0, depth - 1)
        elif (depth == 0 or sign == "\n") and place not in held:
            depth = 0
            yield text[start:place]
            start = place + 1
    yield text[start:]


@cache
def signs_of(delimiters: str) -> re.Pattern[str]:
    """Return a pattern of delimiters and brackets."""
    return re.compile(f"[{re.escape(delimiters + OPENED + CLOSED)}]")


def _commas_of_numbers(text: str) -> frozenset[int]:
    """Return the places of the commas of "3,000"; "1,2,000" is a list."""
    groups = [m.span() for m in _GROUPS.finditer(text) if text[m.start() - 1 : m.start()] != ","]
    return frozenset(place for start, end in groups for place in range(start, end) if text[place] == ",")


def rejoin(pieces: Sequence[str], known: Known, longest: int = 4) -> list[str]:
    """Put names that hold commas together again, the longest first."""
    joined: list[str] = []
    place = 0
    while place < len(pieces):
        reach = min(longest, len(pieces) - place) if known.may_open(pieces[place]) else 0
        for length in range(reach, 1, -1):
            name = ",".join(pieces[place : place + length])
            if known(plain := bare(name)) or (plain.endswith(".") and known(plain.rstrip("."))):
                joined.append(name)
                place += length
                break
        else:
            joined.append(pieces[place])
            place += 1
    return joined
