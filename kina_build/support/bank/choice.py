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
Risk = tuple[int, int, float]
"""Rows of two items, and their duplicate risk."""


@dataclass(frozen=True)
class Comparisons:
    """Whom each item is compared with, and what came of it; nobody is compared with itself."""

    items: Numbers
    """Place in the domain's rows of each pair's item, ascending, shape (pairs,)."""
    members: Numbers
    """Place in the bank of each pair's member, same shape."""
    support: Floats
    """s(q, u), same shape."""
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


def find_neighbours(
    texts: NDArray[np.float32], rows: Numbers, bank: Numbers, k: int
) -> tuple[Numbers, Numbers]:
    """Pair each item with its k nearest members other than itself, and each member with its k nearest items.

    Both directions: an item in a crowd, and a member that is nobody's first, are compared too.

    Returns:
        Places in `rows` and in `bank` of each pair, ascending.
    """
    ours, theirs = _nearest_others(texts, rows, bank, k), _nearest_others(texts, bank, rows, k)
    items, column = np.nonzero(ours >= 0)
    members, place = np.nonzero(theirs >= 0)
    pairs = np.unique(
        np.concatenate(
            [items * len(bank) + ours[items, column], theirs[members, place] * len(bank) + members]
        )
    )
    return pairs // len(bank), pairs % len(bank)


def compare_with_bank(
    cards: Cards, place: Place, *, bank: Numbers, mu: Floats, judge: PairJudge, rules: SupportRules
) -> Comparisons:
    """Score each item of a domain against its neighbours in the bank and the reference-only anchors.

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
    items, members = find_neighbours(cards.texts, rows, bank, rules.neighbours)
    masses = mu[members]
    rest = 1 - np.bincount(items, masses, minlength=len(rows))
    to_bank = pair_features(cards, rows[items], bank[members])
    to_anchors = pair_features(cards, np.repeat(rows, len(references)), np.tile(references, len(rows)))

    def centrality(which: int) -> tuple[Floats, Floats]:
        support = judge.score(to_bank, which)
        tail = judge.score(to_anchors, which).reshape(len(rows), len(references)).mean(axis=1)
        return support, np.bincount(items, masses * support, minlength=len(rows)) + rest * tail

    support, central = centrality(0)
    refits = np.array([centrality(which)[1] for which in judge.support.refits()])
    lower = np.quantile(refits, rules.lower_quantile, axis=0)
    return Comparisons(items, members, support, np.round(central, 6), np.round(lower, 6))


def find_duplicates(cards: Cards, rows: Numbers, judge: PairJudge, rules: SupportRules) -> list[Risk]:
    """List the pairs of nearest neighbours whose duplicate risk U exceeds tau_dup, `rules.bank_duplicate`."""
    one, two = find_neighbours(cards.texts, rows, rows, rules.neighbours)
    once = one < two
    one, two = rows[one[once]], rows[two[once]]
    risk = np.round(judge.duplicate.probability(pair_features(cards, one, two)), 6)
    return [
        (int(a), int(b), float(u)) for a, b, u in zip(one, two, risk, strict=True) if u > rules.bank_duplicate
    ]


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
    one, two = find_neighbours(cards.texts, candidates, candidates, rules.neighbours)
    risk = judge.duplicate.probability(pair_features(cards, candidates[one], candidates[two]))
    for a, b in zip(one[risk >= rules.bank_duplicate], two[risk >= rules.bank_duplicate], strict=True):
        twins[a].add(int(b))
        twins[b].add(int(a))
    return twins


def _nearest_others(texts: NDArray[np.float32], queries: Numbers, bank: Numbers, k: int) -> Numbers:
    """Return, as `nearest`, the k nearest members that are not the query itself."""
    near = nearest(texts, queries, bank, k + 1)
    itself = (near >= 0) & (bank[near] == queries[:, None])
    # stable: the query itself goes last, the others keep their order
    order = np.argsort(itself, axis=1, kind="stable")
    near = np.take_along_axis(np.where(itself, -1, near), order, axis=1)
    return np.asarray(near[:, :k])
