"""All pairs above a cosine within one set of vectors, by FAISS: for sets small enough to be compared flat.

FAISS says which pairs to look at; their cosines are computed as `scan` computes them, so both
ways find the same pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.scan import SLACK, Pairs, check_count, check_unit, joined, row_cosines
from kina_build.progress import Progress, silent

Vectors = NDArray[np.float32]

ROWS_AT_ONCE = 512
"""Rows that are looked up at once."""


def flat_pairs(
    vectors: Vectors,
    threshold: float,
    rules: DedupRules = DedupRules(),
    on_progress: Progress = silent,
) -> Pairs:
    """Find every pair of rows whose cosine, rounded to 4 decimals, reaches a threshold.

    Args:
        vectors: shape (n, dimension), float32 rows of length 1.
        threshold: in (0, 1].
        rules: most pairs.
        on_progress: told (rows done, rows).

    Raises:
        InputError: a row that is not of length 1 (FAISS would never match it, and not say so).
        Refusal: more pairs than rules.pair_limit.
    """
    check_unit(vectors)
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    found: list[Pairs] = []
    count = 0
    with _one_thread() as faiss:
        index = faiss.IndexFlatIP(rows.shape[1])
        index.add(rows)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            found.append(_later(index, rows, start, threshold))
            count += len(found[-1])
            check_count(count, threshold, rules)
            on_progress(min(start + ROWS_AT_ONCE, len(rows)), len(rows))
    return joined(found)


def _later(index: Any, rows: Vectors, start: int, threshold: float) -> Pairs:
    """Find the pairs of some rows with rows after them."""
    part = rows[start : start + ROWS_AT_ONCE]
    # FAISS's range search is strict (> T) and sums in another order than `row_cosines`
    limits, _, targets = index.range_search(part, threshold - SLACK)
    left = np.repeat(np.arange(start, start + len(part)), np.diff(limits.astype(np.int64)))
    right = targets.astype(np.int64)
    later = left < right
    left, right = left[later], right[later]
    cosines = row_cosines(rows[left], rows[right])
    kept = cosines >= threshold
    return Pairs(left[kept], right[kept], cosines[kept])


@contextmanager
def _one_thread() -> Iterator[Any]:
    """Give FAISS one thread while it works: those of its BLAS wait for one another by spinning."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield faiss
    finally:
        faiss.omp_set_num_threads(before)
