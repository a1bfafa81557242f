"""Nearest vectors of another set, by FAISS: cross-set queries and an index that is kept.

All pairs within one set are found faster by `scan.pairs_above`. FAISS is asked with
care: its range search is strict, it takes float32 rows of length 1 in C order only, a
wrong dimension is a bare assertion, and NaN never matches silently.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.scan import DECIMALS, SLACK, Pairs, check_unit, joined
from kina_build.errors import InputError
from kina_build.jsonl import writing
from kina_build.progress import Progress, silent

Vectors = NDArray[np.float32]

QUERIES_AT_ONCE = 1024
RECALL_QUERIES = 200
"""Vectors whose true neighbours are computed to measure an inverted file's recall."""


@dataclass(frozen=True)
class VectorIndex:
    """Vectors ready to be searched, and what they are."""

    ids: tuple[str, ...]
    dimension: int
    encoder: str
    revision: str
    recall: float
    """Share of true nearest neighbours found: 1 for a flat index, measured for an inverted file."""
    index: Any


def build_index(
    ids: Sequence[str],
    vectors: Vectors,
    encoder: tuple[str, str] = ("", ""),
    rules: DedupRules = DedupRules(),
) -> VectorIndex:
    """Put vectors into an index: flat (exact), or an inverted file above rules.ivf_above.

    Args:
        ids: one a row.
        vectors: shape (n, dimension), rows of length 1.
        encoder: name and revision of what made the vectors.
        rules: where the inverted file begins, and its least recall.

    Raises:
        InputError: a row that is not of length 1.
    """
    import faiss

    rows = _searchable(vectors)
    dimension = rows.shape[1]
    if len(rows) <= rules.ivf_above:
        index: Any = faiss.IndexFlatIP(dimension)
        index.add(rows)
        return VectorIndex(tuple(ids), dimension, *encoder, 1.0, index)
    lists = int(4 * math.sqrt(len(rows)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimension), dimension, lists, faiss.METRIC_INNER_PRODUCT)
    index.train(rows)
    index.add(rows)
    recall = _widen(index, rows, rules.ivf_recall)
    return VectorIndex(tuple(ids), dimension, *encoder, recall, index)


def find_within(
    index: VectorIndex, queries: Vectors, threshold: float, on_progress: Progress = silent
) -> Pairs:
    """Find the indexed vectors within a cosine of each query.

    Returns:
        Pairs of (query row, index row), cosines rounded and at or above the threshold.

    Raises:
        InputError: a query of another dimension or not of length 1.
    """
    rows = _matching(index, queries)
    found: list[Pairs] = []
    for start in range(0, len(rows), QUERIES_AT_ONCE):
        part = rows[start : start + QUERIES_AT_ONCE]
        limits, cosines, targets = index.index.range_search(part, threshold - SLACK)
        sources = np.repeat(np.arange(start, start + len(part)), np.diff(limits.astype(np.int64)))
        rounded = np.round(cosines.astype(np.float64), DECIMALS)
        kept = rounded >= threshold
        found.append(Pairs(sources[kept], targets[kept].astype(np.int64), rounded[kept]))
        on_progress(start + len(part), len(rows))
    return joined(found)


def find_nearest(
    index: VectorIndex, queries: Vectors, count: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Find the nearest indexed vectors of each query.

    Returns:
        Cosines (rounded) and index rows, each of shape (queries, min(count, indexed)), nearest
        first; equal cosines stand in index order.

    Raises:
        InputError: a query of another dimension or not of length 1.
    """
    rows = _matching(index, queries)
    cosines, targets = index.index.search(rows, min(count, len(index.ids)))
    rounded = np.round(cosines.astype(np.float64), DECIMALS)
    order = np.lexsort((targets, -rounded), axis=1)
    return np.take_along_axis(rounded, order, 1), np.take_along_axis(targets, order, 1).astype(np.int64)


def write_index(path: Path, index: VectorIndex) -> None:
    """Keep an index in a file, so that a large corpus is encoded and trained once."""
    import faiss

    with writing(path) as out:
        np.savez(
            out,
            ids=np.array(index.ids, dtype=np.str_),
            encoder=np.array([index.encoder, index.revision], dtype=np.str_),
            recall=np.float64(index.recall),
            index=faiss.serialize_index(index.index),
        )


def read_index(path: Path) -> VectorIndex:
    """Read an index that write_index kept.

    Raises:
        InputError: missing file, or not an index.
    """
    import faiss

    try:
        with np.load(path, allow_pickle=False) as stored:
            index = faiss.deserialize_index(stored["index"])
            name, revision = stored["encoder"].tolist()
            ids = tuple(stored["ids"].tolist())
            return VectorIndex(ids, index.d, name, revision, float(stored["recall"]), index)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (KeyError, ValueError, OSError, RuntimeError, zipfile.BadZipFile):
        raise InputError(f"{path}: not an index of vectors") from None


def _searchable(vectors: Vectors) -> Vectors:
    check_unit(vectors)
    return np.ascontiguousarray(vectors, dtype=np.float32)


def _matching(index: VectorIndex, queries: Vectors) -> Vectors:
    if queries.ndim != 2 or queries.shape[1] != index.dimension:
        raise InputError(
            f"queries of shape {queries.shape} do not fit an index of dimension {index.dimension}",
            hint="both sides must come from the same encoder",
        )
    return _searchable(queries)


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
