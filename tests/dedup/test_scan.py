from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.search.scan import bound_rows, find_axes, pairs_above, row_cosines
from kina_build.errors import InputError, Refusal


def skewed(n: int, dimension: int, seed: int) -> NDArray[np.float32]:
    """Make unit vectors whose axes carry very unequal weight, as embeddings do, with near copies."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, dimension)) / np.sqrt(1 + np.arange(dimension))
    copies = rng.integers(0, n, n // 4)
    rows[: len(copies)] = rows[copies] + rng.normal(size=(len(copies), dimension)) * 0.05
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def brute(vectors: NDArray[np.float32], threshold: float) -> set[tuple[int, int]]:
    exact = vectors.astype(float) @ vectors.astype(float).T
    left, right = np.nonzero(np.triu(np.round(exact, 4) >= threshold, 1))
    return set(zip(left.tolist(), right.tolist(), strict=True))


@given(
    n=st.integers(0, 160),
    seed=st.integers(0, 50),
    threshold=st.sampled_from([0.3, 0.6, 0.9, 1.0]),
    columns=st.sampled_from([2, 8, 64]),
)
def test_the_scan_finds_exactly_the_pairs_of_brute_force(
    n: int, seed: int, threshold: float, columns: int
) -> None:
    vectors = skewed(n, 24, seed) if n else np.empty((0, 24), np.float32)
    rules = DedupRules(scan_columns=columns, scan_rows=16)
    found = pairs_above(vectors, threshold, rules)
    assert set(zip(found.left.tolist(), found.right.tolist(), strict=True)) == brute(vectors, threshold)
    assert (found.left < found.right).all()


def test_the_bound_is_never_below_the_cosine() -> None:
    vectors = skewed(200, 40, 3)
    bounding = bound_rows(vectors, find_axes(vectors.T @ vectors, 200, 6))
    assert bounding.shape == (200, 7)
    assert (bounding @ bounding.T >= vectors @ vectors.T - 1e-5).all()


def test_vectors_almost_of_length_one_are_bounded_by_their_own_length() -> None:
    # sqrt(1 - |x_k|^2) fell short of what is left of a vector of length 1.0009: pairs were lost
    rng = np.random.default_rng(2)
    vectors = np.float32(1.0009) * skewed(200, 40, 3)
    vectors[:50] = 0  # and of some all length lies on the axes, where float32 leaves nothing over
    vectors[:50, :6] = rng.normal(size=(50, 6))
    vectors[:50] /= np.linalg.norm(vectors[:50], axis=1, keepdims=True)
    bounding = bound_rows(vectors, find_axes(vectors.T @ vectors, 200, 6))
    exact = vectors.astype(float) @ vectors.astype(float).T
    assert (bounding.astype(float) @ bounding.T.astype(float) >= exact - 2e-5).all()


@given(n=st.integers(1, 40), dimension=st.sampled_from([3, 48, 384, 700]), seed=st.integers(0, 20))
def test_a_cosine_is_the_same_whatever_rows_are_beside_it(n: int, dimension: int, seed: int) -> None:
    rows = skewed(2 * n, dimension, seed)
    together = row_cosines(rows[:n], rows[n:])
    assert [row_cosines(rows[k : k + 1], rows[n + k : n + k + 1])[0] for k in range(n)] == together.tolist()


def test_isotropic_vectors_fall_back_to_the_full_product() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 40))
    vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    found = pairs_above(vectors, 0.3, DedupRules(scan_columns=4, scan_rows=64))
    assert set(zip(found.left.tolist(), found.right.tolist(), strict=True)) == brute(vectors, 0.3)


def test_cosines_are_rounded_so_that_a_batch_changes_nothing() -> None:
    vectors = np.array([[1, 0], [0.9, np.sqrt(1 - 0.81)]], dtype=np.float32)
    assert pairs_above(vectors, 0.9).cosines.tolist() == [0.9]
    nudged = vectors.copy()
    nudged[1] = [0.9 - 6e-7, np.sqrt(1 - (0.9 - 6e-7) ** 2)]
    assert pairs_above(nudged, 0.9).cosines.tolist() == [0.9]


@pytest.mark.parametrize("bad", [np.nan, 0.0, 2.0])
def test_vectors_that_would_never_match_are_named(bad: float) -> None:
    vectors = np.array([[1, 0], [bad, 0]], dtype=np.float32)
    with pytest.raises(InputError, match="vector 1 has length"):
        pairs_above(vectors, 0.9)


def test_a_threshold_too_low_for_the_pool_is_refused() -> None:
    with pytest.raises(Refusal, match="more than 5 pairs"):
        pairs_above(np.ones((9, 1), np.float32), 0.5, DedupRules(pair_limit=5))
