"""Close pairs without encoding every text: only those that share many telling word pieces with another.

Texts that are copies share words. On MMLU-Pro, at `fast_overlap`, all 161 duplicates and conflicts
and all 298 pairs for review are found with the one text in four that passes (TF-IDF, cosine of .50); an
encoder in 8 bits between the filter and full vectors cost as much as it saved.

What this misses is measured: a seeded sample of the texts that were left out is encoded as well, and compared
with all that is known. A missed pair of which one text passed shows where the other is drawn; a pair of which
none did only where both are. From the pairs seen and the chance of seeing one follows an upper bound on
all that were missed.
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
from kina_build.dedup.search.scan import Pairs, pairs_above
from kina_build.progress import Progress, silent

Vectors = NDArray[np.float32]
Indices = NDArray[np.int64]
Vectorise = Callable[[Indices], Vectors]
"""Vectors of some rows, shape (rows, dimension)."""

ROWS_AT_ONCE = 512

DOUBT = 0.05 / 2
"""Probability that one of the two parts of the bound is too low: together 5 %."""


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


def find_known(
    pieces: Sequence[Sequence[int]],
    encode: Vectorise,
    wanted: Sequence[int],
    rules: DedupRules = DedupRules(),
    *,
    seed: int = 0,
) -> tuple[KnownVectors, Approximation]:
    """Encode what may have a close text, and measure what that leaves out.

    Args:
        pieces: word pieces of each text.
        encode: returns vectors of rows.
        wanted: rows that are encoded whatever the filter says.
        rules: threshold, and the numbers that begin with `fast_`.
        seed: draws the sample.

    Returns:
        The vectors that are known, and what was left out.
    """
    count = len(pieces)
    passed = pass_filter(pieces, rules)
    chosen = np.union1d(passed, np.asarray(wanted, np.int64))
    outside = np.setdiff1d(np.arange(count), chosen)
    size = min(len(outside), max(rules.fast_least, math.ceil(rules.fast_sample * len(outside))))
    drawn = np.sort(np.random.default_rng(seed).choice(outside, size, replace=False))
    rows = np.union1d(chosen, drawn)
    known = KnownVectors(rows, encode(rows), count)
    return known, _measure(known, len(passed), drawn, len(outside), rules)


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


def _measure(
    known: KnownVectors, passed: int, drawn: Indices, outside: int, rules: DedupRules
) -> Approximation:
    """Estimate and bound the pairs that are missed, from those that the sample shows."""
    pairs = known.pairs(rules.threshold, rules)
    fresh = np.isin(np.stack([pairs.left, pairs.right]), drawn).sum(axis=0)
    chance = len(drawn) / outside if outside else 1.0
    other = (len(drawn) - 1) / (outside - 1) if outside > 1 else 1.0
    inside = known.total - outside
    parts = (
        (int((fresh == 1).sum()), chance, outside * inside),
        (int((fresh == 2).sum()), chance * other, outside * (outside - 1) // 2),
    )
    shown = sum(seen for seen, _, _ in parts)
    estimate, most = 0.0, 0.0
    for seen, likely, possible in parts:
        bound = seen if likely == 1 else poisson_bound(seen, DOUBT) / likely if likely else math.inf
        estimate += seen / likely if likely else 0
        most += min(bound, possible)
    missed = max(0.0, estimate - shown)
    return Approximation(
        passed=passed,
        encoded=len(known.rows),
        sampled=len(drawn),
        seen=shown,
        missed=round(missed, 1),
        missed_most=max(0, math.ceil(most) - shown),
        recall=round(len(pairs) / (len(pairs) + missed), 4) if len(pairs) else 1.0,
    )


def poisson_bound(seen: int, doubt: float) -> float:
    """Return the mean of a Poisson law above which `seen` or fewer are rarer than a doubt."""
    from scipy.special import gammaincinv

    return float(gammaincinv(seen + 1, 1 - doubt))
