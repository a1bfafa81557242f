"""What the record of a part should say, written anew from the files alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from kina_build.selection.guarantees import STATEMENTS, Bound, Certificate, Coverage, Guarantee
from kina_build.selection.records import DomainSelection, Selection, StratumCount, maximised
from kina_build.selection.verifier.domain import Domain, Whole, count_strata
from kina_build.selection.verifier.recompute import price_bound, worst_case
from kina_build.support.matrix import SupportMatrix

PARTS = 1_000_000_000
"""A share in a file is known to one of these parts."""


def threshold_faults(domain: Domain, record: DomainSelection, scale: int) -> list[str]:
    """Check that thresholds are whole levels, one for each anchor and no other."""
    if not record.thresholds:
        return []
    named = [(name, anchor) for name, levels in record.thresholds.items() for anchor in levels]
    if sorted(named) != sorted(domain.columns):
        return ["thresholds: not one for each anchor of the domain"]
    if any(not 0 <= level <= scale for levels in record.thresholds.values() for level in levels.values()):
        return [f"thresholds: one is no level from 0 to {scale}"]
    return []


def rebuild(
    domain: Domain, record: DomainSelection, document: Selection, matrix: SupportMatrix
) -> tuple[DomainSelection, list[str]]:
    """Write the record of a part anew from its files; faults where its bounds do not bound.

    Args:
        domain: what the files say.
        record: only its item_ids, cliques, thresholds, shortfalls, proof and r are taken as they are.
        document: for its conflict mode and slack.
        matrix: for the units.
    """
    gains = domain.gains(record.item_ids)
    counted = domain.count(record.item_ids)
    value, slack = sum(gains), matrix.slack * len(domain.asked) * domain.folds
    online = price_bound(domain, counted.least, record.cliques)
    best = price_bound(domain, _levels(domain, record), record.cliques) if record.thresholds else online
    faults = [
        f"bound: {bound} steps are below the objective's {value}" for bound in (online, best) if bound < value
    ]
    if best > online:
        faults.append("thresholds: they bound no better than the coverage")
    names = [name for name, _ in domain.asked.items()]
    lacking = {name: domain.asked[name] - domain.sizes[name] for name in names}
    update: dict[str, Any] = {
        "domain": " + ".join(names),
        "k": sum(domain.asked.values()),
        "sizes": dict(domain.asked),
        "shortfall": sum(lacking.values()),
        "lacking": {name: count for name, count in lacking.items() if count},
        "gains": tuple(gain / matrix.unit for gain in gains),
        "objective": value / matrix.unit,
        "steps": value,
        "objective_by_anchor": _by_anchor(domain, counted.levels.sum(axis=0), matrix),
        "zero_gain_picks": gains.count(0),
        "strata": _strata(domain, record.item_ids),
        "maximised": maximised(domain.folds) if domain.folds > 1 else "",
        "coverage": _coverage(domain, record, matrix) if domain.folds > 1 else None,
        "certificate": Certificate(
            method="online",
            upper_bound=online / matrix.unit,
            steps=online,
            ratio=_ratio(value, online, slack),
            guarantee=_guarantee(domain, record, document.conflict_mode == "pairwise"),
            tightest=Bound(
                method="dual" if record.thresholds else "online",
                upper_bound=best / matrix.unit,
                steps=best,
                ratio=_ratio(value, best, slack),
            ),
        ),
    }
    return record.model_copy(update=update), faults


def _levels(domain: Domain, record: DomainSelection) -> Whole:
    return np.array([record.thresholds[name][anchor] for name, anchor in domain.columns], dtype=np.int64)


def _coverage(domain: Domain, record: DomainSelection, matrix: SupportMatrix) -> Coverage:
    """Return F of the set, bounded by its coverage or by what every item together reaches."""
    plain = replace(domain, folds=1)
    value = sum(plain.gains(record.item_ids))
    online = price_bound(plain, plain.count(record.item_ids).least, record.cliques)
    everything = sum(n * w for n, w in zip(domain.reach().tolist(), domain.weights.tolist(), strict=True))
    bound = min(online, everything)
    return Coverage(
        objective=value / matrix.unit,
        steps=value,
        method="online" if online < everything else "all items",
        upper_bound=bound / matrix.unit,
        upper_steps=bound,
        ratio=_ratio(value, bound, matrix.slack * len(domain.asked)),
    )


def sum_coverage(domains: Sequence[DomainSelection], matrix: SupportMatrix) -> Coverage | None:
    """Add the coverage of the parts up; None where nothing but F was maximised."""
    if all(one.coverage is None for one in domains) or len(domains) == 1:
        return domains[0].coverage
    value = bound = 0
    for one in domains:
        value += one.steps if one.coverage is None else one.coverage.steps
        bound += one.certificate.tightest.steps if one.coverage is None else one.coverage.upper_steps
    return Coverage(
        objective=value / matrix.unit,
        steps=value,
        method="sum over domains",
        upper_bound=bound / matrix.unit,
        upper_steps=bound,
        ratio=_ratio(value, bound, matrix.slack * sum(len(one.sizes) for one in domains)),
    )


def _by_anchor(domain: Domain, cover: Whole, matrix: SupportMatrix) -> dict[str, float]:
    found: dict[str, int] = {}
    counted = zip(domain.columns, cover.tolist(), domain.weights.tolist(), strict=True)
    for (_, anchor), level, weight in counted:
        found[anchor] = found.get(anchor, 0) + level * weight
    return {anchor: steps / matrix.unit for anchor, steps in found.items()}


def _ratio(value: int, bound: int, slack: int) -> float:
    """Return what is surely reached, rounded down, with rounding of the inputs against the set."""
    if bound + slack == 0:
        return 1.0
    return math.floor(Fraction(max(0, value - slack), bound + slack) * PARTS) / PARTS


def _guarantee(domain: Domain, record: DomainSelection, pairwise: bool) -> Guarantee:
    short = domain.size < sum(domain.asked.values()) or any(
        domain.lower[key] < quota.lower for key, quota in domain.quotas.items()
    )
    kinds = {
        "unshown": short and record.proof is None,
        "shortfall": short,
        "repaired": record.greedy_item_ids is not None and len(record.greedy_item_ids) < domain.size,
    }
    kind = next((kind for kind, holds in kinds.items() if holds), None)
    if kind is None:
        return worst_case(domain, pairwise)
    return Guarantee(theorem="none", factor=0.0, statement=STATEMENTS[kind])


def _strata(domain: Domain, item_ids: Sequence[str]) -> tuple[StratumCount, ...]:
    rows, counts = [], count_strata(domain, item_ids)
    for key in sorted({*domain.strata, *domain.quotas}):
        asked = domain.quotas[key].lower if key in domain.quotas else 0
        most = domain.upper(key)
        row = StratumCount(
            domain=key[0],
            stratum=key[1],
            lower=asked,
            upper=most if most < domain.sizes[key[0]] else None,
            selected=counts.get(key, 0),
            shortfall=asked - domain.lower.get(key, 0),
        )
        if row.stratum and (row.selected or row.lower or row.upper is not None):
            rows.append(row)
    return tuple(rows)


def sum_slack(domains: Sequence[DomainSelection], matrix: SupportMatrix) -> int:
    """Return what rounding may move: each domain's slack as many times as items count."""
    return sum(matrix.slack * len(one.sizes) * one.folds for one in domains)


def sum_certificates(domains: Sequence[DomainSelection], matrix: SupportMatrix) -> Certificate:
    """Add the certificates of the parts up; the weakest guarantee holds for all."""
    if len(domains) == 1:
        return domains[0].certificate
    value = sum(one.steps for one in domains)
    upper = sum(one.certificate.steps for one in domains)
    tight = sum(one.certificate.tightest.steps for one in domains)
    slack = sum_slack(domains, matrix)
    weakest = min((one.certificate.guarantee for one in domains), key=lambda one: one.factor)
    said = f"the weakest of {len(domains)} domains: {weakest.statement}"
    return Certificate(
        method="sum over domains",
        upper_bound=upper / matrix.unit,
        steps=upper,
        ratio=_ratio(value, upper, slack),
        guarantee=weakest.model_copy(update={"statement": said}),
        tightest=Bound(
            method="sum over domains",
            upper_bound=tight / matrix.unit,
            steps=tight,
            ratio=_ratio(value, tight, slack),
        ),
    )
