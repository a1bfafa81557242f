"""Share a total over domains, and bound how many items each stratum of a domain gets."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from kina_build.config import SelectionRules
from kina_build.errors import Refusal
from kina_build.selection.records import Quota

Supply = Mapping[str, Mapping[str, int]]
"""Domain to stratum to eligible items."""


def apportion(
    total: int, shares: Mapping[str, float], supply: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Share a total in proportion, by largest remainder; ties go to the earlier name.

    A name whose supply is smaller than its share gets its supply, and the rest is shared
    anew among the others.

    Args:
        total: items to share.
        shares: name to weight, non-negative, not all 0.
        supply: name to most items; None: no limit.

    Raises:
        Refusal: the total is more than the supply.
    """
    most = total if supply is None else sum(supply[name] for name in shares)
    if total > most:
        raise Refusal(f"{total} items asked for, but only {most} are eligible")
    fixed: dict[str, int] = {}
    while True:
        open_shares = {name: share for name, share in shares.items() if name not in fixed}
        given = _largest_remainder(total - sum(fixed.values()), open_shares)
        scarce = {n: supply[n] for n, count in given.items() if supply is not None and count > supply[n]}
        if not scarce:
            return dict(sorted((fixed | given).items()))
        fixed |= scarce


def _largest_remainder(total: int, shares: Mapping[str, float]) -> dict[str, int]:
    exact = {name: Fraction(share) for name, share in shares.items()}
    whole = sum(exact.values())
    if not whole:  # only empty shares are left: they count alike
        exact, whole = dict.fromkeys(shares, Fraction(1)), Fraction(len(shares))
    ideal = {name: total * share / whole for name, share in exact.items()}
    counts = {name: math.floor(value) for name, value in ideal.items()}
    left = total - sum(counts.values())
    for name in sorted(shares, key=lambda name: (counts[name] - ideal[name], name))[:left]:
        counts[name] += 1
    return counts


def share_by_gain(total: int, gains: Mapping[str, Sequence[float]]) -> dict[str, int]:
    """Share a total so that each place goes to the domain whose next greedy pick gains most.

    Greedy gains of a domain never rise, so the largest gains overall are a prefix of each
    domain's. Ties go to the earlier name.

    Args:
        total: items to share.
        gains: domain to the gains of its greedy picks in order.

    Raises:
        Refusal: the domains have fewer picks than the total.
    """
    ladder = [(-gain, name, step) for name, steps in gains.items() for step, gain in enumerate(steps)]
    if total > len(ladder):
        raise Refusal(f"{total} items asked for, but only {len(ladder)} can be picked")
    counts = dict.fromkeys(sorted(gains), 0)
    for _, name, _ in sorted(ladder)[:total]:
        counts[name] += 1
    return counts


def make_budget(
    sizes: Mapping[str, int], supply: Supply, rules: SelectionRules = SelectionRules()
) -> list[Quota]:
    """Bound the strata of each domain: L_h = min(floor, eligible), U_h = max(ceiling, spread x even share).

    Where a domain has fewer places than strata, lower quotas go to the strata of most
    eligible items; where its upper quotas could not hold K_d, they are raised alike.

    Args:
        sizes: domain to items to take (K_d).
        supply: eligible items by domain and stratum.
        rules: settings.
    """
    rows = []
    for domain in sorted(sizes):
        k, strata = sizes[domain], supply[domain]
        lower = _lowers(k, strata, rules.stratum_floor)
        upper = _upper(k, strata, rules)
        for name in sorted(strata):
            row = Quota(domain=domain, k=k, stratum=name, lower=lower[name], upper=max(upper, lower[name]))
            rows.append(row)
    return rows


def proportional(size: int, strata: Mapping[str, int]) -> tuple[Quota, ...]:
    """Bound each stratum by its share of the eligible items, rounded down and up.

    Args:
        size: items to take (K).
        strata: eligible items by stratum.

    Raises:
        Refusal: fewer eligible items than asked for.
    """
    total = sum(strata.values())
    if size > total:
        raise Refusal(f"{size} items asked for, but only {total} are eligible")
    shares = {name: Fraction(size * count, total) for name, count in sorted(strata.items())}
    return tuple(
        Quota(stratum=name, lower=math.floor(share), upper=math.ceil(share)) for name, share in shares.items()
    )


def _lowers(k: int, strata: Mapping[str, int], floor: int) -> dict[str, int]:
    lower, left = dict.fromkeys(strata, 0), k
    for name in sorted(strata, key=lambda name: (-strata[name], name)):
        lower[name] = min(floor, strata[name], left)
        left -= lower[name]
    return lower


def _upper(k: int, strata: Mapping[str, int], rules: SelectionRules) -> int:
    upper = max(rules.stratum_ceiling, math.ceil(rules.stratum_spread * k / len(strata)))
    while sum(min(upper, count) for count in strata.values()) < min(k, sum(strata.values())):
        upper += 1
    return upper


def count_supply(
    strata: Mapping[str, str], domains: Mapping[str, str], eligible: Iterable[str]
) -> dict[str, dict[str, int]]:
    """Count eligible items by domain and stratum, names sorted."""
    counts: dict[str, dict[str, int]] = {}
    for item_id in eligible:
        if item_id in strata:
            inner = counts.setdefault(domains[item_id], {})
            inner[strata[item_id]] = inner.get(strata[item_id], 0) + 1
    return {domain: dict(sorted(inner.items())) for domain, inner in sorted(counts.items())}


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
