"""Support by the paper's reference bank: labels to calibrators, domain by domain to one matrix.

Source: KINA, Appendix B.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from kina_build.config import SupportRules
from kina_build.errors import InputError, Refusal
from kina_build.items.model import Item
from kina_build.support.anchors import Anchor, stratum_of
from kina_build.support.bank.calibrators import Fits, fit_calibrators
from kina_build.support.bank.choice import (
    Comparisons,
    Floats,
    Numbers,
    bank_weights,
    choose_bank,
    compare_with_bank,
)
from kina_build.support.bank.features import Cards, Place, item_features, lay_cards, split_domains
from kina_build.support.bank.labels import ItemLabel, PairLabel
from kina_build.support.bank.signatures import Signature
from kina_build.support.embedding import Embed
from kina_build.support.matrix import SupportMatrix, level_type, round_weights

DIFFICULTY = "difficulty"
"""Key of an item's metadata that holds its difficulty, from 0 to 1."""


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
    reason: str = ""
    """Why it is not on the shortlist: alignment, centrality, difficulty or manual_review."""

    @property
    def shortlisted(self) -> bool:
        """Tell whether it is on the shortlist."""
        return not self.reason


@dataclass(frozen=True)
class BankSupport:
    """The shortlist against the reference bank, and what happened to every item."""

    matrix: SupportMatrix
    rows: tuple[BankRow, ...]
    report: dict[str, Any]


@dataclass(frozen=True)
class Domain:
    """One domain that went through the appendix."""

    place: Place
    alignment: Floats
    alignment_lower: Floats
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


def support_by_bank(
    items: Sequence[Item],
    anchors: Sequence[Anchor],
    *,
    item_labels: Sequence[ItemLabel],
    pair_labels: Sequence[PairLabel],
    embed: Embed,
    signatures: Mapping[str, Signature] | None = None,
    rules: SupportRules = SupportRules(),
    seed: int = 0,
) -> BankSupport:
    """Build each domain's reference bank and score its shortlist against it.

    Rows of the matrix are the shortlisted items, columns the members of the banks, with
    mu shared equally by the domains. A domain without anchors, or whose bank stays
    empty, is left to people.

    Args:
        items: the pool.
        anchors: reference-only anchors; one without a domain serves all.
        item_labels: whether items are aligned.
        pair_labels: whether pairs share support, and are duplicates.
        embed: texts to unit vectors.
        signatures: by item or anchor id; what has none gets one derived from its wording.
        rules: every threshold.
        seed: of the bootstrap samples.

    Raises:
        InputError: too few labels, or an id that an item and an anchor share.
        Refusal: every domain is left to people.
    """
    ordered = sorted(items, key=lambda item: item.item_id)
    references = sorted(anchors, key=lambda anchor: anchor.anchor_id)
    shared = {item.item_id for item in ordered} & {anchor.anchor_id for anchor in references}
    if shared:
        raise InputError(f"{min(shared)!r} is the id of an item and of an anchor")
    cards = lay_cards(ordered, references, signatures or {}, embed)
    places = split_domains(cards, ordered)
    manual = {place.domain: "it has no anchors" for place in places if not len(place.references)}
    ready = [place for place in places if len(place.references)]
    fits = fit_calibrators(cards, ready, item_labels, pair_labels, rules=rules, seed=seed)
    domains: list[Domain] = []
    for place in ready:
        domain = run_domain(cards, place, ordered, fits, rules)
        if domain:
            domains.append(domain)
        else:
            manual[place.domain] = "no item is surely aligned, so that its bank is empty"
    if not domains:
        said = "; ".join(f"{name or 'items without a domain'}: {why}" for name, why in sorted(manual.items()))
        raise Refusal(f"every domain is left to manual review ({said}); nothing was written")
    rows = tuple(_list_rows(cards, places, domains))
    return BankSupport(_lay_matrix(cards, domains, rules.scale), rows, _report(domains, rows, manual, fits))


