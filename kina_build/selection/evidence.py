"""What the files say about one domain, as the verifier reads it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kina_build.selection.inputs import Inputs
from kina_build.selection.records import DomainSelection, Quota

CHUNK_SCORES = 4_000_000
"""Scores widened to 64 bits at a time."""

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Domain:
    """Hold what the files say about one domain, by position in `ids`."""

    ids: tuple[str, ...]
    anchor_ids: tuple[str, ...]
    levels: NDArray[np.uint16] | NDArray[np.uint32]
    weights: Whole
    strata: Sequence[str]
    """Stratum of each item."""
    quotas: Mapping[str, Quota]
    rivals: Mapping[str, frozenset[str]]
    """Item to all items it must not be taken with."""
    must: frozenset[str]
    barred: frozenset[str]
    size: int
    """Items a set has to have: as asked less the shortfall."""
    lower: Mapping[str, int]
    """Least items by stratum: as asked less the shortfall."""
    position: Mapping[str, int] = field(default_factory=dict)

    @functools.cached_property
    def codes(self) -> tuple[NDArray[np.str_], Whole]:
        """Return the names of the strata and each item's position among them."""
        names, codes = np.unique(np.array(self.strata, dtype=np.str_), return_inverse=True)
        return names, codes

    def upper(self, stratum: str) -> int:
        """Return the most items of a stratum."""
        quota = self.quotas.get(stratum)
        return self.size if quota is None or quota.upper is None else min(quota.upper, self.size)

    def sums_above(self, thresholds: Whole) -> Whole:
        """Return, for every item, its weighted support above thresholds, in whole numbers."""
        rows = max(1, CHUNK_SCORES // max(1, len(self.weights)))
        parts = [
            np.maximum(self.levels[at : at + rows].astype(np.int64) - thresholds, 0) @ self.weights
            for at in range(0, len(self.ids), rows)
        ]
        return np.concatenate(parts)

    def cover(self, item_ids: Iterable[str]) -> Whole:
        """Return the best level of each anchor over a set."""
        best = np.zeros(len(self.weights), dtype=np.int64)
        for item_id in item_ids:
            best = np.maximum(best, self.levels[self.position[item_id]])
        return best

    def gains(self, item_ids: Iterable[str]) -> list[int]:
        """Return what each item adds to those before it."""
        best, gains = np.zeros(len(self.weights), dtype=np.int64), []
        for item_id in item_ids:
            row = self.levels[self.position[item_id]].astype(np.int64)
            gains.append(int(np.maximum(row - best, 0) @ self.weights))
            best = np.maximum(best, row)
        return gains


def gather_domain(record: DomainSelection, inputs: Inputs) -> Domain:
    """Gather what the files say about one domain of a selection."""
    matrix = inputs.matrix
    rows = [
        row
        for row, item_id in enumerate(matrix.item_ids)
        if not record.domain or (inputs.domains or {}).get(item_id) == record.domain
    ]
    ids = tuple(matrix.item_ids[row] for row in rows)
    rivals = rivals_of(inputs)
    of_must = {other for item_id in inputs.must for other in rivals.get(item_id, ())}
    short = {row.stratum: row.shortfall for row in record.strata}
    quotas = {q.stratum: q for q in inputs.quotas if q.k is None or q.domain == record.domain}
    return Domain(
        ids=ids,
        anchor_ids=matrix.anchor_ids,
        levels=matrix.levels if len(rows) == len(matrix.item_ids) else matrix.levels[rows],
        weights=matrix.weights.astype(np.int64),
        strata=[""] * len(ids) if inputs.strata is None else [inputs.strata.get(i, "") for i in ids],
        quotas=quotas,
        rivals=rivals,
        must=inputs.must.intersection(ids),
        barred=(inputs.exclude | (of_must - inputs.must)).intersection(ids),
        size=record.k - record.shortfall,
        lower={name: quota.lower - short.get(name, 0) for name, quota in quotas.items()},
        position={item_id: index for index, item_id in enumerate(ids)},
    )


def rivals_of(inputs: Inputs) -> dict[str, frozenset[str]]:
    """Return what each item must not be taken with: its pairs, or all of its cluster."""
    near: dict[str, set[str]] = {}
    for one, other in inputs.conflicts:
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)
    if inputs.conflict_mode == "pairwise":
        return {item_id: frozenset(others) for item_id, others in near.items()}
    found: dict[str, frozenset[str]] = {}
    for item_id in near:
        if item_id in found:
            continue
        reached, edge = {item_id}, [item_id]
        while edge:
            new = near[edge.pop()] - reached
            reached |= new
            edge += new
        found |= {one: frozenset(reached - {one}) for one in reached}
    return found


def count_strata(domain: Domain, item_ids: Iterable[str]) -> dict[str, int]:
    """Count the items of each stratum."""
    counts: dict[str, int] = {}
    for item_id in item_ids:
        name = domain.strata[domain.position[item_id]]
        counts[name] = counts.get(name, 0) + 1
    return counts


def mask_of(domain: Domain, item_ids: Iterable[str]) -> NDArray[np.bool_]:
    """Return a mask over the domain's items; ids of other domains are passed over."""
    mask = np.zeros(len(domain.ids), dtype=bool)
    mask[[domain.position[item_id] for item_id in item_ids if item_id in domain.position]] = True
    return mask
