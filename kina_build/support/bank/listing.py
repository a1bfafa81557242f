"""What comes of a reference bank: the matrix, the row of every item, conflicts, and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from kina_build.config import SupportRules
from kina_build.rows.jsonl import write_document
from kina_build.support.bank.calibrators import DomainFits
from kina_build.support.bank.choice import Comparisons, Floats, Numbers, find_duplicates
from kina_build.support.bank.features import Cards, Place
from kina_build.support.bank.labels import PairLabel
from kina_build.support.matrix import SupportMatrix, level_type, round_weights


class BankRow(BaseModel):
    """What became of one item, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item_id: str
    domain: str
    alignment: float | None = None
    alignment_lower: float | None = None
    centrality: float | None = None
    centrality_lower: float | None = None
    in_bank: bool = False
    rechecked: bool = False
    """Whether its alignment was read a second time."""
    reason: str = ""
    """Why it is not on the shortlist: alignment, centrality, difficulty, reference (it is an anchor) or
    manual_review."""

    @property
    def shortlisted(self) -> bool:
        """Tell whether it is on the shortlist."""
        return not self.reason


@dataclass(frozen=True)
class Conflicts:
    """Pairs of the shortlist that are copies: U above tau_dup, or said so by people."""

    threshold: float
    pairs: tuple[tuple[str, str, float | None], ...]
    """Two items and their duplicate risk; None where people's label decides."""

    def write(self, path: Path) -> None:
        """Write what `kina select --conflicts` takes, with the risk of each pair."""
        rows = [{"item_id": one, "other_id": two, "risk": risk} for one, two, risk in self.pairs]
        edges = [[one, two] for one, two, _ in self.pairs]
        write_document(path, {"threshold": self.threshold, "conflict_edges": edges, "risks": rows})


@dataclass(frozen=True)
class BankSupport:
    """The shortlist against the reference bank, and what happened to every item."""

    matrix: SupportMatrix
    rows: tuple[BankRow, ...]
    conflicts: Conflicts
    report: dict[str, Any]


@dataclass(frozen=True)
class Domain:
    """One domain that went through the appendix."""

    place: Place
    alignment: Floats
    alignment_lower: Floats
    alignment_upper: Floats
    bank: Numbers
    """Rows of the members, in order of id."""
    copies: Numbers
    """Rows left out of the bank as duplicates of members."""
    mu: Floats
    compared: Comparisons
    threshold: float
    """alpha_C here."""
    reasons: tuple[str, ...]
    """Why each item is not on the shortlist; empty: it is."""

    @property
    def listed(self) -> NDArray[np.bool_]:
        """Tell which items are on the shortlist."""
        return np.array([not reason for reason in self.reasons], dtype=bool)


@dataclass(frozen=True)
class Rechecked:
    """What a second reading of uncertain items came to."""

    uncertain: int
    asked: int
    ids: tuple[str, ...]
    """Those with a second reading."""


def list_rows(
    cards: Cards, places: Sequence[Place], domains: Sequence[Domain], rechecked: Collection[str]
) -> tuple[BankRow, ...]:
    """Say of every item of the pool what became of it, in order of id."""
    done = {
        cards.ids[row]: BankRow(
            item_id=cards.ids[row],
            domain=domain.place.domain,
            alignment=domain.alignment[at],
            alignment_lower=domain.alignment_lower[at],
            centrality=domain.compared.centrality[at],
            centrality_lower=domain.compared.centrality_lower[at],
            in_bank=row in members,
            rechecked=cards.ids[row] in rechecked,
            reason=domain.reasons[at],
        )
        for domain in domains
        for members in [set(domain.bank.tolist())]
        for at, row in enumerate(domain.place.rows)
    }
    left = {
        cards.ids[row]: BankRow(item_id=cards.ids[row], domain=place.domain, reason=reason)
        for place in places
        for rows, reason in ((place.rows, "manual_review"), (place.own_references, "reference"))
        for row in rows
    }
    rows = left | done
    return tuple(rows[item_id] for item_id in sorted(rows))


