"""The verifier's own arithmetic on one domain: plain sums, one sort, no code of the selector."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kina_build.selection.guarantees import EXACT_NEIGHBOURS, STATEMENTS, Guarantee
from kina_build.selection.verifier.domain import Domain, Key, Whole, count_strata, mask_of

STRETCH = 65_536
"""Items of the price order that are sifted at a time."""


class Growth:
    """The items that a growing set may take: quotas that can yet be met, no conflict."""

    def __init__(self, domain: Domain, held: Iterable[str] = ()) -> None:
        self.domain = domain
        self.counts: dict[Key, int] = {}
        self.shut = mask_of(domain, domain.barred)
        for item_id in held:
            self.take(item_id)

    def fits(self, stratum: Key) -> bool:
        """Tell whether one more item of a stratum leaves enough places of its domain for lower quotas."""
        count, names = self.counts.get(stratum, 0), {*self.counts, *self.domain.lower}
        near = [name for name in names if name[0] == stratum[0]]
        claimed = sum(max(self.counts.get(name, 0), self.domain.lower.get(name, 0)) for name in near)
        needed = count < self.domain.lower.get(stratum, 0)
        return count < self.domain.upper(stratum) and (needed or claimed < self.domain.sizes[stratum[0]])

    def take(self, item_id: str) -> None:
        """Add an item; it and what it is in conflict with are shut."""
        stratum = self.domain.stratum(self.domain.position[item_id])
        self.counts[stratum] = self.counts.get(stratum, 0) + 1
        self.shut |= mask_of(self.domain, {item_id, *self.domain.rivals.get(item_id, ())})

    def open_among(self, items: Whole) -> Whole:
        """Return those of some positions whose items may be taken."""
        fits = np.array([self.fits(name) for name in self.domain.strata], dtype=bool)
        return items[fits[self.domain.codes[items]] & ~self.shut[items]]


def price_bound(domain: Domain, thresholds: Whole, cliques: Iterable[Sequence[str]]) -> int:
    """Return r sum_u w_u lambda_u plus the largest price sum: an upper bound on every allowed set.

    One pass for the prices, one sort, then items by falling price while the quotas let them,
    the first of each clique and stratum only.
    """
    prices = domain.sums_above(thresholds)
    clique = {item_id: number for number, group in enumerate(cliques) for item_id in group}
    growth, seen = Growth(domain, domain.must), set[tuple[int, Key]]()
    total = sum(int(prices[domain.position[item_id]]) for item_id in domain.must)
    places, fits = domain.size - len(domain.must), dict[Key, bool]()
    order = np.argsort(-prices, kind="stable")
    at = 0
    while places > 0 and at < len(order):
        # most of a stretch is shut or full: look one by one only at what fits as it begins
        stretch = growth.open_among(order[at : at + STRETCH])
        at += STRETCH
        for item in stretch.tolist():
            item_id, stratum = domain.ids[item], domain.stratum(item)
            cell = (clique.get(item_id, -1), stratum)
            if stratum not in fits:
                fits[stratum] = growth.fits(stratum)
            if not fits[stratum] or (cell[0] >= 0 and cell in seen):
                continue
            seen.add(cell)
            total += int(prices[item])
            growth.counts[stratum] = growth.counts.get(stratum, 0) + 1
            places, fits = places - 1, {}
            if places <= 0:
                break
    return total + domain.folds * int(thresholds @ domain.weights)


def greedy_faults(domain: Domain, item_ids: Sequence[str], among: frozenset[str] | None = None) -> list[str]:
    """Check that each pick was the best of what was open, by gain, then raw centrality, then id.

    Args:
        domain: the instance.
        item_ids: the picks in order, must-include items first.
        among: items to compare with; None: all, under the constraints.
    """
    must = sorted(domain.must)
    if list(item_ids[: len(must)]) != must:
        return ["item_ids: the must-include items do not come first, by id"]
    growth, counted = Growth(domain, must), domain.count(must)
    central = domain.sums_above(np.zeros_like(counted.least))
    bounds, within = central.copy(), mask_of(domain, among or ())
    for item_id in item_ids[len(must) :]:
        at = domain.position[item_id]
        if not (
            len(growth.open_among(np.array([at]))) if among is None else within[at] and not growth.shut[at]
        ):
            return [f"item_ids: {item_id!r} was not open when it was picked"]
        gain = int(np.maximum(domain.levels[at].astype(np.int64) - counted.least, 0) @ domain.weights)
        near = np.flatnonzero((bounds >= gain) & ~growth.shut)
        rivals = growth.open_among(near) if among is None else near[within[near]]
        stale = rivals[bounds[rivals] > 0]  # a gain that is 0 stays 0
        bounds[stale] = domain.sums_above(counted.least, stale)
        # of equals the first position has the smallest id
        top = rivals[bounds[rivals] == bounds[rivals].max()]
        first = int(top[central[top].argmax()])
        if first != at:
            return [f"item_ids: {domain.ids[first]!r} should have been picked before {item_id!r}"]
        growth.take(item_id)
        counted.add(domain.levels[at])
    if among is None and len(item_ids) < domain.size and len(growth.open_among(np.arange(len(domain.ids)))):
        return ["greedy stops although an item is open"]
    return []


def set_faults(domain: Domain, item_ids: Sequence[str]) -> list[str]:
    """Check ids, size, quotas, conflicts, must-include and excluded items."""
    unknown = [item_id for item_id in item_ids if item_id not in domain.position]
    if unknown:
        return [f"item_ids: {unknown[0]!r} has no support scores in this domain"]
    faults = []
    chosen = set(item_ids)
    if len(chosen) != len(item_ids):
        faults.append("item_ids: an item stands twice")
    faults += [f"item_ids: {item_id!r} was excluded" for item_id in sorted(chosen & domain.barred)]
    faults += [f"item_ids: must-include {item_id!r} is missing" for item_id in sorted(domain.must - chosen)]
    for item_id in sorted(chosen):
        clash = sorted(chosen & domain.rivals.get(item_id, frozenset()))
        if clash and item_id < clash[0]:
            faults.append(f"item_ids: {item_id!r} and {clash[0]!r} are in conflict")
    return faults + _count_faults(domain, item_ids)


def _count_faults(domain: Domain, item_ids: Sequence[str]) -> list[str]:
    """Check sizes and quotas."""
    faults, counts = [], count_strata(domain, item_ids)
    for name, size in domain.sizes.items():
        held = sum(count for key, count in counts.items() if key[0] == name)
        if held != size:
            where = f"{name}: " if len(domain.sizes) > 1 else ""
            faults.append(f"item_ids: {where}{held} items, not {size}")
    for key in sorted({*counts, *domain.quotas}):
        count, least, most = counts.get(key, 0), domain.lower.get(key, 0), domain.upper(key)
        if not least <= count <= most:
            faults.append(f"strata: {key[1]!r} has {count} items, not {least} to {most}")
    return faults


def clique_faults(domain: Domain, cliques: Iterable[Sequence[str]]) -> list[str]:
    """Check that the cliques are disjoint sets of items that are all in conflict with each other."""
    groups = [tuple(group) for group in cliques]
    members = [item_id for group in groups for item_id in group]
    if len(set(members)) != len(members) or any(item_id not in domain.position for item_id in members):
        return ["cliques: an item stands twice or is unknown"]
    for group in groups:
        if len(group) < 2:
            return [f"cliques: {group} is no clique"]
        for one, other in itertools.combinations(group, 2):
            if other not in domain.rivals.get(one, ()):
                return [f"cliques: {one!r} and {other!r} are not in conflict"]
    return []


def worst_case(domain: Domain, pairwise: bool) -> Guarantee:
    """Say which theorem covers the constraints of a greedy run."""
    near = near_of(domain)
    quotas = _quotas_bind(domain)
    if not near:
        kind, theorem = ("quotas", "matroid") if quotas else ("cardinality", "cardinality")
        return _state(kind, theorem, 1 / 2 if quotas else 1 - 1 / math.e)
    k = max(_clash(items, near) for items in near.values()) if pairwise else 1
    if k > 1:
        parts = k + 2 if quotas else k + 1
        kind = "pairs and quotas" if quotas else "pairs"
        return _state(kind, "k-extendible", 1 / parts, k, parts)
    of = {item_id: domain.stratum(domain.position[item_id]) for item_id in near}
    if quotas and any(of[one] != of[other] for one in near for other in near[one]):
        return _state("two matroids", "two matroids", 1 / 3)
    return _state("clusters", "matroid", 1 / 2)


def _state(kind: str, theorem: str, factor: float, k: int | None = None, parts: int = 0) -> Guarantee:
    return Guarantee(theorem=theorem, factor=factor, k=k, statement=STATEMENTS[kind].format(k=k, parts=parts))


def near_of(domain: Domain) -> dict[str, frozenset[str]]:
    """Return what each item of the domain is in conflict with inside it."""
    inside = domain.position
    found = {i: frozenset(j for j in near if j in inside) for i, near in domain.rivals.items() if i in inside}
    return {item_id: near for item_id, near in found.items() if near}


def _quotas_bind(domain: Domain) -> bool:
    if len(domain.sizes) > 1:
        return True
    supply = dict(zip(domain.strata, np.bincount(domain.codes).tolist(), strict=True))
    if any(domain.upper(name) < min(count, domain.size) for name, count in supply.items()):
        return True
    return len(supply) > 1 and any(domain.lower.values())


def _clash(items: frozenset[str], near: Mapping[str, frozenset[str]]) -> int:
    """Return the most items of a set without conflict; above EXACT_NEIGHBOURS, a clique cover."""
    if len(items) > EXACT_NEIGHBOURS:
        cover: list[list[str]] = []
        for item in sorted(items):
            home = next((group for group in cover if near[item].issuperset(group)), None)
            cover.append([item]) if home is None else home.append(item)
        return len(cover)
    # plain search over who comes next in id order, cut where even all that is left would not win
    best = 0
    stack = [(0, sorted(items))]
    while stack:
        count, rest = stack.pop()
        best = max(best, count)
        if rest and count + len(rest) > best:
            stack.append((count, rest[1:]))
            stack.append((count + 1, [item for item in rest[1:] if item not in near[rest[0]]]))
    return best
