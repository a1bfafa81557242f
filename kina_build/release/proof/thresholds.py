"""Thresholds of the anchors that bound from above what any set of items reaches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from kina_build.release import standalone
from kina_build.release.rows import Row
from kina_build.release.standalone import Domain
from kina_build.rows.jsonl import write_document

STEPS = 150
"""Steps of a walk at most."""
WORK = 10_000_000
"""Levels read at most in all steps of a walk."""
SHRINK = 0.6
"""Factor on the step where the bound did not fall."""


def lower_bound(domain: Domain, starts: Sequence[Sequence[int]]) -> list[int]:
    """Find thresholds that bound the sets of the released size well.

    Args:
        domain: with its items.
        starts: thresholds to begin with; the result is no worse than the best of them.
    """
    size, held = len(domain.released), domain.counts(domain.released)
    best = min((list(one) for one in starts), key=lambda one: domain.bound(size, one, held))
    least = domain.bound(size, best, held)
    goal = domain.instance.value(domain.released, domain.folds)
    here, step = list(map(float, best)), 1.0
    for _ in range(min(STEPS, WORK // max(1, len(domain.instance.level)))):
        tried = _walk(domain, here, least, goal, step)
        value = domain.bound(size, tried, held)
        here = list(map(float, tried)) if value < least else list(map(float, best))
        if value < least:
            least, best = value, tried
        else:
            step *= SHRINK
        if least <= goal or step < 0.001:
            break
    return best


def _walk(domain: Domain, here: Sequence[float], least: int, goal: int, step: float) -> list[int]:
    """Take one Polyak step from thresholds towards a lower bound, and round."""
    instance = domain.instance
    at = [round(one) for one in here]
    prices = instance.prices(domain.rows, at)
    chosen = domain.dearest(len(domain.released), prices, domain.counts(domain.released))
    above = Counter(u for row in chosen for u, level in instance.pairs(row) if level > at[u])
    slope = [weight * (domain.folds - above[u]) for u, weight in enumerate(instance.weights)]
    length = sum(one * one for one in slope)
    if not length:
        return at
    stride = step * (least - goal) / length
    return [min(instance.scale, max(0, round(t - stride * s))) for t, s in zip(here, slope, strict=True)]


def settle_thresholds(folder: Path, rows: Mapping[str, Sequence[Row]], private: set[str]) -> None:
    """Put better thresholds for the released size into the evidence of domains of which items fell."""
    path = folder / standalone.INSTANCE
    if not path.exists():
        return
    ids = {split: [{"id": row.id} for row in kept] for split, kept in rows.items()}
    instance = standalone.Instance(folder, ids, private)
    told = standalone.read_json(path)
    for domain, one in zip(instance.domains, told["domains"], strict=True):
        starts = [domain.thresholds["asked"], domain.thresholds["released"]]
        whole = len(domain.released) == domain.asked or not instance.full
        one["thresholds"]["released"] = starts[0] if whole else lower_bound(domain, starts)
    write_document(path, told)
