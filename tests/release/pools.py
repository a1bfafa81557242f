"""Small pools for the stories of releases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kina_build.items.model import LETTERS, Item, Option


def make(item_id: str, options: Sequence[str], key: str = "A", question: str = "Which?", **more: Any) -> Item:
    keyed = tuple(Option(key=k, answer=text) for k, text in zip(LETTERS, options, strict=False))
    more = {"license": "CC0-1.0", "question_source": "own"} | more
    return Item(item_id=item_id, question=question, options=keyed, correct_answer=key, **more)


def spread(count: int, options: int = 4) -> list[Item]:
    """Make items that pass every gate."""
    return [
        make(f"i{n}", [f"{n} and {k}" for k in range(options)], LETTERS[n % options], f"What is {n}?")
        for n in range(count)
    ]
