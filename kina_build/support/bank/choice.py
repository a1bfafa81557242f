"""One domain of the reference bank: its members, whom an item is compared with, support, centrality.

Source: KINA, Appendix B; the numbers it leaves open are in `SupportRules`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kina_build.config import SupportRules
from kina_build.support.bank.calibrators import PairJudge
from kina_build.support.bank.features import Cards, Place, pair_features

COSINE_STEPS = 10_000
"""Cosines are ordered in steps of 1e-4, ties by row: rounding noise cannot reorder neighbours."""

ROWS_AT_ONCE = 512
"""Items compared with the bank at once."""

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparisons:
    """Whom each item is compared with, and what came of it."""

    near: Numbers
    """Places in the bank, shape (items, k); -1 fills rows of a bank smaller than k."""
    support: Floats
    """s(q, u) for these, same shape; 0 where near is -1, 1 where the item is u itself."""
    centrality: Floats
    """C(q), shape (items,)."""
    centrality_lower: Floats
    """Its `delta` quantile over the refits."""


def choose_bank(
    cards: Cards,
    rows: Numbers,
    *,
    alignment: Floats,
    lower: Floats,
    judge: PairJudge,
    rules: SupportRules,
) -> tuple[Numbers, Numbers]:
    """Choose a domain's reference bank: well aligned for sure, and no two of a kind.

    Candidates come in order of alignment, then id; one whose duplicate risk with a
    member reaches `rules.bank_duplicate` stays out. Only the nearest neighbours of each
    candidate are looked at.

    Returns:
        Rows of the members, in order of id; and rows left out as duplicates.
    """
    sure = np.flatnonzero(lower >= rules.bank_alignment)
    order = sure[np.lexsort((rows[sure], -np.round(alignment[sure], 6)))]
    candidates = rows[order]
    twins = _twins(cards, candidates, judge, rules)
    taken: set[int] = set()
    for place in range(len(candidates)):
        if not twins[place] & taken:
            taken.add(place)
    kept = np.array(sorted(candidates[place] for place in taken), dtype=np.int64)
    return kept, np.setdiff1d(candidates, kept)


def nearest(texts: NDArray[np.float32], queries: Numbers, bank: Numbers, k: int) -> Numbers:
    """Return the k nearest bank members of each query by cosine, shape (queries, k), -1 where fewer.

    Equal cosines go by place in the bank. A block of queries is compared at a time, so
    that the full table of cosines never exists.
    """
    size = min(k, len(bank))
    found = np.full((len(queries), k), -1, dtype=np.int64)
    for start in range(0, len(queries), ROWS_AT_ONCE):
        block = queries[start : start + ROWS_AT_ONCE]
        steps = np.rint(texts[block] @ texts[bank].T * COSINE_STEPS).astype(np.int64)
        # one number for (cosine, place) makes the order total
        keys = -steps * len(bank) + np.arange(len(bank))
        top = np.argpartition(keys, size - 1, axis=1)[:, :size]
        found[start : start + ROWS_AT_ONCE, :size] = np.take_along_axis(
            top, np.argsort(np.take_along_axis(keys, top, axis=1), axis=1), axis=1
        )
    return found


def compare_with_bank(
    cards: Cards, place: Place, *, bank: Numbers, mu: Floats, judge: PairJudge, rules: SupportRules
) -> Comparisons:
    """Score each item of a domain against its nearest bank members and the reference-only anchors.

    C(q) = sum over its neighbours u of mu(u) s(q, u) + (1 - their mass) * mean over the
    reference-only anchors of s(q, a): what the neighbours do not weigh, the anchors do.

    Args:
        cards: everything.
        place: the domain.
        bank: the members, shape (members,).
        mu: their weights, sum 1.
        judge: the pair calibrators.
        rules: k, delta.
    """
    rows, references = place.rows, place.references
    near = nearest(cards.texts, rows, bank, rules.neighbours)
    near = _with_self(near, rows, bank)
    known = near >= 0
    others = bank[np.where(known, near, 0)]
    itself = known & (others == rows[:, None])
    masses = np.where(known, mu[near], 0.0)
    to_bank = pair_features(cards, np.repeat(rows, near.shape[1]), others.ravel())
    to_anchors = pair_features(cards, np.repeat(rows, len(references)), np.tile(references, len(rows)))

    def centrality(which: int) -> tuple[Floats, Floats]:
        support = judge.score(to_bank, which).reshape(near.shape)
        support = np.where(itself, 1.0, np.where(known, support, 0.0))
        tail = judge.score(to_anchors, which).reshape(len(rows), len(references)).mean(axis=1)
        return support, (masses * support).sum(axis=1) + (1 - masses.sum(axis=1)) * tail

    support, central = centrality(0)
    refits = np.array([centrality(which)[1] for which in judge.support.refits()])
    lower = np.quantile(refits, rules.lower_quantile, axis=0)
    return Comparisons(near, support, np.round(central, 6), np.round(lower, 6))


def bank_weights(strata: NDArray[np.str_], mass: dict[str, float]) -> Floats:
    """Return mu(u) = omega(stratum) / members of the stratum, sum 1; omega is 1 unless named."""
    names, code, count = np.unique(strata, return_inverse=True, return_counts=True)
    omega = np.array([mass.get(str(name), 1.0) for name in names])
    return np.asarray((omega / omega.sum() / count)[code])


def _twins(cards: Cards, candidates: Numbers, judge: PairJudge, rules: SupportRules) -> list[set[int]]:
    """Return for each candidate the places of those it is a duplicate of."""
    twins: list[set[int]] = [set() for _ in candidates]
    if len(candidates) < 2:
        return twins
    near = nearest(cards.texts, candidates, candidates, rules.neighbours + 1)
    one, column = np.nonzero((near >= 0) & (near != np.arange(len(candidates))[:, None]))
    two = near[one, column]
    risk = judge.duplicate.probability(pair_features(cards, candidates[one], candidates[two]))
    for a, b in zip(one[risk >= rules.bank_duplicate], two[risk >= rules.bank_duplicate], strict=True):
        twins[a].add(int(b))
        twins[b].add(int(a))
    return twins


def _with_self(near: Numbers, rows: Numbers, bank: Numbers) -> Numbers:
    """Put a member into its own comparison set where copies crowded it out."""
    place = {int(row): index for index, row in enumerate(bank)}
    near = near.copy()
    for index, row in enumerate(rows.tolist()):
        own = place.get(row)
        if own is not None and own not in near[index]:
            near[index, -1] = own
    return near
