"""All pairs above a cosine within one set of vectors, by FAISS: for sets small enough to be compared flat.

FAISS says which pairs to look at; their cosines are computed as `scan` computes them, so both
ways find the same pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.search.scan import (
    DECIMALS,
    SLACK,
    Pairs,
    check_count,
    check_unit,
    joined,
    row_cosines,
)
from kina_build.progress import Progress, silent

Vectors = NDArray[np.float32]

Indices = NDArray[np.int64]

ROWS_AT_ONCE = 512
"""Rows that are looked up at once."""

FLAT_MARK = b"IxFI"
"""How FAISS begins a flat index by inner products."""
FLAT_HEAD_BYTES = 64
"""Most bytes before and between its rows."""


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
    index = _flat(rows)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        found.append(_later(index, rows, start, threshold))
        count += len(found[-1])
        check_count(count, threshold, rules)
        on_progress(min(start + ROWS_AT_ONCE, len(rows)), len(rows))
    return joined(found)


def _flat(vectors: Vectors) -> Any:
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(np.ascontiguousarray(vectors, dtype=np.float32))
    return index


def _later(index: Any, rows: Vectors, start: int, threshold: float) -> Pairs:
    """Find the pairs of some rows with rows after them."""
    sources, right = close_rows(index, rows[start : start + ROWS_AT_ONCE], threshold)
    left = sources + start
    later = left < right
    left, right = left[later], right[later]
    cosines = row_cosines(rows[left], rows[right])
    kept = cosines >= threshold
    return Pairs(left[kept], right[kept], cosines[kept])


def close_rows(index: Any, queries: Vectors, threshold: float) -> tuple[Indices, Indices]:
    """Return the queries and the indexed rows whose cosine may reach a threshold."""
    with _one_thread():
        # FAISS's range search is strict (> T) and sums in another order than `row_cosines`
        limits, _, targets = index.range_search(np.ascontiguousarray(queries), threshold - SLACK)
    sources = np.repeat(np.arange(len(queries)), np.diff(limits.astype(np.int64)))
    return sources, targets.astype(np.int64)


def flat_bytes(vectors: Vectors) -> NDArray[np.uint8]:
    """Write a flat index of some rows as FAISS does."""
    import faiss

    return np.asarray(faiss.serialize_index(_flat(vectors)))


def read_flat(written: NDArray[np.uint8], rows: int, dimension: int) -> Any:
    """Read a flat index of so many rows; None where it is something else."""
    import faiss

    head = len(written) - 4 * rows * dimension
    if written[:4].tobytes() != FLAT_MARK or not 0 < head <= FLAT_HEAD_BYTES:
        return None
    try:
        index = faiss.deserialize_index(np.ascontiguousarray(written))
    except RuntimeError:
        return None
    return index if (index.ntotal, index.d) == (rows, dimension) else None


def rows_of(index: Any, rows: Indices) -> Vectors:
    """Return some rows of a flat index."""
    found: Vectors = index.reconstruct_batch(rows)
    return found


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


QUERIES_AT_ONCE = 1024
RECALL_QUERIES = 200
"""Vectors whose true neighbours are computed to measure an inverted file's recall."""
POINTS_A_LIST = 64
"""Vectors an inverted file is trained on for each of its lists; FAISS asks for 39 at least."""

TRAINING_ROUNDS = 10


@dataclass(frozen=True)
class InvertedFile:
    """Vectors in lists of like ones, of which a search looks through the likeliest."""

    dimension: int
    lists: int
    searched: int
    """Lists a search looks through."""
    recall: float
    """Share of the nearest neighbours found, measured on a sample of the vectors."""
    index: Any


def build_inverted_file(vectors: Vectors, rules: DedupRules = DedupRules()) -> InvertedFile:
    """Put vectors into lists of like ones, and search as many lists as the wanted recall takes.

    Args:
        vectors: shape (n, dimension), rows of length 1.
        rules: least recall of the nearest neighbours.

    Raises:
        InputError: a row that is not of length 1 (FAISS would never match it, and not say so).
    """
    import faiss

    check_unit(vectors)
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    dimension = rows.shape[1]
    lists = max(1, int(2 * math.sqrt(len(rows))))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimension), dimension, lists, faiss.METRIC_INNER_PRODUCT)
    index.cp.max_points_per_centroid = POINTS_A_LIST
    index.cp.niter = TRAINING_ROUNDS
    index.train(rows)
    index.add(rows)
    recall = _widen(index, rows, rules.ivf_recall)
    return InvertedFile(dimension, lists, index.nprobe, recall, index)


def search(
    inverted: InvertedFile, queries: Vectors, threshold: float, on_progress: Progress = silent
) -> Pairs:
    """Find indexed vectors within a cosine of each query, most of them: see `InvertedFile.recall`.

    Returns:
        Pairs of (query row, index row), cosines rounded and at or above the threshold.
    """
    check_unit(queries)
    rows = np.ascontiguousarray(queries, dtype=np.float32)
    found: list[Pairs] = []
    for start in range(0, len(rows), QUERIES_AT_ONCE):
        part = rows[start : start + QUERIES_AT_ONCE]
        # FAISS's range search is strict (> T), and its ids are int64
        limits, cosines, targets = inverted.index.range_search(part, threshold - SLACK)
        sources = np.repeat(np.arange(start, start + len(part)), np.diff(limits.astype(np.int64)))
        rounded = np.round(cosines.astype(np.float64), DECIMALS)
        kept = rounded >= threshold
        found.append(Pairs(sources[kept], targets[kept].astype(np.int64), rounded[kept]))
        on_progress(start + len(part), len(rows))
    return joined(found)


def _widen(index: Any, rows: Vectors, wanted: float) -> float:
    """Search more lists until the measured recall suffices; return that recall."""
    sample = rows[:: max(1, len(rows) // RECALL_QUERIES)][:RECALL_QUERIES]
    truth = _second_nearest(sample, rows)
    recall, lists = 0.0, 1
    while recall < wanted and lists < index.nlist:
        lists = min(2 * lists, index.nlist)
        index.nprobe = lists
        cosines, _ = index.search(sample, 2)
        # compared by cosine: equal vectors may stand in any order
        recall = float(np.mean(cosines[:, 1] >= truth - SLACK))
    return recall


def _second_nearest(sample: Vectors, rows: Vectors) -> NDArray[np.float32]:
    """Return the exact second-largest cosine of each sample row (the largest is its own)."""
    best: Vectors = np.full((len(sample), 2), -1, dtype=np.float32)
    for start in range(0, len(rows), 65_536):
        products = sample @ rows[start : start + 65_536].T
        both = np.concatenate([best, products], axis=1)
        best = -np.partition(-both, 1, axis=1)[:, :2]
    return np.asarray(np.sort(best, axis=1)[:, 0])
