"""A random sample of a pool, stratified in proportion: what to use where there are no anchors."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from kina_build.selection.budget import apportion

STATEMENT = "no certificate: a random sample"
"""What a sample says of itself, in place of a guarantee."""


@dataclass(frozen=True)
class Stratum:
    """How many items a stratum has and gave."""

    stratum: str
    eligible: int
    selected: int


@dataclass(frozen=True)
class Sample:
    """A seeded draw."""

    item_ids: tuple[str, ...]
    """Stratum by stratum, each in the order drawn."""
    strata: tuple[Stratum, ...]
    seed: int


def draw_sample(strata: Mapping[str, str], size: int, seed: int, exclude: Collection[str] = ()) -> Sample:
    """Draw items without replacement, each stratum in proportion to its items, by largest remainder.

    Args:
        strata: item to stratum; the order of items does not matter.
        size: items to draw.
        seed: of the draw.
        exclude: items not to draw.

    Raises:
        Refusal: fewer items than asked for.
    """
    pools: dict[str, list[str]] = {}
    for item_id in sorted(set(strata).difference(exclude)):
        pools.setdefault(strata[item_id], []).append(item_id)
    supply = {name: len(ids) for name, ids in pools.items()}
    given = apportion(size, supply, supply)
    rng = np.random.default_rng(seed)
    drawn: list[str] = []
    for name in sorted(pools):
        chosen = rng.choice(len(pools[name]), size=given[name], replace=False)
        drawn += [pools[name][at] for at in chosen.tolist()]
    rows = tuple(Stratum(name, supply[name], given[name]) for name in sorted(pools))
    return Sample(tuple(drawn), rows, seed)
