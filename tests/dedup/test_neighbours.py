from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kina_build.config import DedupRules
from kina_build.dedup.neighbours import build_index, find_nearest, find_within, read_index, write_index
from kina_build.errors import InputError
from tests.dedup.test_scan import skewed


def test_queries_find_exactly_what_brute_force_finds() -> None:
    corpus, queries = skewed(300, 16, 1), skewed(80, 16, 2)
    found = find_within(build_index([str(n) for n in range(300)], corpus), queries, 0.7)
    exact = np.round(queries.astype(float) @ corpus.astype(float).T, 4) >= 0.7
    assert set(zip(found.left.tolist(), found.right.tolist(), strict=True)) == {
        (int(q), int(c)) for q, c in np.argwhere(exact)
    }


def test_a_cosine_on_the_threshold_counts_although_faiss_is_strict() -> None:
    index = build_index(["a"], np.array([[1, 0]], np.float32))
    query = np.array([[0.8, 0.6]], np.float32)
    assert find_within(index, query, 0.8).cosines.tolist() == [0.8]


def test_an_inverted_file_says_what_it_finds() -> None:
    vectors = skewed(2000, 16, 4)
    index = build_index([str(n) for n in range(2000)], vectors, rules=DedupRules(ivf_above=100))
    assert 0.99 <= index.recall <= 1
    cosines, rows = find_nearest(index, vectors[:50], 1)
    assert (rows[:, 0] == np.arange(50)).mean() >= 0.9
    assert (cosines[:, 0] == 1).all()


def test_nearest_first_and_ties_by_row() -> None:
    index = build_index(["a", "b", "c"], np.array([[0, 1], [1, 0], [1, 0]], np.float32))
    cosines, rows = find_nearest(index, np.array([[1, 0]], np.float32), 9)
    assert rows.tolist() == [[1, 2, 0]]
    assert cosines.tolist() == [[1, 1, 0]]


def test_an_index_outlives_the_process(tmp_path: Path) -> None:
    vectors = skewed(40, 8, 5)
    write_index(tmp_path / "corpus.idx", build_index([f"i{n}" for n in range(40)], vectors, ("m", "r1")))
    index = read_index(tmp_path / "corpus.idx")
    assert (index.ids[3], index.encoder, index.revision, index.dimension) == ("i3", "m", "r1", 8)
    assert find_nearest(index, vectors[:5], 1)[1][:, 0].tolist() == [0, 1, 2, 3, 4]


def test_vectors_of_another_encoder_are_refused() -> None:
    index = build_index(["a"], np.array([[1, 0]], np.float32))
    with pytest.raises(InputError, match="do not fit an index of dimension 2"):
        find_within(index, np.ones((1, 3), np.float32), 0.5)


def test_a_file_that_is_no_index_is_named(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"hello")
    with pytest.raises(InputError, match="not an index"):
        read_index(tmp_path / "x")
    with pytest.raises(InputError, match="no such file"):
        read_index(tmp_path / "y")
