"""Read what a model wrote when it was asked for JSON: fenced, chatty, cut short or slightly broken.

Whatever cannot be read is reported as missing; nothing is filled in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kina_build.chat.objects import find_objects, written

OUT_OF = re.compile(r"\s*([0-9]{1,9})(?:\.0+)?\s*(?:/\s*4)?\s*")
"""A rating as text: 3, 3.0, 3/4."""

TOP_RATING = 4
HANDLES = ("anchor", "anchor_number", "number", "id", "index")
VALUES = ("rating", "score", "level")
QUOTES = ("evidence", "quote", "quotes")


@dataclass(frozen=True)
class ReadRatings:
    """The ratings found in one reply, by the anchor's number in the prompt."""

    ratings: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Number to (rating 0 to 4, evidence)."""
    faults: dict[int, str] = field(default_factory=dict)
    """Number to why its rating is not usable; numbers that nothing was said about are absent."""
    strangers: int = 0
    """Entries for numbers that were not asked about."""


def read_ratings_reply(text: str, asked: int) -> ReadRatings:
    """Read ratings for anchors 1 to `asked`.

    Two different ratings of one anchor are a fault, not a choice; so are ratings outside
    0 to 4, fractions and words.
    """
    read = ReadRatings()
    strangers = 0
    for handle, value, evidence in _entries(text):
        number = _number(handle)
        if number is None or not 1 <= number <= asked:
            strangers += 1
            continue
        rating = read_rating(value)
        if rating is None:
            read.faults[number] = (
                f"rating {written(value)[:20]!r} is not a whole number from 0 to {TOP_RATING}"
            )
        elif read.ratings.setdefault(number, (rating, evidence))[0] != rating:
            read.faults[number] = "rated twice, differently"
    good = {number: found for number, found in read.ratings.items() if number not in read.faults}
    return ReadRatings(good, read.faults, strangers)


def read_rating(value: Any) -> int | None:
    """Read one rating, 0 to 4; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        value = int(value) if value.is_integer() else None
    elif isinstance(value, str):
        match = OUT_OF.fullmatch(value)
        value = int(match[1]) if match else None
    return value if isinstance(value, int) and 0 <= value <= TOP_RATING else None


def _entries(text: str) -> Iterator[tuple[Any, Any, str]]:
    """Yield (handle, rating, evidence) of everything in a reply that looks like a rating."""
    waiting: list[Any] = list(find_objects(text))[::-1]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(value[::-1])
        elif isinstance(value, dict) and _first(value, HANDLES) is not None and _has(value, VALUES):
            yield _first(value, HANDLES), _first(value, VALUES), _text(_first(value, QUOTES))
        elif isinstance(value, dict):
            for key, inner in value.items():
                if _number(key) is None:
                    waiting.append(inner)
                elif isinstance(inner, dict):
                    yield key, _first(inner, VALUES), _text(_first(inner, QUOTES))
                else:
                    yield key, inner, ""


def _has(value: dict[str, Any], names: tuple[str, ...]) -> bool:
    return any(name in value for name in names)


def _first(value: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((value[name] for name in names if name in value), None)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " ... ".join(map(written, value))
    return "" if value is None else written(value)


def _number(handle: Any) -> int | None:
    if isinstance(handle, int) and not isinstance(handle, bool):
        return handle
    match = re.fullmatch(r"\s*(?:anchor\s*)?#?([0-9]{1,4})\s*", written(handle), re.IGNORECASE)
    return int(match[1]) if match else None
