"""Letters of right options, as balanced as the items that may move allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence


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
