"""From a reply to the list of names it gives: the first rule that fits, nothing split inside a name."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from kina_build.chat.objects import read_value, written
from kina_build.scoring.letters.clean import drop_reasoning
from kina_build.scoring.universe.normalise import tier_one

_FENCE = re.compile(r"```[\w-]*\n(.*?)```", re.DOTALL)
_BULLET = re.compile(
    r"\s*(?:[-*–—](?=\s)|[•‣▪●○◦·]|\(?\d{1,4}\s?[.)．）:、。-]|[#]\d{1,4}[.:)]?)\s*(?=\S)(.+)"
)
_HARD = "\n;；؛、|"
_COMMAS = ",，،"
_OPEN, _CLOSE = "([{（［【「『《〈", ")]}）］】」』》〉"
_AROUND = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\"'“”‘’«»„*_`"
"""Signs that are no part of a name where they stand around it: blanks, quotes, emphasis."""


def parse_names(response: str, language: str | None = None, known: Collection[str] = ()) -> list[str]:
    """List the names of a reply in its order, repeats included.

    Rules: a JSON list; bulleted or numbered lines; newlines, semicolons, the ideographic
    comma or bars; commas. Brackets and numbers are never cut through. "・" joins a name.

    Args:
        response: the raw reply; closed reasoning blocks are dropped.
        language: code, for "and" before the last name.
        known: names that may hold a comma or an "and" themselves, such as the golds.
    """
    text = drop_reasoning(response)[0].strip()
    text = _fenced(text)
    names = _json_names(text)
    if names is None:
        names = _bulleted(text) or _delimited(text, language, {tier_one(name) for name in known})
    return [name for name in map(_bare, names) if name]


def _fenced(text: str) -> str:
    block = _FENCE.search(text)
    return block[1].strip() if block else text


def _json_names(text: str) -> list[str] | None:
    start = text.find("[")
    if start < 0 or text[:start].strip().endswith(("]", ",")):
        return None
    candidates = (text, text[start : text.rfind("]") + 1])
    for candidate in candidates:
        value = read_value(candidate)
        if isinstance(value, dict):
            value = next((part for part in value.values() if isinstance(part, list)), None)
        if isinstance(value, list):
            return [_text(part) for part in value]
    return None


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return written(next(iter(value.values()), ""))
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return ""


def _bulleted(text: str) -> list[str]:
    """Return the bulleted lines; none unless two or all lines carry a mark."""
    lines = [line for line in text.split("\n") if line.strip()]
    marked = [match[1] for line in lines if (match := _BULLET.fullmatch(line)) is not None]
    return marked if len(marked) >= 2 or len(marked) == len(lines) else []


def _delimited(text: str, language: str | None, known: set[str]) -> list[str]:
    if tier_one(text) in known:
        return [text]
    pieces = list(_cut(text, _HARD))
    if len(pieces) > 1:
        heading = "\n" in text and pieces[0].rstrip().endswith((":", "："))
        return pieces[1:] if heading else pieces
    return _split_last(_rejoin(list(_cut(text, _COMMAS)), known), language, known)


def _cut(text: str, delimiters: str) -> Iterator[str]:
    """Yield the parts between delimiters that stand outside brackets and not between digits."""
    depth = start = 0
    for place, sign in enumerate(text):
        if sign in _OPEN:
            depth += 1
        elif sign in _CLOSE:
            depth = max(0, depth - 1)
        elif sign in delimiters and (depth == 0 or sign == "\n") and not _in_number(text, place):
            depth = 0
            yield text[start:place]
            start = place + 1
    yield text[start:]


def _in_number(text: str, place: int) -> bool:
    return (
        text[place] in ",،"
        and 0 < place < len(text) - 1
        and text[place - 1].isdigit()
        and text[place + 1].isdigit()
    )


def _rejoin(pieces: list[str], known: set[str]) -> list[str]:
    """Put names that hold commas together again, the longest first."""
    commas = max((name.count(",") for name in known), default=0)
    heads = {name.partition(",")[0].strip() for name in known if "," in name}
    joined: list[str] = []
    place = 0
    while place < len(pieces):
        longest = commas + 1 if tier_one(pieces[place]) in heads else 1
        for length in range(min(longest, len(pieces) - place), 1, -1):
            name = ",".join(pieces[place : place + length])
            if tier_one(name) in known:
                joined.append(name)
                place += length
                break
        else:
            joined.append(pieces[place])
            place += 1
    return joined


def _split_last(pieces: list[str], language: str | None, known: set[str]) -> list[str]:
    """Cut "B and C" at the end of a list of at least two."""
    last = pieces[-1].strip().removesuffix(".")
    word = conjunction(language or "en")
    if len(pieces) < 2 or not word or tier_one(last) in known:
        return pieces
    if last.casefold().startswith(word):
        return [*pieces[:-1], last[len(word) :]]
    before, found, after = last.rpartition(f" {word}")
    return [*pieces[:-1], before, after] if found and before.strip() else pieces


@cache
def conjunction(language: str) -> str:
    """Return the word between the last two members of a list, by CLDR; empty where there is none."""
    from babel import Locale, UnknownLocaleError

    try:
        pattern = Locale.parse(language.replace("-", "_")).list_patterns["standard"]["end"]
    except (UnknownLocaleError, ValueError, KeyError):
        return ""
    word = pattern.replace("{0}", "").replace("{1}", "").strip("،,、， ")
    return f"{word} " if word and pattern.endswith(f"{word} {{1}}") else word


def _bare(name: str) -> str:
    return name.strip(_AROUND)
