"""Who may review what, and with whom: authorship, declared conflicts, expertise, payee, affiliation.

Where no full assignment is possible, a minimum cut names the items and the reviewers who are too few.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.items.model import Item
from kina_review.records import Reviewer
from kina_review.rubric import REVIEWS_PER_ITEM


class Eligibility:
    """Answer who may review an item; answers are shared by items that are alike."""

    def __init__(self, people: Sequence[Reviewer], *, by_affiliation: bool = False) -> None:
        self.people = people
        self.by_affiliation = by_affiliation
        self._of: dict[tuple[str, str, str, str | None], NDArray[np.int64]] = {}
        self._affiliation = {
            name: p.affiliation for p in people for name in (p.reviewer_id, p.payee_id) if name
        }

    def of(self, item: Item, banned: Collection[int] = ()) -> NDArray[np.int64]:
        """Return the positions of those who may review an item, without those banned from it."""
        key = (item.discipline, item.field, item.subfield, item.author_id)
        if key not in self._of:
            able = [index for index, person in enumerate(self.people) if self._may(person, item)]
            self._of[key] = np.array(able, dtype=np.int64)
        found = self._of[key]
        return found[~np.isin(found, list(banned))] if banned else found

    def apart(self) -> NDArray[np.bool_]:
        """Return who must never share an item, shape (reviewers, reviewers)."""
        count = len(self.people)
        apart = np.eye(count, dtype=bool)
        for group in self._groups():
            apart[np.ix_(group, group)] = True
        index = {person.reviewer_id: position for position, person in enumerate(self.people)}
        for one, person in enumerate(self.people):
            for name in person.conflicts:
                if name in index:
                    apart[one, index[name]] = apart[index[name], one] = True
        return apart

    def _groups(self) -> list[list[int]]:
        groups: dict[tuple[str, str], list[int]] = {}
        for position, person in enumerate(self.people):
            if person.payee_id:
                groups.setdefault(("payee", person.payee_id), []).append(position)
            if self.by_affiliation and person.affiliation:
                groups.setdefault(("affiliation", person.affiliation), []).append(position)
        return [group for group in groups.values() if len(group) > 1]

    def _may(self, person: Reviewer, item: Item) -> bool:
        if item.author_id is not None:
            if item.author_id in (person.reviewer_id, person.payee_id, *person.conflicts):
                return False
            author_home = self._affiliation.get(item.author_id)
            if self.by_affiliation and author_home and author_home == person.affiliation:
                return False
        return not person.fields or bool({item.discipline, item.field, item.subfield} & set(person.fields))


FORBIDDEN = 1 << 13
"""Meetings from here on mean: these two must never share an item."""
MEETING = 1 << 40
"""Cost of one earlier meeting, above any load: a fresh pair comes before an even load."""
NEVER = FORBIDDEN * MEETING
"""Cost of what must not be chosen."""


class Roster:
    """The state of one assignment run."""

    def __init__(self, eligibility: Eligibility, room: NDArray[np.int64], seed: int) -> None:
        count = len(eligibility.people)
        self.eligibility = eligibility
        self.room = room
        self.rank = np.random.default_rng(seed).permutation(count).astype(np.int64)
        self.load = np.zeros(count, dtype=np.int64)
        self.cost = np.where(room > 0, self.rank, NEVER)
        """What one more item costs each reviewer: load before rank; NEVER without room."""
        self.met = np.where(eligibility.apart(), FORBIDDEN, 0)
        self.given: dict[str, list[int]] = defaultdict(list)
        self.holds: list[dict[str, Item]] = [{} for _ in range(count)]
        """Reviewer position to the items that may still be moved away."""
        self.banned: dict[str, set[int]] = defaultdict(set)
        """Item id to reviewers who had it before and must not get it again."""
        self.departed: dict[str, int] = defaultdict(int)
        """Item id to earlier slots of people no longer on the list."""

    def lacks(self, item: Item) -> int:
        """Return how many reviewers an item still needs."""
        return REVIEWS_PER_ITEM - len(self.given[item.item_id]) - self.departed[item.item_id]

    def candidates(self, item: Item) -> NDArray[np.int64]:
        """Return who may get an item: eligible, and never had it before."""
        return self.eligibility.of(item, self.banned.get(item.item_id, ()))

    def give(self, item_id: str, who: int, movable: Item | None = None) -> None:
        """Give an item to a reviewer; a movable one may be taken back."""
        for other in self.given[item_id]:
            self._meet(who, other, 1)
        self.given[item_id].append(who)
        self._charge(who, 1)
        if movable is not None:
            self.holds[who][item_id] = movable

    def take(self, item_id: str, who: int) -> None:
        """Take a movable item back."""
        self.given[item_id].remove(who)
        for other in self.given[item_id]:
            self._meet(who, other, -1)
        self._charge(who, -1)
        del self.holds[who][item_id]

    def pick(self, item: Item, candidates: NDArray[np.int64]) -> int | None:
        """Return who takes an open slot best: fewest meetings, then least load, then seeded rank."""
        if not len(candidates):
            return None
        cost = self.cost[candidates]
        for other in self.given[item.item_id]:
            cost = cost + self.met[other, candidates] * MEETING
        best = int(np.argmin(cost))
        return int(candidates[best]) if cost[best] < NEVER else None

    def limit(self, room: NDArray[np.int64]) -> None:
        """Let nobody take more than this from now on."""
        np.minimum(self.room, room, out=self.room)
        self.cost[self.room <= 0] = NEVER

    def _charge(self, who: int, step: int) -> None:
        self.load[who] += step
        self.room[who] -= step
        full = self.room[who] <= 0
        self.cost[who] = NEVER if full else self.load[who] * len(self.rank) + self.rank[who]

    def _meet(self, one: int, two: int, step: int) -> None:
        self.met[one, two] += step
        self.met[two, one] += step


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
