"""Why a full assignment is impossible: the items and the reviewers of a minimum cut."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.items.model import Item
from kina_review.desk.eligibility import Eligibility


@dataclass(frozen=True)
class Shortage:
    """Items that need more reviews than their eligible reviewers can give."""

    item_ids: tuple[str, ...]
    reviewer_ids: tuple[str, ...]
    """Everyone who may review any of them."""
    needed: int
    available: int


def explain_shortage(
    lacking: Sequence[Item],
    items: Sequence[Item],
    eligibility: Eligibility,
    limits: NDArray[np.int64],
    per_item: int,
) -> tuple[Shortage, ...]:
    """Find the items that no assignment at all can serve fully.

    Items with the same eligible reviewers become one node of a flow network (demand
    `per_item` each, at most one review of an item by one reviewer). By max-flow min-cut
    (Ford and Fulkerson 1956) the nodes still reachable from the source in the residual
    network are exactly a set of items that need more than their reviewers can give.

    Args:
        lacking: items left short by the assignment.
        items: all items.
        eligibility: who may review what.
        limits: most items a reviewer in all, shape (reviewers,).
        per_item: reviews an item needs.
    """
    classes: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for item in items:
        classes[tuple(eligibility.of(item).tolist())].append(item.item_id)
    groups = list(classes.items())
    reached = _unservable(groups, limits, per_item)
    short = {item.item_id for item in lacking}
    shortages = []
    for component in _by_shared_reviewers([groups[index] for index in reached]):
        ids = sorted(item_id for _, members in component for item_id in members)
        able = sorted({who for people, _ in component for who in people})
        if short & set(ids):
            shortages.append(
                Shortage(
                    item_ids=tuple(ids),
                    reviewer_ids=tuple(eligibility.people[who].reviewer_id for who in able),
                    needed=per_item * len(ids),
                    available=int(sum(min(int(limits[who]), len(ids)) for who in able)),
                )
            )
    return tuple(sorted(shortages, key=lambda shortage: shortage.item_ids))


def _unservable(
    groups: Sequence[tuple[tuple[int, ...], list[str]]], limits: NDArray[np.int64], per_item: int
) -> list[int]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    count, people = len(groups), len(limits)
    source, sink = count + people, count + people + 1
    edges: dict[tuple[int, int], int] = {}
    for index, (able, members) in enumerate(groups):
        edges[source, index] = per_item * len(members)
        for who in able:
            edges[index, count + who] = len(members)
    for who, limit in enumerate(limits.tolist()):
        edges[count + who, sink] = min(limit, np.iinfo(np.int32).max // 4)
    rows, columns = zip(*edges, strict=True)
    shape = (sink + 1, sink + 1)
    capacity = csr_array((np.array(list(edges.values()), dtype=np.int32), (rows, columns)), shape=shape)
    residual = csr_array(capacity - maximum_flow(capacity, source, sink).flow)
    order = breadth_first_order(residual > 0, source, return_predecessors=False)
    return sorted(int(node) for node in order if node < count)


def _by_shared_reviewers(
    groups: Sequence[tuple[tuple[int, ...], list[str]]],
) -> list[list[tuple[tuple[int, ...], list[str]]]]:
    import networkx as nx

    graph: nx.Graph[tuple[str, int]] = nx.Graph()
    for index, (able, _) in enumerate(groups):
        graph.add_node(("items", index))
        graph.add_edges_from((("items", index), ("person", who)) for who in able)
    components = (
        sorted(node[1] for node in component if node[0] == "items")
        for component in nx.connected_components(graph)
    )
    return [[groups[index] for index in members] for members in components if members]
