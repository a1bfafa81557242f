"""Check that a shortfall is forced: the document's cuts added up, or every set tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kina_build.selection.guarantees import Cut, Proof
from kina_build.selection.verifier.domain import Domain, Key, count_strata, mask_of
from kina_build.selection.verifier.recompute import near_of

TRIED_ITEMS = 16
"""Eligible items up to which every set is tried before a shortfall counts as not shown."""


def shortfall_faults(domain: Domain, cliques: Iterable[Sequence[str]], proof: Proof | None) -> list[str]:
    """Check that no set lacks less: by the cuts of the document, added up here, or by trying.

    Pairwise conflicts may leave it open: then only what can be seen to be wrong is a fault.
    """
    missing = sum(q.lower - domain.lower[key] for key, q in domain.quotas.items())
    if proof is not None:
        over = dict.fromkeys(domain.asked, 0)
        for key, count in count_strata(domain, domain.must).items():
            over[key[0]] += max(0, count - (domain.quotas[key].lower if key in domain.quotas else 0))
        wanted = {key: domain.quotas[key].lower if key in domain.quotas else 0 for key in _keys(domain)}
        least = {name: max(0, size - over[name]) for name, size in domain.asked.items()}
        fixed = count_strata(domain, domain.must)
        floor = {key: max(domain.lower.get(key, 0), fixed.get(key, 0)) for key in wanted}
        filled = capacity(domain, cliques, proof.lower, Room(least, wanted, dict.fromkeys(wanted, 0)))
        held = capacity(domain, cliques, proof.size, Room(domain.asked, _uppers(domain), floor))
        if sum(wanted.values()) - filled != missing:
            return [f"proof.lower: the cut leaves {filled} of {sum(wanted.values())} lower quotas"]
        return [] if held == domain.size else [f"proof.size: the cut holds {held} items, not {domain.size}"]
    if all(len(near) <= 1 for near in near_of(domain).values()) or _are_clusters(domain):
        return ["proof: the shortfall has none, though counting alone would show it"]
    return _refute(domain, missing)


def _are_clusters(domain: Domain) -> bool:
    near = near_of(domain)
    return all(near[other] | {other} == around | {item} for item, around in near.items() for other in around)


def _keys(domain: Domain) -> set[Key]:
    return {*domain.strata, *domain.quotas}


def _uppers(domain: Domain) -> dict[Key, int]:
    def most(key: Key) -> int:
        quota, size = domain.quotas.get(key), domain.asked[key[0]]
        return size if quota is None or quota.upper is None else min(size, quota.upper)

    return {key: most(key) for key in _keys(domain)}


@dataclass(frozen=True)
class Room:
    """What domains and strata hold at most, and strata at least."""

    sizes: Mapping[str, int]
    quotas: Mapping[Key, int]
    least: Mapping[Key, int]


def capacity(
    domain: Domain,
    cliques: Iterable[Sequence[str]],
    cut: Cut,
    room: Room,
) -> int:
    """Add up a cut: whole domains by size, counted strata by their cliques, all others by quota.

    What a counted stratum of a whole domain holds at least is lost to the domain's other strata.
    """
    whole, counted = set(cut.domains), set(cut.strata)
    total = sum(size for name, size in room.sizes.items() if name in whole)
    total -= sum(room.least.get(key, 0) for key in counted if key[0] in whole)
    total += sum(most for key, most in room.quotas.items() if key[0] not in whole and key not in counted)
    group = {item_id: number for number, members in enumerate(cliques) for item_id in members}
    inside = np.array([key in counted for key in domain.strata], dtype=bool)
    items = np.flatnonzero(inside[domain.codes] & ~mask_of(domain, domain.barred))
    if not group:
        return total + len(items)
    return total + len({group.get(domain.ids[at], f"={at}") for at in items.tolist()})


def _refute(domain: Domain, missing: int) -> list[str]:
    """Look for a set that lacks less: by trying all where there are few items, else for nothing."""
    items = np.flatnonzero(~mask_of(domain, domain.barred)).tolist()
    if len(items) > TRIED_ITEMS:
        return []
    open_ids = [domain.ids[at] for at in items]
    key = {i: domain.stratum(domain.position[i]) for i in open_ids}
    upper, lower = _uppers(domain), {k: q.lower for k, q in domain.quotas.items()}
    best = (-missing, domain.size)
    stack: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    while stack:
        at, held = stack.pop()
        if at < len(open_ids):
            new = open_ids[at]
            counts = Counter(key[i] for i in (*held, new))
            clash = any(other in domain.rivals.get(new, ()) for other in held)
            full = sum(n for k, n in counts.items() if k[0] == key[new][0]) > domain.asked[key[new][0]]
            if not clash and not full and counts[key[new]] <= upper[key[new]]:
                stack.append((at + 1, (*held, new)))
            if new not in domain.must:
                stack.append((at + 1, held))
            continue
        counts = Counter(key[i] for i in held)
        lacks = sum(max(0, low - counts[k]) for k, low in lower.items())
        if (-lacks, len(held)) > best:
            return [f"shortfall: {len(held)} items that lack {lacks} of the lower quotas can be had"]
    return []
