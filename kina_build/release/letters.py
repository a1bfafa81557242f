"""The letters of the options: a seeded permutation an item, its key carried along.

An item's order depends on the seed, its id and its options alone. Options that speak of
the others together stay where they stand, and so does a text that stands last all over
the pool. Letters that name options follow them; where it is not certain that they do, the
item keeps its order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kina_build.items.model import LETTERS, Item, Option
from kina_build.items.wordings import PINNED
from kina_build.release.draw import draw
from kina_build.release.references import find_doubt, rename


@dataclass(frozen=True)
class Lettering:
    """One item with its exported letters."""

    item: Item
    kept: str = ""
    """Why the order was left as it is; empty where it was drawn."""
    rewritten: bool = False
    """A letter was carried along in a text."""


def assign_letters(
    item: Item, *, seed: int, shuffle: bool = True, last: frozenset[str] = frozenset()
) -> Lettering:
    """Order an item's options by keyed hash and letter them from A; the key follows its text.

    Args:
        item: with at most 26 options.
        seed: of the draw; 0 is a seed like any other.
        shuffle: False leaves the order as it is and only letters it from A.
        last: texts that stay last where they stand last (find_last_texts).
    """
    reason = find_doubt(item) if shuffle else "not asked for"
    order = list(range(len(item.options))) if reason else draw_order(item, seed, last)
    renamed = {item.options[old].key: LETTERS[new] for new, old in enumerate(order)}
    changed = {
        "options": [_letter(item.options[old], LETTERS[new], renamed) for new, old in enumerate(order)],
        "correct_answer": renamed.get(item.correct_answer, item.correct_answer),
        "explanation": item.explanation and rename(item.explanation, renamed),
    }
    # checked as a whole: that takes a fraction of what ten copies of options take
    lettered = Item.model_validate({**item.__dict__, **changed})
    return Lettering(lettered, reason, _texts(lettered) != _texts(item))


def draw_order(item: Item, seed: int, last: frozenset[str] = frozenset()) -> list[int]:
    """Draw the old place that goes to each new place; pinned options keep theirs.

    Options are ordered by a hash of their text, not of their old place: who knows the seed
    learns nothing of where an author wrote the right one.
    """
    pinned = {n for n, option in enumerate(item.options) if PINNED.fullmatch(option.answer)}
    if item.options and item.options[-1].answer.strip() in last:
        pinned.add(len(item.options) - 1)
    free = [n for n in range(len(item.options)) if n not in pinned]
    free.sort(key=lambda n: (draw(seed, "letters", item.item_id, item.options[n].answer), n))
    drawn = iter(free)
    return [n if n in pinned else next(drawn) for n in range(len(item.options))]


def _texts(item: Item) -> list[str]:
    """Return all texts that may name letters, in no order of options."""
    texts = [item.explanation or ""]
    for option in item.options:
        texts.append(option.answer)
        if option.explanation:
            texts.append(option.explanation)
    return sorted(texts)


def _letter(option: Option, key: str, renamed: Mapping[str, str]) -> dict[str, str | None]:
    return {
        "key": key,
        "answer": rename(option.answer, renamed),
        "explanation": option.explanation and rename(option.explanation, renamed),
        "source": option.source,
    }
