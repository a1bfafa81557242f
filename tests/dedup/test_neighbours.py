from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import DedupRules
from kina_build.dedup.search.across import find_across, scan_across
from kina_build.dedup.search.faiss import build_inverted_file, search
from kina_build.dedup.search.scan import Pairs
from kina_build.errors import InputError
from tests.dedup.test_scan import skewed


def rows(found: Pairs) -> set[tuple[int, int]]:
    return set(zip(found.left.tolist(), found.right.tolist(), strict=True))


@given(
    n=st.integers(0, 80), m=st.integers(0, 300), seed=st.integers(0, 20), columns=st.sampled_from([2, 4, 64])
)
def test_queries_find_exactly_what_brute_force_finds(n: int, m: int, seed: int, columns: int) -> None:
    queries, corpus = skewed(n, 16, seed), skewed(m, 16, seed + 1)
    corpus[: min(n, m) // 2] = queries[: min(n, m) // 2]
    found, recall = find_across(queries, corpus, 0.7, DedupRules(scan_columns=columns, scan_rows=16))
    exact = np.round(queries.astype(float) @ corpus.astype(float).T, 4) >= 0.7
    assert rows(found) == {(int(q), int(c)) for q, c in np.argwhere(exact)}
    assert recall == 1


def test_a_cosine_on_the_threshold_counts_although_faiss_is_strict() -> None:
    corpus, query = np.array([[1, 0]] * 40, np.float32), np.array([[0.8, 0.6]], np.float32)
    assert scan_across(query, corpus, 0.8).cosines.tolist() == [0.8] * 40
    inverted = build_inverted_file(corpus)
    assert search(inverted, query, 0.8).cosines.tolist() == [0.8] * 40


def test_a_vast_corpus_is_searched_by_an_inverted_file_that_says_what_it_finds() -> None:
    corpus = skewed(4000, 16, 4)
    queries = corpus[::10] + 0.02 * skewed(400, 16, 5)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    found, recall = find_across(queries, corpus, 0.9, DedupRules(ivf_above=100))
    exact = scan_across(queries, corpus, 0.9)
    assert 0.99 <= recall <= 1
    assert rows(found) <= rows(exact)
    assert len(found) >= 0.95 * len(exact)


def test_fewer_lists_are_searched_where_less_recall_will_do() -> None:
    corpus = skewed(4000, 16, 4)
    low, high = (build_inverted_file(corpus, DedupRules(ivf_recall=r)) for r in (0.5, 0.999))
    assert low.searched < high.searched <= high.lists


def test_vectors_of_two_encoders_are_refused() -> None:
    with pytest.raises(InputError, match="cannot be compared"):
        find_across(np.ones((1, 3), np.float32), np.ones((1, 2), np.float32), 0.5)
