"""Close pairs without encoding every text in full: filtered by words, then in 8 bits, then in full.

1. A text that shares few telling word pieces with every other text is left out (TF-IDF).
2. What is left is encoded in 8 bits, for half the price, and compared, all with all.
3. Texts that come near the threshold there are encoded in full, and compared again, all with all.

What this misses is measured: a seeded sample of the texts that were left out is encoded in full as well
and compared with all that is known. A missed pair of two texts that passed the filter, or of one that did,
shows where one end is drawn; a pair of two that did not only where both are. From the pairs seen and the
chance of seeing one follows an upper bound on all that were missed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.records import Approximation
from kina_build.dedup.search.across import scan_across
from kina_build.dedup.search.scan import Pairs, pairs_above
from kina_build.progress import Progress, silent

Vectors = NDArray[np.float32]
Indices = NDArray[np.int64]
Vectorise = Callable[[Indices], Vectors]
"""Vectors of some rows, shape (rows, dimension)."""

ROWS_AT_ONCE = 512
FILTERED_SHARE = 0.75
"""Share of the sample that is drawn from texts that did not pass the filter: their pairs are seen least."""

DOUBT = 0.05 / 3
"""Probability that one of the three parts of the bound is too low: together 5 %."""

WIDE_SLACK = 0.06
"""What 8 bits on one side may take off a cosine at most."""


@dataclass(frozen=True)
class KnownVectors:
    """Vectors of some rows of a set; the others were never encoded."""

    rows: Indices
    """Sorted."""
    vectors: Vectors
    total: int

    @property
    def shape(self) -> tuple[int, int]:
        """Return (rows of the set, dimension)."""
        return self.total, self.vectors.shape[1]

    def __len__(self) -> int:
        """Return how many rows the set has."""
        return self.total

    def __getitem__(self, rows: slice | Sequence[int] | Indices) -> Vectors:
        """Return the vectors of rows that are known."""
        wanted = np.arange(self.total)[rows] if isinstance(rows, slice) else np.asarray(rows, np.int64)
        return self.vectors[np.searchsorted(self.rows, wanted)]

    def pairs(
        self, threshold: float, rules: DedupRules = DedupRules(), on_progress: Progress = silent
    ) -> Pairs:
        """Find every pair of known rows whose cosine reaches a threshold."""
        found = pairs_above(self.vectors, threshold, rules, on_progress)
        return Pairs(self.rows[found.left], self.rows[found.right], found.cosines)


@dataclass(frozen=True)
class Sample:
    """Rows drawn from those that are not encoded in full."""

    outside: Indices
    """From those that did not pass the filter."""
    inside: Indices
    """From those that did."""
    outside_of: int
    inside_of: int

    @property
    def chances(self) -> tuple[float, float, float]:
        """Return the chance that a missed pair shows: of two outside, of one outside, of none."""
        first = len(self.outside) / self.outside_of if self.outside_of else 1.0
        second = len(self.inside) / self.inside_of if self.inside_of else 1.0
        others = (len(self.outside) - 1) / (self.outside_of - 1) if self.outside_of > 1 else 1.0
        return first * others, first, second

    def possible(self, count: int) -> tuple[int, int, int]:
        """Return how many pairs of each kind there are among so many texts."""
        others = count - self.outside_of
        return (
            self.outside_of * (self.outside_of - 1) // 2,
            self.outside_of * others,
            self.inside_of * others,
        )


def find_known(
    pieces: Sequence[Sequence[int]],
    small: Vectorise,
    full: Vectorise,
    wanted: Sequence[int],
    rules: DedupRules = DedupRules(),
    *,
    seed: int = 0,
) -> tuple[KnownVectors, Approximation]:
    """Encode in full what may have a close text, and measure what that leaves out.

    Args:
        pieces: word pieces of each text.
        small: encodes rows in 8 bits.
        full: encodes rows in full.
        wanted: rows that are encoded in full whatever the filters say.
        rules: threshold, and the numbers that begin with `fast_`.
        seed: draws the sample.

    Returns:
        The vectors that are known in full, and what was left out.
    """
    count = len(pieces)
    passed = np.union1d(pass_filter(pieces, rules), np.asarray(wanted, np.int64))
    rough = small(passed)
    near = _near(rough, rules.threshold - rules.fast_slack, rules)
    chosen = np.union1d(passed[near], np.asarray(wanted, np.int64))
    sample = _draw(chosen, passed, count, rules.fast_sample, seed)
    drawn = np.union1d(sample.outside, sample.inside)
    sampled = full(drawn)
    akin = scan_across(sampled, rough, rules.threshold - WIDE_SLACK, rules) if len(drawn) else None
    doubtful = passed[np.unique(akin.right)] if akin else passed[:0]
    more = np.setdiff1d(np.union1d(chosen, doubtful), drawn)
    rows = np.concatenate([drawn, more])
    order = np.argsort(rows)
    known = KnownVectors(rows[order], np.concatenate([sampled, full(more)])[order], count)
    return known, _measure(known, chosen, passed, sample, rules)


def pass_filter(pieces: Sequence[Sequence[int]], rules: DedupRules = DedupRules()) -> Indices:
    """Return the rows that share enough telling word pieces with another one (TF-IDF, cosine)."""
    weighed = weigh_pieces(pieces, rules.fast_common)
    turned = weighed.T.tocsr()
    best = np.zeros(len(pieces), dtype=np.float32)
    for start in range(0, len(pieces), ROWS_AT_ONCE):
        products = (weighed[start : start + ROWS_AT_ONCE] @ turned).tocsr()
        here = np.repeat(np.arange(products.shape[0]), np.diff(products.indptr)) + start
        other = products.indices != here
        np.maximum.at(best, here[other], products.data[other])
    return np.flatnonzero(best >= rules.fast_overlap)


def weigh_pieces(pieces: Sequence[Sequence[int]], common: float) -> Any:
    """Weigh word pieces by log counts and rarity, rows of length 1.

    Args:
        pieces: word pieces of each text.
        common: share of the texts from which on a piece that stands in them tells nothing.

    Returns:
        A sparse array, shape (texts, pieces).
    """
    from scipy import sparse

    lengths = np.array([len(row) for row in pieces])
    columns = np.fromiter((piece for row in pieces for piece in row), np.int64, int(lengths.sum()))
    rows = np.repeat(np.arange(len(pieces)), lengths)
    width = int(columns.max(initial=0)) + 1
    counts = sparse.coo_array(
        (np.ones(len(columns), np.float32), (rows, columns)), shape=(len(pieces), width)
    ).tocsr()
    counts.sum_duplicates()
    holders = np.bincount(counts.indices, minlength=width)
    rarity = np.log(len(pieces) / np.maximum(holders, 1)).astype(np.float32)
    rarity[holders > max(2, common * len(pieces))] = 0
    counts.data = (1 + np.log(counts.data)) * rarity[counts.indices]
    counts.eliminate_zeros()
    owners = np.repeat(np.arange(len(pieces)), np.diff(counts.indptr))
    lengths_of = np.sqrt(np.bincount(owners, counts.data.astype(np.float64) ** 2, len(pieces)))
    counts.data = (counts.data / lengths_of[owners]).astype(np.float32)
    return counts


def _near(vectors: Vectors, threshold: float, rules: DedupRules) -> Indices:
    """Return the places of vectors that have another one within a cosine."""
    found = pairs_above(vectors, threshold, rules)
    return np.union1d(found.left, found.right)


def _draw(chosen: Indices, passed: Indices, count: int, size: int, seed: int) -> Sample:
    """Draw rows of those that are not encoded in full: most from those that did not pass the filter."""
    rng = np.random.default_rng(seed)
    outside = np.setdiff1d(np.setdiff1d(np.arange(count), passed), chosen)
    inside = np.setdiff1d(passed, chosen)
    first = min(len(outside), max(round(size * FILTERED_SHARE), size - len(inside)))
    second = min(len(inside), size - first)
    drawn = [
        np.sort(rng.choice(rows, number, replace=False))
        for rows, number in ((outside, first), (inside, second))
    ]
    return Sample(drawn[0], drawn[1], len(outside), len(inside))


def _measure(
    known: KnownVectors, chosen: Indices, passed: Indices, sample: Sample, rules: DedupRules
) -> Approximation:
    """Estimate and bound the pairs that are missed, from those that the sample shows."""
    pairs = known.pairs(rules.threshold, rules)
    ends = np.stack([pairs.left, pairs.right])
    fresh = ~np.isin(ends, chosen).all(axis=0)
    outside = ~np.isin(ends, np.union1d(passed, chosen))
    drawn = np.isin(ends, np.union1d(sample.outside, sample.inside))
    both = outside.all(axis=0)
    one = outside.any(axis=0) & ~both
    counts = [
        int((both & drawn.all(axis=0)).sum()),
        int((one & (outside & drawn).any(axis=0)).sum()),
        int((fresh & ~outside.any(axis=0) & drawn.any(axis=0)).sum()),
    ]
    estimate, most = 0.0, 0.0
    for seen, chance, possible in zip(counts, sample.chances, sample.possible(known.total), strict=True):
        bound = seen if chance == 1 else poisson_bound(seen, DOUBT) / chance if chance else math.inf
        estimate += seen / chance if chance else 0
        most += min(bound, possible)
    shown = sum(counts)
    missed = max(0.0, estimate - shown)
    return Approximation(
        passed=len(passed),
        encoded=len(known.rows),
        sampled=len(sample.outside) + len(sample.inside),
        seen=shown,
        missed=round(missed, 1),
        missed_most=max(0, math.ceil(most) - shown),
        recall=round(len(pairs) / (len(pairs) + missed), 4) if len(pairs) else 1.0,
    )


def poisson_bound(seen: int, doubt: float) -> float:
    """Return the mean of a Poisson law above which `seen` or fewer are rarer than a doubt."""
    from scipy.special import gammaincinv

    return float(gammaincinv(seen + 1, 1 - doubt))
