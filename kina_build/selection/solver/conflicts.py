"""What taking an item rules out: conflict pairs as slices of items."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.selection.inputs import Pair
from kina_build.selection.records import ConflictMode
from kina_build.support.levels import position_of

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Conflicts:
    """What taking an item rules out.

    Item i rules out members[start[i]:stop[i]]. Items of a cluster share one slice (itself
    included), so a cluster of any size costs its size once.
    """

    mode: ConflictMode
    start: Indices
    stop: Indices
    members: Indices
    clique: Indices
    """Item to a clique number: disjoint sets of mutually conflicting items; lone items have their own."""

    @functools.cached_property
    def tied(self) -> Indices:
        """Return the items that have a conflict, rising."""
        return np.flatnonzero(self.stop > self.start)

    def of(self, item: int) -> Indices:
        """Return the items that an item rules out."""
        return self.members[self.start[item] : self.stop[item]]

    def narrowed(self, items: Indices) -> Conflicts:
        """Return the conflicts among some items, numbered by their place in `items`."""
        place = np.full(len(self.start), -1, dtype=np.int64)
        place[items] = np.arange(len(items))
        kept = place[self.members] >= 0
        before = np.concatenate([[0], np.cumsum(kept)])
        _, first, group = np.unique(self.clique[items], return_index=True, return_inverse=True)
        return Conflicts(
            self.mode,
            before[self.start[items]],
            before[self.stop[items]],
            place[self.members[kept]],
            first[group],
        )


def index_conflicts(item_ids: Sequence[str], pairs: Sequence[Pair], mode: ConflictMode) -> Conflicts:
    """Turn conflict pairs into slices of items that rule each other out.

    Args:
        item_ids: sorted ids of the candidates.
        pairs: conflicting ids; those of other items matter to clusters only.
        mode: clusters or pairwise.
    """
    named = sorted({item_id for pair in pairs for item_id in pair})
    places = ((item_id, position_of(item_ids, item_id)) for item_id in named)
    position = {item_id: at for item_id, at in places if at is not None}
    if mode == "clusters":
        groups = [[position[i] for i in group if i in position] for group in connect(pairs)]
        return _clusters(len(item_ids), [sorted(group) for group in groups if len(group) > 1])
    edges = [(position[a], position[b]) for a, b in pairs if a in position and b in position]
    return _pairs(len(item_ids), edges)


def connect(pairs: Iterable[Pair]) -> list[list[str]]:
    """Return the connected components of a graph of pairs, each sorted, in order of their first id."""
    parent: dict[str, str] = {}

    def root(node: str) -> str:
        while parent.setdefault(node, node) != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for one, other in pairs:
        low, high = sorted((root(one), root(other)))
        parent[high] = low
    groups: dict[str, list[str]] = {}
    for node in sorted(parent):
        groups.setdefault(root(node), []).append(node)
    return list(groups.values())


def _clusters(count: int, groups: list[list[int]]) -> Conflicts:
    start, stop = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    clique = np.arange(count, dtype=np.int64)
    filled = 0
    for group in groups:
        start[group], stop[group] = filled, filled + len(group)
        clique[group] = group[0]
        filled += len(group)
    members = np.array([item for group in groups for item in group], dtype=np.int64)
    return Conflicts("clusters", start, stop, members, clique)


def _pairs(count: int, edges: list[tuple[int, int]]) -> Conflicts:
    neighbours: dict[int, set[int]] = {}
    for one, other in edges:
        neighbours.setdefault(one, set()).add(other)
        neighbours.setdefault(other, set()).add(one)
    start, stop = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    members: list[int] = []
    for item in sorted(neighbours):
        start[item] = len(members)
        members += sorted(neighbours[item])
        stop[item] = len(members)
    clique = _partition(count, neighbours)
    return Conflicts("pairwise", start, stop, np.array(members, dtype=np.int64), clique)


def _partition(count: int, neighbours: Mapping[int, set[int]]) -> Indices:
    """Cut a conflict graph into disjoint cliques, items of many conflicts first."""
    clique = np.arange(count, dtype=np.int64)
    placed: set[int] = set()
    for item in sorted(neighbours, key=lambda item: (-len(neighbours[item]), item)):
        if item in placed:
            continue
        group = [item]
        for other in sorted(neighbours[item] - placed):
            if all(other in neighbours[one] for one in group):
                group.append(other)
        clique[group] = item
        placed.update(group)
    return clique
