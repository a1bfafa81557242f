"""Groups of items that hang together, for people to look at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kina_build.dedup.records import Cluster, DuplicatePair
from kina_build.dedup.scan import DECIMALS
from kina_build.dedup.vectorfiles import VectorSet

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
    """Row of each item in `vectors`."""
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
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names = sorted({name for pair in pairs for name in (pair.item_id, pair.other_id)})
    index = {name: row for row, name in enumerate(names)}
    left = np.array([index[pair.item_id] for pair in pairs], dtype=np.int32)
    right = np.array([index[pair.other_id] for pair in pairs], dtype=np.int32)
    graph = coo_array((np.ones(len(pairs)), (left, right)), shape=(len(names), len(names)))
    _, labels = connected_components(graph, directed=False)
    groups: dict[int, list[DuplicatePair]] = defaultdict(list)
    for pair, row in zip(pairs, left, strict=True):
        groups[int(labels[row])].append(pair)
    return sorted(groups.values(), key=lambda group: min(pair.item_id for pair in group))


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
    rows = [members.rows[name] for name in names]
    return Cluster(
        item_ids=tuple(names),
        status=status,
        kept=tuple(name for name in names if name in members.kept),
        lowest_cosine=None if members.vectors is None else _lowest(members.vectors[rows]),
        chain=find_chain((pair.item_id, pair.other_id) for pair in pairs),
        cross_discipline=twice_filed,
        needs_decision=not members.held.isdisjoint(names)
        or (twice_filed and _many_paths(names, members) and members.pinned.isdisjoint(names)),
        paths=tuple(places),
    )


def _many_paths(names: Sequence[str], members: Members) -> bool:
    """Tell whether items that a person did not drop are filed under several paths."""
    return len({members.paths[name] for name in names if name not in members.removed} - {""}) > 1


def _lowest(vectors: Vectors) -> float:
    lowest = min(
        float((vectors[start : start + 512] @ vectors.T).min()) for start in range(0, len(vectors), 512)
    )
    return round(lowest, DECIMALS)
