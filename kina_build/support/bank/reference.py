"""Support by the paper's reference bank: labels to calibrators, domain by domain to one matrix.

Source: KINA, Appendix B.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kina_build.config import SupportRules
from kina_build.errors import InputError, Refusal
from kina_build.items.model import Item
from kina_build.support.anchors import Anchor, reference_ids, stratum_of
from kina_build.support.bank.calibrators import DomainFits, Fits, fit_calibrators
from kina_build.support.bank.choice import bank_weights, choose_bank, compare_with_bank
from kina_build.support.bank.features import Cards, Place, item_features, lay_cards, split_domains
from kina_build.support.bank.labels import ItemLabel, PairLabel, settle_labels
from kina_build.support.bank.listing import (
    BankSupport,
    Domain,
    Rechecked,
    describe_bank,
    lay_matrix,
    list_conflicts,
    list_rows,
)
from kina_build.support.bank.signatures import Signature
from kina_build.support.embedding import Embed

Reread = Callable[[Sequence[Item]], Mapping[str, float]]
"""Gets a second reading of the raw alignment of items, 0 to 1, by item; what it cannot read is left out."""


@dataclass(frozen=True)
class Work:
    """Everything that a pass over the domains works with."""

    items: Sequence[Item]
    """Sorted by id."""
    cards: Cards
    places: Sequence[Place]
    item_labels: Sequence[ItemLabel]
    pair_labels: Sequence[PairLabel]
    difficulty: Mapping[str, float]
    """Share of the models that are wrong, by item."""
    rules: SupportRules
    seed: int


def support_by_bank(
    items: Sequence[Item],
    anchors: Sequence[Anchor],
    *,
    item_labels: Sequence[ItemLabel],
    pair_labels: Sequence[PairLabel],
    embed: Embed,
    signatures: Mapping[str, Signature] | None = None,
    difficulty: Mapping[str, float] | None = None,
    recheck: tuple[int, Reread] | None = None,
    rules: SupportRules = SupportRules(),
    seed: int = 0,
) -> BankSupport:
    """Build each domain's reference bank and score its shortlist against it.

    Rows of the matrix are the shortlisted items, columns the members of the banks, with
    mu shared equally by the domains. A domain without anchors, or whose bank stays
    empty, is left to people.

    Args:
        items: the pool.
        anchors: reference-only anchors; one without a domain serves all. One of kind item with the id
            of an item of the pool is that item: compared with, never a candidate.
        item_labels: whether items are aligned.
        pair_labels: whether pairs share support, and are duplicates.
        embed: texts to unit vectors.
        signatures: by item or anchor id; what has none gets one derived from its wording.
        difficulty: share of models that are wrong, 0 to 1, by item.
        recheck: how many items of uncertain alignment to read again, and what reads them.
        rules: every threshold.
        seed: of the bootstrap samples.

    Raises:
        InputError: too few labels, or an id that an item and another kind of anchor share.
        Refusal: every domain is left to people, or experts agree by chance only.
    """
    ordered = sorted(items, key=lambda item: item.item_id)
    references = sorted(anchors, key=lambda anchor: anchor.anchor_id)
    ours = reference_ids(ordered, references)
    shared = {item.item_id for item in ordered} & {anchor.anchor_id for anchor in references} - ours
    if shared:
        raise InputError(
            f"{min(shared)!r} is the id of an item and of an anchor",
            hint="an anchor that is this item has the kind item",
        )
    apart = [anchor for anchor in references if anchor.anchor_id not in ours]
    cards = lay_cards(ordered, apart, signatures or {}, embed)
    places = split_domains(cards, ordered, ours)
    singles, pairs = settle_labels(item_labels, rules), settle_labels(pair_labels, rules)
    work = Work(ordered, cards, places, singles.labels, pairs.labels, difficulty or {}, rules, seed)
    fits, domains, manual = run_domains(work)
    again = None
    if recheck:
        work, again = read_again(work, domains, *recheck)
        fits, domains, manual = run_domains(work)
    if not domains:
        said = "; ".join(f"{name or 'items without a domain'}: {why}" for name, why in sorted(manual.items()))
        raise Refusal(f"every domain is left to manual review ({said}); nothing was written")
    rows = list_rows(cards, places, domains, again.ids if again else ())
    return BankSupport(
        lay_matrix(cards, domains, rules.scale),
        rows,
        list_conflicts(cards, domains, fits, pairs.labels, rules),
        describe_bank(domains, rows, manual, fits, again)
        | {"labels": {"items": singles.describe(), "pairs": pairs.describe()}},
    )


def run_domains(work: Work) -> tuple[DomainFits, list[Domain], dict[str, str]]:
    """Fit the calibrators and take every domain through the appendix; name those left to people, and why."""
    manual = {place.domain: "it has no anchors" for place in work.places if not len(place.references)}
    manual |= {place.domain: "all its items are anchors" for place in work.places if not len(place.rows)}
    ready = [place for place in work.places if place.domain not in manual]
    fits = fit_calibrators(
        work.cards, ready, work.item_labels, work.pair_labels, rules=work.rules, seed=work.seed
    )
    domains: list[Domain] = []
    for place in ready:
        domain = run_domain(work, place, fits.of(place.domain))
        if domain:
            domains.append(domain)
        else:
            manual[place.domain] = "no item is surely aligned, so that its bank is empty"
    return fits, domains, manual


def run_domain(work: Work, place: Place, fits: Fits) -> Domain | None:
    """Take one domain from alignment to its shortlist; None when its bank stays empty."""
    cards, items, rules = work.cards, work.items, work.rules
    features = item_features(cards, place)
    alignment = np.round(fits.alignment.probability(features), 6)
    lower, upper = np.round(fits.alignment.bounds(features, rules.lower_quantile), 6)
    bank, copies = choose_bank(
        cards, place.rows, alignment=alignment, lower=lower, judge=fits.pairs, rules=rules
    )
    if not len(bank):
        return None
    mu = bank_weights(np.array([stratum_of(items[row]) for row in bank]), rules.stratum_mass)
    compared = compare_with_bank(cards, place, bank=bank, mu=mu, judge=fits.pairs, rules=rules)
    threshold = float(np.percentile(compared.centrality_lower, rules.shortlist_percentile))
    reasons = tuple(
        _reason(work.difficulty.get(items[row].item_id), low, middle >= threshold, rules)
        for row, low, middle in zip(place.rows, lower, compared.centrality_lower, strict=True)
    )
    return Domain(place, alignment, lower, upper, bank, copies, mu, compared, round(threshold, 6), reasons)


def read_again(work: Work, domains: Sequence[Domain], most: int, reread: Reread) -> tuple[Work, Rechecked]:
    """Have the least certain items read a second time, and take the mean of both readings.

    Uncertain, U_d, is an item whose interval of alignment holds a bar: alpha_ref or alpha_A. The
    widest intervals come first, the domains in turn.

    Args:
        work: of the first pass.
        domains: what came of it.
        most: items that may be read again.
        reread: reads them.
    """
    turns = sorted(
        (turn, domain.place.domain, row)
        for domain in domains
        for turn, row in enumerate(_uncertain(domain, work.rules))
    )
    picked = [row for _, _, row in turns[:most]]
    read = reread([work.items[row] for row in picked]) if picked else {}
    raw = work.cards.raw.copy()
    for row in picked:
        second = read.get(work.cards.ids[row])
        if second is not None:
            raw[row] = second if np.isnan(raw[row]) else (raw[row] + second) / 2
    told = Rechecked(uncertain=len(turns), asked=len(picked), ids=tuple(sorted(read)))
    return replace(work, cards=replace(work.cards, raw=raw)), told


def _uncertain(domain: Domain, rules: SupportRules) -> list[int]:
    """Return the rows of a domain whose interval of alignment holds a bar, widest first."""
    low, high = domain.alignment_lower, domain.alignment_upper
    bars = (rules.bank_alignment, rules.shortlist_alignment)
    unsure = np.any([(low < bar) & (bar <= high) for bar in bars], axis=0)
    order = np.lexsort((domain.place.rows, -(high - low)))
    return [int(domain.place.rows[at]) for at in order if unsure[at]]


def _reason(difficulty: float | None, alignment: float, is_central: bool, rules: SupportRules) -> str:
    """Name the first bar that an item misses; items of unknown difficulty pass that one."""
    if alignment < rules.shortlist_alignment:
        return "alignment"
    if not is_central:
        return "centrality"
    if difficulty is not None and not rules.difficulty_least <= difficulty <= rules.difficulty_most:
        return "difficulty"
    return ""
