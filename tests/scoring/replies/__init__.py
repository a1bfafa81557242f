"""Replies written for this project, each with the reading a careful person takes from its text.

See README.md beside this module: the open part is for work, the sealed part is scored once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, get_args

HERE = Path(__file__).parent
PARTS = 3
"""One part in so many is sealed."""

Part = Literal["open", "sealed"]
Status = Literal[
    "ok",
    "multiple",
    "conflict",
    "ambiguous",
    "refused",
    "empty",
    "reasoning_only",
    "truncated",
    "out_of_range",
    "unreadable",
]
ListStatus = Literal["ok", "refused", "empty", "unparsed"]


@dataclass(frozen=True)
class LetterCase:
    """A reply to a question with lettered options, and the letter it answers with."""

    id: str
    kind: str
    language: str
    question_form: str
    """``which``, or ``not`` where the question asks for what does not hold."""
    n_options: int
    reply: str
    letter: str | None
    status: Status
    """``ok`` with a letter; without one, what keeps a careful reader from naming it."""
    options: tuple[str, ...] | None = None
    finish_reason: str | None = None
    """What the endpoint says of the end, where it says something."""
    several: bool = False
    """More than one option is right: the letters of all that are chosen, in order."""


@dataclass(frozen=True)
class ListCase:
    """A reply that is to name all members of a set, and how many names it holds."""

    id: str
    kind: str
    language: str
    gold: tuple[str | tuple[str, ...], ...]
    """A tuple in it is one gold with its other names."""
    response: str
    predicted: tuple[int, ...]
    """How many names the reply holds; several numbers where more than one count is right."""
    matched: int
    """How many golds these names meet by rules alone."""
    status: ListStatus


def load(part: Part) -> list[LetterCase]:
    """Read one part of the replies to lettered questions."""
    return [_letter_case(row) for row in _rows("letters.jsonl") if part_of(row["id"]) == part]


def load_lists(part: Part) -> list[ListCase]:
    """Read one part of the replies that name the members of a set."""
    return [_list_case(row) for row in _rows("lists.jsonl") if part_of(row["id"]) == part]


def load_fresh() -> tuple[list[LetterCase], list[ListCase]]:
    """Read the second set: written after the rules, decided before they were run on it, open since then."""
    letters = [_letter_case(row) for row in _rows("fresh_letters.jsonl")]
    return letters, [_list_case(row) for row in _rows("fresh_lists.jsonl")]


def part_of(case_id: str) -> Part:
    """Tell which part a case belongs to, by nothing but its id."""
    digest = int(sha256(case_id.encode()).hexdigest(), 16)
    return "sealed" if digest % PARTS == 0 else "open"


def statuses() -> tuple[str, ...]:
    """Name every status a letter case may have."""
    return get_args(Status)


def _rows(name: str) -> list[dict[str, Any]]:
    text = (HERE / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def _letter_case(row: dict[str, Any]) -> LetterCase:
    options = row.get("options")
    return LetterCase(**{**row, "options": None if options is None else tuple(options)})


def _list_case(row: dict[str, Any]) -> ListCase:
    gold = tuple(tuple(name) if isinstance(name, list) else name for name in row["gold"])
    predicted = row["predicted"] if isinstance(row["predicted"], list) else [row["predicted"]]
    return ListCase(**{**row, "gold": gold, "predicted": tuple(predicted)})
