"""The letters of the options: keys spread evenly over them, the other options in a drawn order.

Options that speak of the others together stay where they stand, and so does a text that stands
last all over the pool. Letters that name options follow them; where it is not certain that they
do, the item keeps its order. So does an item of the release before this one. All these are
counted first, and the keys that may move make the count as even as it can be, per split and
number of options.

Who knows the seed must not find private keys. A balanced draw therefore rests on a secret that
only the keys themselves make (`make_secret`); where so few keys are private that they could be
tried out, each item is ordered by its texts alone, which tells nothing of its key.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kina_build.items.model import LETTERS, Item, Option
from kina_build.items.wordings import PINNED
from kina_build.release.lettering.balance import balance_letters
from kina_build.release.lettering.references import find_doubt, rename
from kina_build.release.splits import draw
from kina_build.rows.jsonl import canonical


@dataclass(frozen=True)
class Lettering:
    """One item with its exported letters."""

    item: Item
    kept: str = ""
    """Why the order was left as it is; empty where it was drawn."""
    rewritten: bool = False
    """A letter was carried along in a text."""


def make_secret(items: Iterable[Item]) -> str:
    """Make the secret of a draw: nobody makes it who lacks one of the questions or keys."""
    total = hashlib.sha256(b"kina-build evidence")
    for item in sorted(items, key=lambda item: item.item_id):
        options = [[option.key, option.answer] for option in item.options]
        told = [item.item_id, item.question, options, item.correct_answer, item.explanation]
        total.update(canonical(told).encode() + b"\n")
    return total.hexdigest()


def letter_items(
    items: Sequence[Item],
    *,
    seed: int,
    secret: str,
    balanced: bool = True,
    earlier: Mapping[str, Sequence[str]] | None = None,
    last: frozenset[str] = frozenset(),
) -> list[Lettering]:
    """Order the options of one split's items, keys balanced over the letters.

    Args:
        items: of one split, each with at most 26 options.
        seed: of the draws; 0 is a seed like any other.
        secret: of the draws: not to be made from what is published.
        balanced: False orders each item by its texts alone.
        earlier: option texts of items of the release before this one, in its order.
        last: texts that stay last where they stand last (find_last_texts).
    """
    reasons = {item.item_id: find_doubt(item) for item in items}
    orders: dict[str, list[int]] = {}
    for item in items:
        if reasons[item.item_id]:
            orders[item.item_id] = list(range(len(item.options)))
        elif (order := _order_as(item, (earlier or {}).get(item.item_id, ()))) is not None:
            orders[item.item_id] = order
        elif not balanced or _names_letters(item):  # whose texts change with its letters: stable by itself
            orders[item.item_id] = draw_order(item, seed, last=last)
    groups: dict[int, list[Item]] = defaultdict(list)
    for item in items:
        groups[len(item.options)].append(item)
    for size, group in groups.items():
        orders |= _balance(group, size, orders, seed=seed, secret=secret, last=last)
    return [assign_letters(item, orders[item.item_id], reasons[item.item_id]) for item in items]


def assign_letters(item: Item, order: Sequence[int], kept: str = "") -> Lettering:
    """Letter an item's options from A in a given order; the key follows its text.

    Args:
        item: with at most 26 options.
        order: the old place that goes to each new place.
        kept: why the order was left as it is.
    """
    renamed = {item.options[old].key: LETTERS[new] for new, old in enumerate(order)}
    changed = {
        "options": [_letter(item.options[old], LETTERS[new], renamed) for new, old in enumerate(order)],
        "correct_answer": "".join(sorted(renamed.get(key, key) for key in item.right_keys))
        or item.correct_answer,
        "explanation": item.explanation and rename(item.explanation, renamed),
    }
    # checked as a whole: that takes a fraction of what ten copies of options take
    lettered = Item.model_validate({**item.__dict__, **changed})
    return Lettering(lettered, kept, _texts(lettered) != _texts(item))


def keep_letters(item: Item) -> Lettering:
    """Letter an item's options from A in the order they have."""
    return assign_letters(item, range(len(item.options)), "not asked for")


def draw_order(
    item: Item,
    seed: int,
    secret: str = "",
    key_place: int | None = None,
    last: frozenset[str] = frozenset(),
) -> list[int]:
    """Draw the old place that goes to each new place; pinned options keep theirs.

    Options are ordered by a hash of their text, not of their old place: who knows the seed
    learns nothing of where an author wrote the right one.

    Args:
        item: any.
        seed: of the draw.
        secret: of the draw.
        key_place: where the right option goes; None draws that too.
        last: texts that stay last where they stand last (find_last_texts).
    """
    fixed = _pinned(item, last)
    if key_place is not None:
        fixed[key_place] = _key_of(item)
    taken = set(fixed.values())
    free = [n for n in range(len(item.options)) if n not in taken]
    free.sort(key=lambda n: (draw(seed, "letters", secret, item.item_id, item.options[n].answer), n))
    drawn = iter(free)
    return [fixed[n] if n in fixed else next(drawn) for n in range(len(item.options))]


def _balance(
    group: Sequence[Item],
    size: int,
    orders: Mapping[str, Sequence[int]],
    *,
    seed: int,
    secret: str,
    last: frozenset[str],
) -> dict[str, list[int]]:
    """Order those items of one number of options that have no order yet."""
    frozen, movable = [], []
    for item in group:
        key = _key_of(item)
        if item.item_id in orders:
            frozen.append(orders[item.item_id].index(key) if key >= 0 else key)
        elif key < 0 or key in _pinned(item, last):
            frozen.append(key)
        else:
            pinned = _pinned(item, last)
            movable.append((item.item_id, [n for n in range(size) if n not in pinned]))
    movable.sort(key=lambda one: (draw(seed, "letters", secret, one[0]), one[0]))
    tie = {n: draw(seed, "letters", secret, "place", str(size), str(n)) for n in range(size)}
    placed = balance_letters(movable, [key for key in frozen if key >= 0], tie)
    return {
        item.item_id: draw_order(item, seed, secret, placed.get(item.item_id), last)
        for item in group
        if item.item_id not in orders
    }


def _order_as(item: Item, texts: Sequence[str]) -> list[int] | None:
    """Return the order that gives an item's options an earlier order; None where they differ."""
    answers = [option.answer for option in item.options]
    if not texts or sorted(texts) != sorted(answers) or len(set(answers)) < len(answers):
        return None
    return [answers.index(text) for text in texts]


def _names_letters(item: Item) -> bool:
    shifted = dict(zip(LETTERS, LETTERS[1:] + LETTERS[:1], strict=True))
    return any(rename(option.answer, shifted) != option.answer for option in item.options)


def _pinned(item: Item, last: frozenset[str]) -> dict[int, int]:
    pinned = {n: n for n, option in enumerate(item.options) if PINNED.fullmatch(option.answer)}
    if item.options and item.options[-1].answer.strip() in last:
        pinned[len(item.options) - 1] = len(item.options) - 1
    return pinned


def _key_of(item: Item) -> int:
    """Return the place of the right option; -1 where the key names none."""
    return next((n for n, option in enumerate(item.options) if option.key == item.correct_answer), -1)


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
