"""The letters of the right options over a release: counted, and tested against chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kina_build.config import ItemRules
from kina_build.items.checking.rule import Fault
from kina_build.items.cues import add_tallies, measure_balance, tally
from kina_build.items.model import LETTERS, Item, Option
from kina_build.items.wordings import PINNED
from kina_build.release.splits import TEST

Located = Iterator[tuple[str, Fault]]
"""Pairs of item_id and fault; "" where the release as a whole is at fault."""


def position_faults(splits: Mapping[str, Sequence[Item]], rules: ItemRules = ItemRules()) -> Located:
    """Test the letters of the right options against chance: over all splits, then test alone.

    Options that are pinned ("none of the above") are not letters that chance could give;
    they are left out, and so are items whose key is one of them.
    """
    keys = {name: tally(filter(None, map(_free, items)), {}) for name, items in splits.items()}
    for name, parts in (("all splits", tuple(splits)), (TEST, (TEST,) if TEST in splits else ())):
        p_value = measure_balance(add_tallies(keys[part] for part in parts)).p_value
        if p_value < rules.balance_p:
            counts = letter_counts(item for part in parts for item in splits[part])
            told = ", ".join(f"{letter} {count}" for letter, count in counts.items())
            message = f"{name}: the keys are at {told} (p = {p_value:.2g})"
            yield "", Fault("key_position", "release", message, {"counts": counts, "p_value": p_value})
            return


def letter_counts(items: Iterable[Item]) -> dict[str, int]:
    """Count the letters of the right options, from A to the last letter any item offers."""
    kept = list(items)
    counts = Counter(item.correct_answer for item in kept)
    offered = max((len(item.options) for item in kept), default=0)
    return {letter: counts[letter] for letter in LETTERS[:offered]}


def _free(item: Item) -> Item | None:
    """Return an item without its pinned options, relettered; None where the key is pinned."""
    free = [option for option in item.options if not PINNED.fullmatch(option.answer)]
    if len(free) == len(item.options):
        return item
    place = next((n for n, option in enumerate(free) if option.key == item.correct_answer), None)
    if place is None:
        return None
    options = tuple(Option(key=key, answer=o.answer) for key, o in zip(LETTERS, free, strict=False))
    return item.model_copy(update={"options": options, "correct_answer": LETTERS[place]})
