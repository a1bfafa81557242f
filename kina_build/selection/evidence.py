"""What the files say about one domain, as the verifier reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.selection.inputs import Inputs
from kina_build.selection.labels import code_items
from kina_build.selection.records import DomainSelection, Quota
from kina_build.support.ids import position_of
from kina_build.support.parts import take_items

CHUNK_SCORES = 4_000_000
"""Scores widened to 64 bits at a time."""

Whole = NDArray[np.int64]


class Positions(Mapping[str, int]):
    """Map each of some sorted ids to where it stands, by halving: no second copy of the ids."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids

    def __getitem__(self, item_id: str) -> int:
        at = position_of(self._ids, item_id)
        if at is None:
            raise KeyError(item_id)
        return at

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


@dataclass(frozen=True)
class Domain:
    """Hold what the files say about one domain, by position in `ids`."""

    ids: Sequence[str]
    """Sorted."""
    anchor_ids: tuple[str, ...]
    levels: Any
    """Shape (items, anchors), in memory or on disk."""
    weights: Whole
    strata: tuple[str, ...]
    """The strata that items have, sorted."""
    codes: Whole
    """Position of each item's stratum in `strata`."""
    quotas: Mapping[str, Quota]
    rivals: Mapping[str, frozenset[str]]
    """Item to all items it must not be taken with."""
    must: frozenset[str]
    barred: frozenset[str]
    size: int
    """Items a set has to have: as asked less the shortfall."""
    lower: Mapping[str, int]
    """Least items by stratum: as asked less the shortfall."""
    position: Mapping[str, int]

    def stratum(self, at: int) -> str:
        """Return the stratum of the item at a position."""
        return self.strata[int(self.codes[at])]

    def upper(self, stratum: str) -> int:
        """Return the most items of a stratum."""
        quota = self.quotas.get(stratum)
        return self.size if quota is None or quota.upper is None else min(quota.upper, self.size)

    def sums_above(self, thresholds: Whole, items: Whole | None = None) -> Whole:
        """Return the weighted support of items above thresholds, in whole numbers.

        Args:
            thresholds: in levels, shape (anchors,).
            items: positions; None: all.
        """
        rows = max(1, CHUNK_SCORES // max(1, len(self.weights)))
        count = len(self.ids) if items is None else len(items)
        parts = [
            np.maximum(self._rows(items, at, min(count, at + rows)).astype(np.int64) - thresholds, 0)
            @ self.weights
            for at in range(0, count, rows)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def _rows(self, items: Whole | None, start: int, stop: int) -> NDArray[Any]:
        rows: NDArray[Any] = self.levels[slice(start, stop) if items is None else items[start:stop]]
        return rows

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
    if record.domain:
        names, codes = inputs.domain_codes
        own = np.flatnonzero(codes == names.index(record.domain)) if record.domain in names else codes[:0]
        matrix = take_items(matrix, own)
    names, codes = code_items(inputs.strata, matrix.item_ids)
    # an item without a stratum has the stratum ""
    strata, codes = (names, codes) if (codes >= 0).all() else (("", *names), codes + 1)
    position = Positions(matrix.item_ids)
    rivals = rivals_of(inputs)
    of_must = {other for item_id in inputs.must for other in rivals.get(item_id, ())}
    short = {row.stratum: row.shortfall for row in record.strata}
    quotas = {q.stratum: q for q in inputs.quotas if q.k is None or q.domain == record.domain}
    barred = inputs.exclude | (of_must - inputs.must)
    return Domain(
        ids=matrix.item_ids,
        anchor_ids=matrix.anchor_ids,
        levels=matrix.levels,
        weights=matrix.weights.astype(np.int64),
        strata=strata,
        codes=codes,
        quotas=quotas,
        rivals=rivals,
        must=frozenset(item_id for item_id in inputs.must if item_id in position),
        barred=frozenset(item_id for item_id in barred if item_id in position),
        size=record.k - record.shortfall,
        lower={name: quota.lower - short.get(name, 0) for name, quota in quotas.items()},
        position=position,
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
        name = domain.stratum(domain.position[item_id])
        counts[name] = counts.get(name, 0) + 1
    return counts


def mask_of(domain: Domain, item_ids: Iterable[str]) -> NDArray[np.bool_]:
    """Return a mask over the domain's items; ids of other domains are passed over."""
    mask = np.zeros(len(domain.ids), dtype=bool)
    mask[[domain.position[item_id] for item_id in item_ids if item_id in domain.position]] = True
    return mask
