"""What the files say about the parts of a selection: their domains, scores, quotas and conflicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.selection.inputs import Inputs
from kina_build.selection.labels import code_items
from kina_build.selection.records import DomainSelection
from kina_build.selection.verifier.domain import Domain, Key, Positions, Whole
from kina_build.support.sparse import SparseLevels, beside, from_pairs


def gather_domain(
    record: DomainSelection, asked: Mapping[str, int], inputs: Inputs, rivals: Mapping[str, frozenset[str]]
) -> Domain:
    """Gather what the files say about one part of a selection.

    Args:
        record: only its shortfalls and its r are taken.
        asked: the part's domains and their sizes.
        inputs: the files.
        rivals: what each item must not be taken with.
    """
    domains = tuple(asked)
    matrix, owner = _lay_out(domains, inputs)
    labels, own = code_items(inputs.strata, matrix.item_ids)
    names = ("", *labels)  # an item without a stratum has the stratum ""
    met, codes = np.unique(owner * len(names) + own + 1, return_inverse=True)
    position = Positions(matrix.item_ids)
    of_must = {other for item_id in inputs.must for other in rivals.get(item_id, ())}
    short = {(row.domain, row.stratum): row.shortfall for row in record.strata}
    alone = next(iter(asked)) if len(asked) == 1 else ""
    quotas = {
        (alone if q.k is None else q.domain, q.stratum): q
        for q in inputs.quotas
        if q.k is None or q.domain in asked
    }
    barred = inputs.closed | (of_must - inputs.must)
    return Domain(
        ids=matrix.item_ids,
        columns=matrix.columns,
        levels=matrix.levels,
        weights=matrix.weights,
        strata=tuple((domains[at // len(names)], names[at % len(names)]) for at in met.tolist()),
        codes=codes.astype(np.int64),
        quotas=quotas,
        rivals=rivals,
        must=frozenset(item_id for item_id in inputs.must if item_id in position),
        barred=frozenset(item_id for item_id in barred if item_id in position),
        asked=asked,
        sizes={name: size - record.lacking.get(name, 0) for name, size in asked.items()},
        lower={key: quota.lower - short.get(key, 0) for key, quota in quotas.items()},
        position=position,
        folds=record.folds,
    )


@dataclass(frozen=True)
class _Table:
    """The scores of some domains, side by side."""

    item_ids: Sequence[str]
    columns: tuple[Key, ...]
    levels: Any
    weights: Whole


def _lay_out(domains: tuple[str, ...], inputs: Inputs) -> tuple[_Table, Whole]:
    """Return the scores of some domains, and the position of each item's domain among them."""
    matrix = inputs.matrix
    weights = matrix.weights.astype(np.int64)
    if domains != ("",):
        names, codes = inputs.domain_codes
        wanted = np.array([name in domains for name in names] + [False])
        own = np.flatnonzero(wanted[codes])
        matrix = matrix.take(own)
        number_of = np.array([domains.index(name) if name in domains else -1 for name in names])
        owner = number_of[codes[own]] if len(own) else own
    columns: tuple[Key, ...] = ()
    if len(domains) == 1:
        columns = tuple((domains[0], anchor) for anchor in matrix.anchor_ids)
        table = _Table(matrix.item_ids, columns, matrix.levels, weights)
        return table, np.zeros(len(matrix.item_ids), dtype=np.int64)
    held_sparse = isinstance(matrix.levels, SparseLevels)
    levels = matrix.levels if held_sparse else matrix.levels[0 : len(matrix.item_ids)]
    blocks = []
    for number, name in enumerate(domains):
        held, block = _alone(levels, owner == number)
        blocks.append((block, weights[held]))
        columns += tuple((name, matrix.anchor_ids[at]) for at in held.tolist())
    side = beside([block for block, _ in blocks])
    table = _Table(matrix.item_ids, columns, side, np.concatenate([mass for _, mass in blocks]))
    return table, owner


def _alone(levels: Any, own: NDArray[np.bool_]) -> tuple[Whole, Any]:
    """Return the columns that some items support, and the levels there, 0 for all other items."""
    if isinstance(levels, SparseLevels):
        rows, columns, values = levels.pairs()
        mine = own[rows]
        met, place = np.unique(columns[mine], return_inverse=True)
        return met.astype(np.int64), from_pairs((len(own), len(met)), rows[mine], place, values[mine])
    alone = np.where(own[:, None], levels, 0)
    held = np.flatnonzero(alone.any(axis=0)).astype(np.int64)
    return held, alone[:, held]


def parts_of(inputs: Inputs, rivals: Mapping[str, frozenset[str]]) -> list[tuple[str, ...]]:
    """Return the domains of a budget, those that a conflict between eligible items joins together."""
    names = sorted({quota.domain for quota in inputs.quotas if quota.k is not None}) or [""]
    if len(names) == 1:
        return [tuple(names)]
    known, codes = inputs.domain_codes
    position = Positions(inputs.matrix.item_ids)
    shut = inputs.closed | inputs.must | {j for i in inputs.must for j in rivals.get(i, ())}
    home = {
        item_id: known[int(codes[position[item_id]])]
        for item_id in rivals
        if item_id in position and item_id not in shut and codes[position[item_id]] >= 0
    }
    group = {name: {name} for name in names}
    for item_id, name in home.items():
        for other in rivals[item_id]:
            if name in group and home.get(other) in group and group[name] is not group[home[other]]:
                merged = group[name] | group[home[other]]
                group |= dict.fromkeys(merged, merged)
    return sorted({tuple(sorted(members)) for members in group.values()})


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
