"""Groups of items that hang together, for people to look at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.records import Cluster, DuplicatePair
from kina_build.dedup.search.scan import DECIMALS
from kina_build.encode.vectorfiles import VectorSet
from kina_build.items.model import Item

WHOLE = 100
"""Members up to which all chains of a cluster are measured; above, two sweeps find a long one."""

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Members:
    """What is known of the items that clusters are made of."""

    kept: frozenset[str]
    held: frozenset[str]
    pinned: frozenset[str]
    """Those that a person keeps: what follows for their copies is decided."""
    removed: frozenset[str]
    """Those that a person dropped."""
    paths: Mapping[str, str]
    """Taxonomy path of each item, written out."""
    rows: Mapping[str, int]
    """Row of each item in `vectors`: of equal items, that of the one that stands for them."""
    vectors: VectorSet | None
    """Shape (items, dimension); None where no encoder was asked."""


def build_clusters(pairs: Sequence[DuplicatePair], members: Members) -> list[Cluster]:
    """Group copies and, apart from them, candidates for review.

    Returns:
        Clusters of conflicts, then of duplicates, then of candidates, each by first id.
    """
    copies = [pair for pair in pairs if pair.status in {"duplicate", "conflict"}]
    review = [pair for pair in pairs if pair.status == "review"]
    clusters = [_cluster(group, members) for kind in (copies, review) for group in components(kind)]
    order = {"conflict": 0, "duplicate": 1, "review": 2}
    return sorted(clusters, key=lambda cluster: (order[cluster.status], cluster.item_ids))


def components(pairs: Sequence[DuplicatePair]) -> list[list[DuplicatePair]]:
    """Split pairs into those of each connected component, by smallest id."""
    leads: dict[str, str] = {}
    for pair in pairs:
        one, other = sorted((_leader(leads, pair.item_id), _leader(leads, pair.other_id)))
        leads[other] = one
    groups: dict[str, list[DuplicatePair]] = defaultdict(list)
    for pair in pairs:
        groups[_leader(leads, pair.item_id)].append(pair)
    return [groups[name] for name in sorted(groups)]


def _leader(leads: dict[str, str], name: str) -> str:
    """Return the smallest id that a chain of ids leads to, and shorten the way there."""
    while (ahead := leads.setdefault(name, name)) != name:
        leads[name] = leads[ahead]
        name = leads[name]
    return name


def find_chain(edges: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the way between the two members farthest apart, empty where all are linked directly."""
    import networkx as nx

    graph = nx.Graph(sorted(edges))
    starts = (
        sorted(graph)
        if len(graph) <= WHOLE
        else [_farthest(nx.single_source_shortest_path(graph, min(graph)))]
    )
    best: list[str] = []
    for start in starts:
        ways = nx.single_source_shortest_path(graph, start)
        way = ways[_farthest(ways)]
        if len(way) > len(best):
            best = way
    return tuple(best) if len(best) > 2 else ()


def _farthest(ways: Mapping[str, Sequence[str]]) -> str:
    return min(ways, key=lambda name: (-len(ways[name]), name))


def _status(members: Sequence[DuplicatePair]) -> Literal["duplicate", "conflict", "review"]:
    found = {pair.status for pair in members}
    if "conflict" in found:
        return "conflict"
    return "duplicate" if "duplicate" in found else "review"


def _cluster(pairs: Sequence[DuplicatePair], members: Members) -> Cluster:
    names = sorted({name for pair in pairs for name in (pair.item_id, pair.other_id)})
    status = _status(pairs)
    places = sorted({members.paths[name] for name in names} - {""})
    twice_filed = status != "review" and len(places) > 1
    rows = sorted({members.rows[name] for name in names})
    return Cluster(
        item_ids=tuple(names),
        status=status,
        kept=tuple(name for name in names if name in members.kept),
        lowest_cosine=None if members.vectors is None else _lowest(members.vectors[rows]),
        chain=find_chain((pair.item_id, pair.other_id) for pair in pairs if _is_compared(pair, members)),
        cross_discipline=twice_filed,
        needs_decision=not members.held.isdisjoint(names)
        or (twice_filed and _many_paths(names, members) and members.pinned.isdisjoint(names)),
        paths=tuple(places),
    )


def _is_compared(pair: DuplicatePair, members: Members) -> bool:
    """Tell whether a pair was found, and is not one of an item with the one that stands for it."""
    return members.rows[pair.item_id] != members.rows[pair.other_id]


def _many_paths(names: Sequence[str], members: Members) -> bool:
    """Tell whether items that a person did not drop are filed under several paths."""
    return len({members.paths[name] for name in names if name not in members.removed} - {""}) > 1


def _lowest(vectors: Vectors) -> float:
    lowest = min(
        float((vectors[start : start + 512] @ vectors.T).min()) for start in range(0, len(vectors), 512)
    )
    return round(lowest, DECIMALS)


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