def lay_matrix(cards: Cards, domains: Sequence[Domain], scale: int) -> SupportMatrix:
    """Lay out the shortlists against the banks in whole levels; only compared pairs are touched.

    A shortlisted member of a bank supports itself fully.
    """
    listed = np.sort(np.concatenate([domain.place.rows[domain.listed] for domain in domains]))
    members = np.concatenate([domain.bank for domain in domains])
    order = np.argsort(members)
    weights = np.concatenate([domain.mu / len(domains) for domain in domains])[order]
    levels = np.zeros((len(listed), len(members)), dtype=level_type(scale))
    for domain in domains:
        compared, rows = domain.compared, domain.place.rows
        kept = domain.listed[compared.items]
        at = np.searchsorted(listed, rows[compared.items[kept]])
        columns = np.searchsorted(members[order], domain.bank[compared.members[kept]])
        levels[at, columns] = np.rint(compared.support[kept] * scale)
        own = domain.bank[np.isin(domain.bank, rows[domain.listed])]
        levels[np.searchsorted(listed, own), np.searchsorted(members[order], own)] = scale
    rounded = round_weights(weights, scale)
    return SupportMatrix(
        item_ids=tuple(cards.ids[row] for row in listed),
        anchor_ids=tuple(cards.ids[row] for row in members[order]),
        levels=levels,
        scale=scale,
        weights=rounded.steps,
        weight_unit=rounded.unit,
        weight_step=rounded.step,
        slack=rounded.slack,
    )


def list_conflicts(
    cards: Cards,
    domains: Sequence[Domain],
    fits: DomainFits,
    labels: Sequence[PairLabel],
    rules: SupportRules,
) -> Conflicts:
    """List the pairs of the shortlist that may not both be selected; what people said of a pair wins."""
    found: dict[tuple[str, str], float | None] = {}
    listed: set[str] = set()
    for domain in domains:
        rows = domain.place.rows[domain.listed]
        listed |= {cards.ids[row] for row in rows}
        judge = fits.of(domain.place.domain).pairs
        risks = find_duplicates(cards, rows, judge, rules) if len(rows) > 1 else []
        found |= {(cards.ids[one], cards.ids[two]): risk for one, two, risk in risks}
    for label in labels:
        pair = (min(label.item_id, label.other_id), max(label.item_id, label.other_id))
        found.pop(pair, None)
        if label.duplicate and pair[0] != pair[1] and listed.issuperset(pair):
            found[pair] = None
    return Conflicts(rules.bank_duplicate, tuple((*pair, found[pair]) for pair in sorted(found)))


def describe_bank(
    domains: Sequence[Domain],
    rows: Sequence[BankRow],
    manual: Mapping[str, str],
    fits: DomainFits,
    again: Rechecked | None,
) -> dict[str, Any]:
    """Return what is told of a bank."""
    told = again and {"uncertain": again.uncertain, "asked": again.asked, "read": len(again.ids)}
    return {
        "bank": sum(len(domain.bank) for domain in domains),
        "shortlist": sum(row.shortlisted for row in rows),
        "left_out": dict(sorted(Counter(row.reason for row in rows if row.reason).items())),
        "domains": {domain.place.domain: _describe(domain) for domain in domains},
        "manual_review": dict(sorted(manual.items())),
        "calibrators": fits.describe(),
    } | ({"rechecked": told} if told else {})


def _describe(domain: Domain) -> dict[str, Any]:
    items, references = len(domain.place.rows), len(domain.place.references)
    return {
        "items": items,
        "references": references,
        "bank": len(domain.bank),
        "copies_kept_out_of_the_bank": len(domain.copies),
        "pairs_scored": len(domain.compared.items) + items * references,
        "shortlist": int(domain.listed.sum()),
        "centrality_threshold": domain.threshold,
    }
