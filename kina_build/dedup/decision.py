"""Which of several copies stays: a greedy independent set in one total order.

Every dropped item has a kept item it is a copy of, no two kept items are copies, and the
order of rows plays no part. Components would not do: copies are not transitive, and a
chain A-B-C ends with A and C kept. Order: a person's choice, a key an expert checked,
more provenance (passage, source, licence), complete options, a known difficulty, fewest
copies, smallest id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kina_build.config import DedupRules
from kina_build.items.model import Item

Edge = tuple[str, str]
Graph = Mapping[str, set[str]]


@dataclass(frozen=True)
class Decision:
    """What happens to each item; every item is in exactly one of the three."""

    kept: tuple[str, ...]
    dropped: dict[str, str]
    """Dropped item to the kept item that stands for it."""
    held: dict[str, tuple[str, ...]]
    """Held item to the others of its group."""


def rank_item(item: Item, kept: frozenset[str], rules: DedupRules = DedupRules()) -> tuple[bool | int, ...]:
    """Return an item's place in the order before degree and id; smaller is kept first."""
    texts = [option.answer.strip() for option in item.options]
    complete = all(texts) and len(set(texts)) == len(texts) and item.correct_text is not None
    provenance = sum(map(bool, (item.question_material, item.question_source, item.license)))
    return (
        item.item_id not in kept,
        not any(item.metadata.get(name) for name in rules.checked_fields),
        -provenance,
        not complete,
        all(item.metadata.get(name) is None for name in rules.difficulty_fields),
    )


def decide(
    ranks: Mapping[str, tuple[bool | int, ...]],
    copies: Iterable[Edge],
    conflicts: Iterable[Edge],
    kept: frozenset[str] = frozenset(),
) -> Decision:
    """Keep, drop or hold every item.

    Args:
        ranks: each item's place in the order, as rank_item.
        copies: pairs of which at most one is kept.
        conflicts: pairs with keys at odds; they and their copies are held, unless one of
            them was kept by a person, which drops the other.
        kept: items a person keeps.
    """
    copies, conflicts = list(copies), list(conflicts)
    graph = _graph([*copies, *conflicts])
    dropped = {
        other: min(kept & graph[other]) for item in kept for other in graph.get(item, ()) if other not in kept
    }
    settled = kept | dropped.keys()
    open_conflicts = [edge for edge in conflicts if not settled.intersection(edge)]
    held = hold(open_conflicts, [edge for edge in copies if not settled.intersection(edge)])
    free = [name for name in ranks if name not in settled and name not in held]
    degree = {name: len(graph.get(name, ())) for name in free}
    order = sorted(free, key=lambda name: (ranks[name], degree[name], name))
    stayed, left = keep_independent(order, copies)
    return Decision(tuple(sorted({*kept, *stayed})), dict(sorted((dropped | left).items())), held)


def keep_independent(order: Sequence[str], edges: Iterable[Edge]) -> tuple[list[str], dict[str, str]]:
    """Take items in order, leaving out each that has an edge to one taken before.

    Args:
        order: items, the one to keep first in front.
        edges: pairs of which at most one is taken; edges to items not in `order` are ignored.

    Returns:
        The items taken, and each other item with the first taken item it has an edge to.
    """
    graph = _graph(edges)
    taken: dict[str, int] = {}
    left: dict[str, str] = {}
    for name in order:
        rivals = [other for other in graph.get(name, ()) if other in taken]
        if rivals:
            left[name] = min(rivals, key=taken.__getitem__)
        else:
            taken[name] = len(taken)
    return list(taken), left


def hold(conflicts: Iterable[Edge], copies: Iterable[Edge]) -> dict[str, tuple[str, ...]]:
    """Hold items in conflict and all copies that hang together with them."""
    conflicts = list(conflicts)
    graph = _graph([*conflicts, *copies])
    held: dict[str, tuple[str, ...]] = {}
    for start in sorted({name for edge in conflicts for name in edge}):
        if start in held:
            continue
        group = _reached(graph, start)
        held |= {name: tuple(other for other in group if other != name) for name in group}
    return dict(sorted(held.items()))


def _graph(edges: Iterable[Edge]) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = defaultdict(set)
    for one, other in edges:
        graph[one].add(other)
        graph[other].add(one)
    return dict(graph)


def _reached(graph: Graph, start: str) -> list[str]:
    seen, frontier = {start}, [start]
    while frontier:
        fresh = graph[frontier.pop()] - seen
        seen |= fresh
        frontier.extend(fresh)
    return sorted(seen)
