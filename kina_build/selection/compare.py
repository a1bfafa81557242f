"""What the same number of items would cover if they were drawn at random."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.selection.labels import code_items
from kina_build.support.matrix import SupportMatrix

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
    best = matrix.levels[np.concatenate(rows)].max(axis=0).astype(np.int64)
    return int(best @ matrix.weights) / matrix.unit
