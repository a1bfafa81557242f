"""What the record of a domain should say, written anew from the files alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kina_build.selection.evidence import Domain, count_strata
from kina_build.selection.recompute import price_bound, worst_case
from kina_build.selection.records import (
    STATEMENTS,
    Bound,
    Certificate,
    DomainSelection,
    Guarantee,
    Selection,
    StratumCount,
)


def rebuild(domain: Domain, record: DomainSelection, document: Selection) -> DomainSelection:
    """Write the record of a domain anew from its files.

    Args:
        domain: what the files say.
        record: only its item_ids, cliques, thresholds and shortfalls are taken as they are.
        document: for its units and conflict mode.
    """
    unit = document.scale * document.weight_unit
    gains = domain.gains(record.item_ids)
    cover = domain.cover(record.item_ids)
    online = price_bound(domain, cover, record.cliques)
    best = online
    if record.thresholds:
        levels = [record.thresholds.get(anchor, 0.0) for anchor in domain.anchor_ids]
        whole = np.rint(np.array(levels) * document.scale).astype(np.int64)
        best = price_bound(domain, whole, record.cliques)
    value = sum(gains)
    by_anchor = (cover * domain.weights / unit).tolist()
    return record.model_copy(
        update={
            "gains": tuple(gain / unit for gain in gains),
            "objective": value / unit,
            "thresholds": {anchor: record.thresholds[anchor] for anchor in domain.anchor_ids}
            if record.thresholds.keys() >= set(domain.anchor_ids)
            else {},
            "objective_by_anchor": dict(zip(domain.anchor_ids, by_anchor, strict=True)),
            "zero_gain_picks": gains.count(0),
            "strata": _strata(domain, record),
            "certificate": Certificate(
                method="online",
                upper_bound=online / unit,
                ratio=value / online if online else 1.0,
                guarantee=_guarantee(domain, record, document.conflict_mode == "pairwise"),
                tightest=Bound(
                    method="dual" if record.thresholds else "online",
                    upper_bound=best / unit,
                    ratio=value / best if best else 1.0,
                ),
            ),
        }
    )


def _guarantee(domain: Domain, record: DomainSelection, pairwise: bool) -> Guarantee:
    kinds = {
        "shortfall": record.shortfall > 0 or any(row.shortfall for row in record.strata),
        "withheld": bool(record.withheld),
        "repaired": record.greedy_item_ids is not None and len(record.greedy_item_ids) < domain.size,
    }
    kind = next((kind for kind, holds in kinds.items() if holds), None)
    if kind is None:
        return worst_case(domain, pairwise)
    return Guarantee(theorem="none", factor=0.0, statement=STATEMENTS[kind])


def _strata(domain: Domain, record: DomainSelection) -> tuple[StratumCount, ...]:
    counts = count_strata(domain, record.item_ids)
    short = {row.stratum: row.shortfall for row in record.strata}
    rows = []
    for name in sorted({*domain.strata, *domain.quotas} - {""}):
        least, most = domain.lower.get(name, 0), domain.upper(name)
        row = StratumCount(
            stratum=name,
            lower=least + short.get(name, 0),
            upper=most if most < domain.size else None,
            selected=counts.get(name, 0),
            shortfall=short.get(name, 0),
        )
        if row.selected or row.lower or row.upper is not None:
            rows.append(row)
    return tuple(rows)


def sum_certificates(domains: Sequence[DomainSelection]) -> Certificate:
    """Add the certificates of the domains up; the weakest guarantee holds for all."""
    if len(domains) == 1:
        return domains[0].certificate
    value = math.fsum(one.objective for one in domains)
    upper = math.fsum(one.certificate.upper_bound for one in domains)
    tight = math.fsum(one.certificate.tightest.upper_bound for one in domains)
    weakest = min((one.certificate.guarantee for one in domains), key=lambda one: one.factor)
    said = f"the weakest of {len(domains)} domains: {weakest.statement}"
    return Certificate(
        method="sum over domains",
        upper_bound=upper,
        ratio=value / upper if upper else 1.0,
        guarantee=weakest.model_copy(update={"statement": said}),
        tightest=Bound(method="sum over domains", upper_bound=tight, ratio=value / tight if tight else 1.0),
    )