def run_domain(
    cards: Cards, place: Place, items: Sequence[Item], fits: Fits, rules: SupportRules
) -> Domain | None:
    """Take one domain from alignment to its shortlist; None when its bank stays empty."""
    features = item_features(cards, place)
    alignment = np.round(fits.alignment.probability(features), 6)
    lower = np.round(fits.alignment.lower(features, rules.lower_quantile), 6)
    bank, copies = choose_bank(
        cards, place.rows, alignment=alignment, lower=lower, judge=fits.pairs, rules=rules
    )
    if not len(bank):
        return None
    mu = bank_weights(np.array([stratum_of(items[row]) for row in bank]), rules.stratum_mass)
    compared = compare_with_bank(cards, place, bank=bank, mu=mu, judge=fits.pairs, rules=rules)
    threshold = float(np.percentile(compared.centrality_lower, rules.shortlist_percentile))
    central = compared.centrality_lower
    reasons = tuple(
        _reason(items[row], low, middle >= threshold, rules)
        for row, low, middle in zip(place.rows, lower, central, strict=True)
    )
    return Domain(place, alignment, lower, bank, copies, mu, compared, round(threshold, 6), reasons)


def _reason(item: Item, alignment: float, is_central: bool, rules: SupportRules) -> str:
    """Name the first bar that an item misses; items of unknown difficulty pass that one."""
    difficulty = item.metadata.get(DIFFICULTY)
    if alignment < rules.shortlist_alignment:
        return "alignment"
    if not is_central:
        return "centrality"
    if (
        isinstance(difficulty, int | float)
        and not rules.difficulty_least <= difficulty <= rules.difficulty_most
    ):
        return "difficulty"
    return ""


def _list_rows(cards: Cards, places: Sequence[Place], domains: Sequence[Domain]) -> list[BankRow]:
    done = {
        cards.ids[row]: BankRow(
            item_id=cards.ids[row],
            domain=domain.place.domain,
            alignment=domain.alignment[at],
            alignment_lower=domain.alignment_lower[at],
            centrality=domain.compared.centrality[at],
            centrality_lower=domain.compared.centrality_lower[at],
            in_bank=row in members,
            reason=domain.reasons[at],
        )
        for domain in domains
        for members in [set(domain.bank.tolist())]
        for at, row in enumerate(domain.place.rows)
    }
    left = {
        cards.ids[row]: BankRow(item_id=cards.ids[row], domain=place.domain, reason="manual_review")
        for place in places
        for row in place.rows
    }
    rows = left | done
    return [rows[item_id] for item_id in sorted(rows)]


def _lay_matrix(cards: Cards, domains: Sequence[Domain], scale: int) -> SupportMatrix:
    """Lay out the shortlists against the banks in whole levels; only compared pairs are touched."""
    listed = np.sort(np.concatenate([d.place.rows[np.array(d.reasons) == ""] for d in domains]))
    members = np.concatenate([d.bank for d in domains])
    order = np.argsort(members)
    column = {int(row): place for place, row in enumerate(members[order])}
    weights = np.concatenate([d.mu / len(domains) for d in domains])[order]
    levels = np.zeros((len(listed), len(members)), dtype=level_type(scale))
    for domain in domains:
        at = np.searchsorted(listed, domain.place.rows)
        kept = np.array(domain.reasons) == ""
        columns = np.array([column[int(row)] for row in domain.bank])
        for k in range(domain.compared.near.shape[1]):
            near = domain.compared.near[:, k]
            use = kept & (near >= 0)
            levels[at[use], columns[near[use]]] = np.rint(domain.compared.support[use, k] * scale)
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


def _report(
    domains: Sequence[Domain], rows: Sequence[BankRow], manual: Mapping[str, str], fits: Fits
) -> dict[str, Any]:
    return {
        "bank": sum(len(domain.bank) for domain in domains),
        "shortlist": sum(row.shortlisted for row in rows),
        "left_out": dict(sorted(Counter(row.reason for row in rows if row.reason).items())),
        "domains": {domain.place.domain: _describe(domain) for domain in domains},
        "manual_review": dict(sorted(manual.items())),
        "calibrators": fits.describe(),
    }


def _describe(domain: Domain) -> dict[str, Any]:
    reasons: NDArray[np.str_] = np.array(domain.reasons)
    return {
        "items": len(domain.place.rows),
        "references": len(domain.place.references),
        "bank": len(domain.bank),
        "copies_kept_out_of_the_bank": len(domain.copies),
        "pairs_scored": int((domain.compared.near >= 0).sum())
        + len(domain.place.rows) * len(domain.place.references),
        "shortlist": int((reasons == "").sum()),
        "centrality_threshold": domain.threshold,
    }
