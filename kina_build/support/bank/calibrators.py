"""The calibrators of the reference bank, fitted on the labels of people: for all domains, and for one.

Source: KINA, Appendix B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from kina_build.config import SupportRules
from kina_build.errors import InputError
from kina_build.support.bank.features import (
    ITEM_FEATURES,
    PAIR_FEATURES,
    Cards,
    Place,
    item_features,
    pair_features,
)
from kina_build.support.bank.labels import ItemLabel, PairLabel
from kina_build.support.bank.logistic import Calibrator, Floats, fit_calibrator


@dataclass(frozen=True)
class PairJudge:
    """The two calibrators of pairs: shared support T and duplicate risk U."""

    support: Calibrator
    duplicate: Calibrator
    discount: float
    """lambda_dup."""

    def score(self, features: NDArray[np.floating], which: int = 0) -> Floats:
        """Return s = max(0, T - lambda_dup * U) by the fit (0) or by one refit, shape (pairs,)."""
        shared = self.support.refit(features, which)
        return np.asarray(np.maximum(0, shared - self.discount * self.duplicate.refit(features, which)))


@dataclass(frozen=True)
class Fits:
    """What serves a domain: alignment of items, and the two of pairs."""

    alignment: Calibrator
    pairs: PairJudge

    def describe(self) -> dict[str, Any]:
        """Return labels and coefficients, for the report."""
        pairs = {"support": self.pairs.support, "duplicate": self.pairs.duplicate}
        return {name: _describe(fit) for name, fit in ({"alignment": self.alignment} | pairs).items()}


@dataclass(frozen=True)
class DomainFits:
    """All that was learnt from labels."""

    pooled: Fits
    """By the labels of all domains."""
    unused: int
    """Item labels in domains without anchors, or of reference items."""
    own: Mapping[str, Fits] = field(default_factory=dict)
    """By domain whose own labels suffice for any; the pooled calibrators in the place of the others."""

    def of(self, domain: str) -> Fits:
        """Return what serves a domain."""
        return self.own.get(domain, self.pooled)

    def describe(self) -> dict[str, Any]:
        """Return labels and coefficients, for the report."""
        own = {
            domain: {
                name: said for name, said in fits.describe().items() if said != self.pooled.describe()[name]
            }
            for domain, fits in sorted(self.own.items())
        }
        return (
            self.pooled.describe() | {"unused_item_labels": self.unused} | ({"by_domain": own} if own else {})
        )


@dataclass(frozen=True)
class _Labelled:
    """Labels with the features of what they are about, in the order of the rows."""

    features: Floats
    members: NDArray[np.int64]
    """Rows of the items behind each label, shape (labels, 1) or (labels, 2)."""
    names: tuple[str, ...]
    """Of the features."""
    labels: Mapping[str, NDArray[np.bool_]]
    """What is said: alignment, or support and duplicate; each of shape (labels,)."""

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.members)

    def rarest(self, what: str) -> int:
        """Count the labels of the rarer class."""
        positive = int(self.labels[what].sum())
        return min(positive, len(self) - positive)

    def within(self, rows: NDArray[np.int64]) -> _Labelled:
        """Return those whose members all stand in some rows."""
        kept = np.isin(self.members, rows).all(axis=1)
        said = {what: labels[kept] for what, labels in self.labels.items()}
        return _Labelled(self.features[kept], self.members[kept], self.names, said)


def fit_calibrators(
    cards: Cards,
    places: Sequence[Place],
    item_labels: Sequence[ItemLabel],
    pair_labels: Sequence[PairLabel],
    *,
    rules: SupportRules,
    seed: int,
) -> DomainFits:
    """Fit alignment on item labels, shared support and duplicate risk on pair labels.

    One fit serves all domains; a domain with `rules.domain_item_labels` (or `domain_pair_labels`) of its
    own, though not with all there are, has one of its own.

    Raises:
        InputError: too few labels, or too few of one class; says of which calibrator.
    """
    items, pairs = _label_items(cards, places, item_labels), _label_pairs(cards, pair_labels)
    fit = partial(_fit, rules=rules, rng=np.random.default_rng(seed))
    alignment, support = fit("alignment", items), fit("support", pairs)
    pooled = Fits(alignment, PairJudge(support, fit("duplicate", pairs), rules.duplicate_discount))
    own = {}
    for place in places:
        rng = np.random.default_rng([seed, crc32(place.domain.encode("utf-8", "surrogatepass"))])
        fits = _fit_own(place, items, pairs, pooled, partial(_fit, rules=rules, rng=rng))
        if fits is not pooled:
            own[place.domain] = fits
    return DomainFits(pooled, len(item_labels) - len(items), own)


def _fit_own(
    place: Place, items: _Labelled, pairs: _Labelled, pooled: Fits, fit: partial[Calibrator]
) -> Fits:
    """Fit what a domain has labels enough for; the rest is pooled."""
    rules: SupportRules = fit.keywords["rules"]
    mine = items.within(place.rows)
    ours = pairs.within(np.concatenate([place.rows, place.references]))
    own = {
        what: fit(what, part)
        for what, part, whole, least in (
            ("alignment", mine, items, rules.domain_item_labels),
            ("support", ours, pairs, rules.domain_pair_labels),
            ("duplicate", ours, pairs, rules.domain_pair_labels),
        )
        if least <= len(part) < len(whole) and part.rarest(what) >= rules.class_least
    }
    if not own:
        return pooled
    judge = PairJudge(
        own.get("support", pooled.pairs.support),
        own.get("duplicate", pooled.pairs.duplicate),
        rules.duplicate_discount,
    )
    return Fits(own.get("alignment", pooled.alignment), judge)


def _label_items(cards: Cards, places: Sequence[Place], labels: Sequence[ItemLabel]) -> _Labelled:
    features = {
        int(row): values
        for place in places
        for row, values in zip(place.rows, item_features(cards, place), strict=True)
    }
    usable = sorted(
        (cards.number[label.item_id], label.aligned)
        for label in labels
        if cards.number[label.item_id] in features
    )
    return _Labelled(
        np.array([features[row] for row, _ in usable]).reshape(-1, len(ITEM_FEATURES)),
        np.array([row for row, _ in usable], dtype=np.int64).reshape(-1, 1),
        ITEM_FEATURES,
        {"alignment": np.array([value for _, value in usable], dtype=bool)},
    )


def _label_pairs(cards: Cards, labels: Sequence[PairLabel]) -> _Labelled:
    rows = sorted(
        (*sorted((cards.number[p.item_id], cards.number[p.other_id])), p.support, p.duplicate) for p in labels
    )
    ends = np.array([row[:2] for row in rows], dtype=np.int64).reshape(-1, 2)
    said = np.array([row[2:] for row in rows], dtype=bool).reshape(-1, 2)
    features = pair_features(cards, ends[:, 0], ends[:, 1])
    return _Labelled(features, ends, PAIR_FEATURES, {"support": said[:, 0], "duplicate": said[:, 1]})


def _fit(what: str, given: _Labelled, *, rules: SupportRules, rng: np.random.Generator) -> Calibrator:
    try:
        return fit_calibrator(
            given.names,
            features=given.features,
            labels=given.labels[what],
            members=given.members,
            rules=rules,
            rng=rng,
        )
    except InputError as error:
        raise InputError(f"calibrator of {what}: {error.message}", hint=error.hint) from None


def _describe(fit: Calibrator) -> dict[str, Any]:
    names = ("intercept", *fit.names)
    weights = {name: round(float(w), 4) for name, w in zip(names, fit.coefficients[0], strict=True)}
    return {"labels": fit.labels, "positive": fit.positive, "coefficients": weights}
