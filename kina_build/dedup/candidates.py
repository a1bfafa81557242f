"""Which pairs are worth comparing: close vectors, equal letters, nearest across languages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.lexical import Common, Reading
from kina_build.dedup.neighbours import VectorIndex, build_index, find_nearest
from kina_build.dedup.scan import RECHECKED_AT_ONCE, row_cosines

Vectors = NDArray[np.float32]
RowPair = tuple[int, int]
"""Two rows, the smaller one first."""


def lexical_pairs(readings: Sequence[Reading], common: Common, limit: int) -> tuple[set[RowPair], int]:
    """Pair items with equal letters: whatever an encoder makes of them, they are compared.

    Equal stem and options; equal stem and right answer; equal options and right answer,
    where they tell items apart; equal passage.

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
        if reading.gold and not common.generic_stem(reading.stem):
            akin["gold", reading.stem, reading.gold].append(row)
        if reading.gold and sum(map(common.tells, reading.options)) > 1:
            akin["options", reading.options, reading.gold].append(row)
        if reading.material:
            akin["passage", reading.material].append(row)
    small = [rows for rows in akin.values() if len(rows) <= limit]
    pairs = {pair for rows in (*copies.values(), *small) for pair in combinations(rows, 2)}
    return pairs, len(akin) - len(small)


def cosines_of(vectors: Vectors, pairs: Sequence[RowPair]) -> NDArray[np.float64]:
    """Compute the cosines of some pairs of rows, rounded."""
    left = np.fromiter((pair[0] for pair in pairs), dtype=np.int64, count=len(pairs))
    right = np.fromiter((pair[1] for pair in pairs), dtype=np.int64, count=len(pairs))
    cosines = np.empty(len(pairs))
    for start in range(0, len(pairs), RECHECKED_AT_ONCE):  # bounded memory: rows are copied
        part = slice(start, start + RECHECKED_AT_ONCE)
        cosines[part] = row_cosines(vectors[left[part]], vectors[right[part]])
    return cosines


def cross_lingual_pairs(
    vectors: Vectors, languages: Sequence[str], rules: DedupRules = DedupRules()
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
    indices = {
        language: build_index([str(row) for row in rows], vectors[rows]) for language, rows in rows_of.items()
    }
    found: dict[RowPair, float] = {}
    for first, second in combinations(sorted(rows_of), 2):
        here, there = rows_of[first], rows_of[second]
        forth = _leading(indices[second], vectors[here], rules)
        back = _leading(indices[first], vectors[there], rules)
        for row, (other, cosine) in forth.items():
            if back.get(other, (None, 0.0))[0] == row:
                found[_ordered(here[row], there[other])] = cosine
    return found


def _leading(index: VectorIndex, queries: Vectors, rules: DedupRules) -> dict[int, tuple[int, float]]:
    """Return the nearest row of each query that is near enough and leads the second nearest."""
    cosines, targets = find_nearest(index, queries, 2)
    lead = cosines[:, 0] - cosines[:, 1] if cosines.shape[1] > 1 else np.full(len(queries), np.inf)
    good = np.flatnonzero((cosines[:, 0] >= rules.cross_threshold) & (lead >= rules.cross_margin))
    return {int(row): (int(targets[row, 0]), float(cosines[row, 0])) for row in good}


def _ordered(one: int, other: int) -> RowPair:
    return (one, other) if one < other else (other, one)
