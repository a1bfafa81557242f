"""Pairs across two sets: a pool and another corpus, or what is new and what was indexed before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.search.faiss import ROWS_AT_ONCE, build_inverted_file, close_rows, search
from kina_build.dedup.search.scan import (
    Block,
    Pairs,
    bound_rows,
    check_unit,
    compare_blocks,
    find_axes,
    joined,
    one_thread_each,
    row_cosines,
)
from kina_build.errors import InputError
from kina_build.progress import Progress, silent

Vectors = NDArray[np.float32]
Indices = NDArray[np.int64]


def find_across(
    queries: Vectors,
    corpus: Vectors,
    threshold: float,
    rules: DedupRules = DedupRules(),
    on_progress: Progress = silent,
) -> tuple[Pairs, float]:
    """Find the vectors of a corpus within a cosine of each query.

    Args:
        queries: shape (n, dimension), rows of length 1.
        corpus: shape (m, dimension), rows of length 1.
        threshold: in (0, 1].
        rules: from which size of corpus on FAISS searches an inverted file, and its recall.
        on_progress: told (queries done, queries).

    Returns:
        Pairs of (query row, corpus row), and the recall: 1 where the search was exact.

    Raises:
        InputError: the two sets differ in dimension, or a row is not of length 1.
    """
    if queries.shape[1:] != corpus.shape[1:]:
        raise InputError(
            f"vectors of shapes {queries.shape} and {corpus.shape} cannot be compared",
            hint="both sides must come from the same encoder",
        )
    if len(corpus) <= rules.ivf_above:
        return scan_across(queries, corpus, threshold, rules, on_progress), 1.0
    inverted = build_inverted_file(corpus, rules)
    return search(inverted, queries, threshold, on_progress), inverted.recall


def scan_across(
    queries: Vectors,
    corpus: Vectors,
    threshold: float,
    rules: DedupRules = DedupRules(),
    on_progress: Progress = silent,
) -> Pairs:
    """Compare every query with every vector of a corpus, by the bound of `scan`.

    Returns:
        Pairs of (query row, corpus row).

    Raises:
        InputError: a row is not of length 1.
        Refusal: more pairs than rules.pair_limit.
    """
    sides = [np.ascontiguousarray(side, dtype=np.float32) for side in (queries, corpus)]
    for side in sides:
        check_unit(side)
    with one_thread_each():
        axes = find_axes(sides[1].T @ sides[1], len(corpus), rules.scan_columns)
        here, there = (
            Block(start, side, bound_rows(side, axes))
            for start, side in zip((0, len(queries)), sides, strict=True)
        )
        pairs = compare_blocks(here, there, threshold, rules, on_progress)
    return Pairs(pairs.left, pairs.right - len(queries), pairs.cosines)


def look_up(
    index: Any,
    vectors: Vectors,
    rows: tuple[Indices, Indices],
    threshold: float,
    on_progress: Progress = silent,
) -> Pairs:
    """Add new rows to an index and find the pairs that they are in.

    Args:
        index: a flat FAISS index of rows that are known.
        vectors: of the pool.
        rows: those of the pool that are new; and the pool's row of each row of the index, new ones
            included, -1 where it is gone.
        threshold: in (0, 1].
        on_progress: told (new rows done, new rows).
    """
    fresh, places = rows
    index.add(np.ascontiguousarray(vectors[fresh], dtype=np.float32))
    new = np.zeros(len(vectors), np.bool_)
    new[fresh] = True
    found = []
    for start in range(0, len(fresh), ROWS_AT_ONCE):
        part = fresh[start : start + ROWS_AT_ONCE]
        sources, targets = close_rows(index, vectors[part], threshold)
        one, other = part[sources], places[targets]
        # two new rows find one another: the pair counts once
        counts = (other >= 0) & (~new[other] | (one < other))
        left, right = np.minimum(one, other)[counts], np.maximum(one, other)[counts]
        cosines = row_cosines(vectors[left], vectors[right])
        kept = cosines >= threshold
        found.append(Pairs(left[kept], right[kept], cosines[kept]))
        on_progress(start + len(part), len(fresh))
    return joined(found)
