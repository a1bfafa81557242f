"""What the same number of items would cover if they were drawn at random."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.selection.inputs import Inputs
from kina_build.selection.labels import code_items
from kina_build.selection.records import Selection
from kina_build.support.matrix import SPREAD, SupportMatrix
from kina_build.support.sparse import best_levels

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class RandomSets:
    """The objective of random sets of the same size and strata."""

    draws: int
    seed: int
    mean: float
    """In the units of the anchor weights, like the rest."""
    least: float
    most: float
    gain: float
    """Objective of the selection / mean - 1; 0 where nothing can be covered."""


def draw_random(
    matrix: SupportMatrix,
    parts: Sequence[Sequence[str]],
    labels: Sequence[Mapping[str, str]],
    exclude: frozenset[str],
    objective: float,
    *,
    draws: int,
    seed: int,
) -> RandomSets:
    """Draw sets with as many items of each domain and stratum as the selection has.

    Conflicts are not looked at, which favours neither side by much and keeps draws uniform.

    Args:
        matrix: the support.
        parts: selected ids, one list a domain: the objective is a sum over domains.
        labels: item to stratum, item to domain, or none; items are drawn among those that share
            all labels.
        exclude: items not to draw.
        objective: of the selection.
        draws: number of sets.
        seed: of the draws.
    """
    rng = np.random.default_rng(seed)
    cells = _cells(matrix.item_ids, labels)
    allowed = np.ones(len(cells), dtype=bool)
    allowed[matrix.rows(exclude)] = False
    wanted = [np.unique(cells[matrix.rows(part)], return_counts=True) for part in parts if part]
    pools = {int(cell): np.flatnonzero(allowed & (cells == cell)) for met, _ in wanted for cell in met}
    values = [sum(_draw_value(matrix, pools, *part, rng) for part in wanted) for _ in range(draws)]
    mean = math.fsum(values) / draws
    gain = objective / mean - 1 if mean else 0.0
    return RandomSets(draws, seed, mean, min(values), max(values), gain)


def _cells(item_ids: Sequence[str], labels: Sequence[Mapping[str, str]]) -> Indices:
    """Number the items by their labels: equal numbers where all labels are equal."""
    cells: Indices = np.zeros(len(item_ids), dtype=np.int64)
    for label in labels:
        names, codes = code_items(label, item_ids)
        cells = cells * (len(names) + 1) + codes + 1
    return cells


def _draw_value(
    matrix: SupportMatrix,
    pools: Mapping[int, Indices],
    cells: Indices,
    counts: Indices,
    rng: np.random.Generator,
) -> float:
    rows = [
        pools[cell][rng.choice(len(pools[cell]), size=min(count, len(pools[cell])), replace=False)]
        for cell, count in zip(cells.tolist(), counts.tolist(), strict=True)
    ]
    best = best_levels(matrix.levels, np.concatenate(rows))
    return int(best @ matrix.weights) / matrix.unit


CLOSERS = 3
"""Items named for each gap."""


@dataclass(frozen=True)
class Gap:
    """One anchor that is not fully covered."""

    anchor_id: str
    covered: float
    """Best support in the set, 0 to 1."""
    gap: float
    """Weight x (1 - covered), in the units of the anchor weights."""
    closers: tuple[str, ...]
    """Items outside the set with more support, best first; none: the pool cannot close it."""


def find_gaps(matrix: SupportMatrix, item_ids: Iterable[str], exclude: Iterable[str] = ()) -> list[Gap]:
    """List the experts' anchors by what the set leaves of them, largest first.

    Args:
        matrix: the support.
        item_ids: the selected items.
        exclude: items that may not close a gap.
    """
    chosen = matrix.rows(item_ids)
    outside = np.ones(len(matrix.item_ids), dtype=bool)
    outside[chosen + matrix.rows(exclude)] = False
    cover = best_levels(matrix.levels, np.array(chosen, dtype=np.int64))
    left = (matrix.scale - cover) * matrix.weights
    experts = np.array([not anchor_id.startswith(SPREAD) for anchor_id in matrix.anchor_ids])
    order = np.argsort(-left, kind="stable")
    order = order[(left > 0)[order] & experts[order]]
    closers = _closers(matrix, outside, order, cover[order])
    return [
        Gap(
            anchor_id=matrix.anchor_ids[column],
            covered=int(cover[column]) / matrix.scale,
            gap=int(left[column]) / matrix.unit,
            closers=tuple(matrix.item_ids[row] for row in rows),
        )
        for column, rows in zip(order.tolist(), closers, strict=True)
    ]


def _closers(
    matrix: SupportMatrix, outside: NDArray[np.bool_], columns: NDArray[np.int64], cover: NDArray[np.int64]
) -> list[list[int]]:
    """Return, for each column, the items outside the set that reach most above its coverage.

    One pass, slice by slice; of equal items the first.
    """
    best: list[list[tuple[int, int]]] = [[] for _ in columns]
    marks = cover.copy()
    for rows in matrix.slices():
        levels = matrix.levels[rows][:, columns]
        better = (levels > marks) & outside[rows, None]
        for at in np.flatnonzero(better.any(axis=0)).tolist():
            found = np.flatnonzero(better[:, at])
            first = found[np.argsort(-levels[found, at].astype(np.int64), kind="stable")][:CLOSERS]
            met = [(int(levels[row, at]), rows.start + int(row)) for row in first]
            best[at] = sorted(best[at] + met, key=lambda pair: (-pair[0], pair[1]))[:CLOSERS]
            if len(best[at]) == CLOSERS:
                # later items must exceed the last of three: equals come after it
                marks[at] = best[at][-1][0]
    return [[row for _, row in pairs] for pairs in best]


def sets_by_domain(selection: Selection, inputs: Inputs) -> list[list[str]]:
    """Return the selected items of each domain, those of joined domains apart."""
    sets: list[list[str]] = []
    for part in selection.domains:
        home = inputs.domains if len(part.sizes) > 1 else None
        split: dict[str, list[str]] = {}
        for item_id in part.item_ids:
            split.setdefault("" if home is None else home[item_id], []).append(item_id)
        sets += split.values()
    return sets
