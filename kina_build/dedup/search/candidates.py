"""Which pairs are worth comparing: close vectors, equal letters, nearest across languages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.compare.boilerplate import Common
from kina_build.dedup.compare.lexical import Reading
from kina_build.dedup.search.scan import DECIMALS, RECHECKED_AT_ONCE, row_cosines
from kina_build.encode.vectorfiles import VectorSet

Vectors = NDArray[np.float32]
Indices = NDArray[np.int64]
RowPair = tuple[int, int]
"""Two rows, the smaller one first."""

ROWS_AT_ONCE = 2048
"""Rows of two languages whose products are held at once, on each side: 16 MB."""


def lexical_pairs(readings: Sequence[Reading], common: Common, limit: int) -> tuple[set[RowPair], int]:
    """Pair items with equal letters: whatever an encoder makes of them, they are compared.

    Equal stem and options; equal stem, but for blanks, hyphens and markup; equal options and
    right answer, where they tell items apart; equal passage.

    Args:
        readings: the items, folded.
        common: what is too common to tell.
        limit: largest group of the last three kinds that is paired.

    Returns:
        The pairs, and how many groups were too large.
    """
    copies: dict[object, list[int]] = defaultdict(list)
    akin: dict[object, list[int]] = defaultdict(list)
    for row, reading in enumerate(readings):
        copies[reading.stem, reading.loose_options].append(row)
        if not common.generic_stem(reading.stem):
            akin["stem", reading.stem_form].append(row)
        if reading.gold and sum(map(common.tells, reading.options)) > 1:
            akin["options", reading.options, reading.gold].append(row)
        if reading.material:
            akin["passage", reading.material].append(row)
    small = [rows for rows in akin.values() if len(rows) <= limit]
    pairs = {pair for rows in (*copies.values(), *small) for pair in combinations(rows, 2)}
    return pairs, len(akin) - len(small)


def cosines_of(vectors: VectorSet, pairs: Sequence[RowPair]) -> NDArray[np.float64]:
    """Compute the cosines of some pairs of rows, rounded."""
    left = np.fromiter((pair[0] for pair in pairs), dtype=np.int64, count=len(pairs))
    right = np.fromiter((pair[1] for pair in pairs), dtype=np.int64, count=len(pairs))
    cosines = np.empty(len(pairs))
    for start in range(0, len(pairs), RECHECKED_AT_ONCE):  # bounded memory: rows are copied
        part = slice(start, start + RECHECKED_AT_ONCE)
        cosines[part] = row_cosines(vectors[left[part]], vectors[right[part]])
    return cosines


def cross_lingual_pairs(
    vectors: VectorSet, languages: Sequence[str], rules: DedupRules = DedupRules()
) -> dict[RowPair, float]:
    """Pair items of two languages that are nearest to each other, with a margin.

    Parallel items sit at cosines where one language holds many unlike pairs, so nearness
    alone does not do: each must be the other's nearest, and lead the second nearest
    (margin criterion, Artetxe and Schwenk 2019, arXiv 1811.01136, as a difference).

    Returns:
        Pairs of rows with their cosine.
    """
    rows_of: dict[str, list[int]] = defaultdict(list)
    for row, language in enumerate(languages):
        rows_of[language.partition("-")[0].lower()].append(row)
    found: dict[RowPair, float] = {}
    for first, second in combinations(sorted(rows_of), 2):
        here, there = (np.array(rows_of[language], dtype=np.int64) for language in (first, second))
        forth = _leading(vectors, here, there, rules)
        back = _leading(vectors, there, here, rules)
        mutual = sorted(_ordered(row, other) for row, other in forth.items() if back.get(other) == row)
        found.update(zip(mutual, cosines_of(vectors, mutual).tolist(), strict=True))
    return found


def _leading(vectors: VectorSet, here: Indices, there: Indices, rules: DedupRules) -> dict[int, int]:
    """Return the nearest row of each row that is near enough and leads the second nearest."""
    found: dict[int, int] = {}
    for start in range(0, len(here), ROWS_AT_ONCE):
        rows = here[start : start + ROWS_AT_ONCE]
        cosines, nearest = _two_nearest(vectors, vectors[rows], there)
        first, second = np.round(cosines, DECIMALS)
        good = (first >= rules.cross_threshold) & (first - second >= rules.cross_margin)
        found.update(zip(rows[good].tolist(), nearest[good].tolist(), strict=True))
    return found


def _two_nearest(vectors: VectorSet, queries: Vectors, there: Indices) -> tuple[Vectors, Indices]:
    """Return the two highest cosines of each query, shape (2, queries), and the row of the first."""
    best: Vectors = np.full((2, len(queries)), -np.inf, dtype=np.float32)
    nearest = np.zeros(len(queries), dtype=np.int64)
    places = np.arange(len(queries))
    for start in range(0, len(there), ROWS_AT_ONCE):
        rows = there[start : start + ROWS_AT_ONCE]
        products = queries @ vectors[rows].T
        leader = products.argmax(axis=1)
        first = products[places, leader]
        products[places, leader] = -np.inf
        closer = first > best[0]
        nearest[closer] = rows[leader[closer]]
        four = np.stack([*best, first, products.max(axis=1)])
        best = -np.partition(-four, 1, axis=0)[:2]
    return best, nearest


def _ordered(one: int, other: int) -> RowPair:
    return (one, other) if one < other else (other, one)
