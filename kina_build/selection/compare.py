"""What the same number of items would cover if they were drawn at random."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kina_build.support.matrix import SupportMatrix


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
    labels: Mapping[str, str],
    exclude: frozenset[str],
    objective: float,
    *,
    draws: int,
    seed: int,
) -> RandomSets:
    """Draw sets with as many items of each part and stratum as the selection has.

    Conflicts are not looked at, which favours neither side by much and keeps draws uniform.

    Args:
        matrix: the support.
        parts: selected ids, one list a domain: the objective is a sum over domains.
        labels: item to stratum (and domain); items are drawn among those of the same label.
        exclude: items not to draw.
        objective: of the selection.
        draws: number of sets.
        seed: of the draws.
    """
    rng = np.random.default_rng(seed)
    pools: dict[str, list[int]] = {}
    for row, item_id in enumerate(matrix.item_ids):
        if item_id not in exclude:
            pools.setdefault(labels.get(item_id, ""), []).append(row)
    wanted = [_count_labels(part, labels) for part in parts]
    values = [sum(_draw_value(matrix, pools, counts, rng) for counts in wanted) for _ in range(draws)]
    mean = math.fsum(values) / draws
    gain = objective / mean - 1 if mean else 0.0
    return RandomSets(draws, seed, mean, min(values), max(values), gain)


def _count_labels(part: Sequence[str], labels: Mapping[str, str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item_id in sorted(part):
        label = labels.get(item_id, "")
        counts[label] = counts.get(label, 0) + 1
    return dict(sorted(counts.items()))


def _draw_value(
    matrix: SupportMatrix, pools: Mapping[str, list[int]], counts: Mapping[str, int], rng: np.random.Generator
) -> float:
    rows = [
        rng.choice(pools[label], size=min(count, len(pools[label])), replace=False)
        for label, count in counts.items()
        if label in pools
    ]
    if not rows:
        return 0.0
    best = matrix.levels[np.concatenate(rows)].max(axis=0).astype(np.int64)
    return int(best @ matrix.weights) / matrix.unit
