"""The letters of right options: as balanced as the items allow, counted, and tested against chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kina_build.config import ItemRules
from kina_build.items.checking.rule import Fault
from kina_build.items.cues import add_tallies, measure_balance, tally
from kina_build.items.model import LETTERS, Item, Option
from kina_build.items.wordings import PINNED
from kina_build.release.splits import TEST


def balance_letters(
    movable: Sequence[tuple[str, Sequence[int]]], frozen: Iterable[int], tie: Mapping[int, int]
) -> dict[str, int]:
    """Give each item that may move a place for its key, so that all places come out as even as can be.

    The places that are left to fill make a balanced multiset, the frozen keys counted first;
    it is dealt out in the order of the items, which is a seeded permutation. Items that may
    not stand everywhere are moved along chains until no chain from a fuller place to an
    emptier one is left.

    Args:
        movable: item_id and the places its key may take, in drawn order.
        frozen: places of the keys that stay.
        tie: which of equally full places comes first.

    Returns:
        The place of each item's key.
    """
    counts = Counter(frozen)
    placed: dict[str, int] = {}
    for item_id, places in sorted(movable, key=lambda one: len(one[1])):
        best = min(places, key=lambda place: (counts[place], tie[place]))
        placed[item_id] = best
        counts[best] += 1
    restricted = {item_id: places for item_id, places in movable if len(places) < len(tie)}
    while restricted and (chain := _find_chain(placed, dict(movable), counts)):
        for item_id, place in chain:
            counts[placed[item_id]] -= 1
            counts[place] += 1
            placed[item_id] = place
    return _deal(placed, [item_id for item_id, places in movable if len(places) == len(tie)])


def _find_chain(
    placed: Mapping[str, int], allowed: Mapping[str, Sequence[int]], counts: Mapping[int, int]
) -> list[tuple[str, int]]:
    """Find moves of one item each that take one key from a full place to one emptier by two or more."""
    steps: dict[tuple[int, int], str] = {}
    for item_id, place in placed.items():
        for other in allowed[item_id]:
            steps.setdefault((place, other), item_id)
    for start in sorted(set(placed.values()), key=lambda place: -counts[place]):
        came: dict[int, tuple[int, str] | None] = {start: None}
        edge = [start]
        while edge:
            place = edge.pop(0)
            if counts[place] <= counts[start] - 2:
                return _trace(came, place)
            for (one, other), item_id in steps.items():
                if one == place and other not in came:
                    came[other] = (place, item_id)
                    edge.append(other)
    return []


def _trace(came: Mapping[int, tuple[int, str] | None], place: int) -> list[tuple[str, int]]:
    moves = []
    while (step := came[place]) is not None:
        moves.append((step[1], place))
        place = step[0]
    return moves


def _deal(placed: Mapping[str, int], free: Sequence[str]) -> dict[str, int]:
    """Deal the places of the freely movable items out anew, in drawn order: no rhythm stays in them."""
    return dict(placed) | dict(zip(free, sorted(placed[one] for one in free), strict=True))


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
