from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import DedupRules
from kina_build.dedup.search.faiss import flat_pairs
from kina_build.dedup.search.scan import pairs_above
from kina_build.errors import InputError, Refusal
from tests.dedup.test_scan import skewed


@given(n=st.integers(0, 160), seed=st.integers(0, 50), threshold=st.sampled_from([0.3, 0.6, 0.9, 1.0]))
def test_faiss_finds_the_pairs_of_the_exact_scan(n: int, seed: int, threshold: float) -> None:
    vectors = skewed(n, 24, seed) if n else np.empty((0, 24), np.float32)
    found, exact = flat_pairs(vectors, threshold), pairs_above(vectors, threshold)
    assert found.left.tolist() == exact.left.tolist()
    assert found.right.tolist() == exact.right.tolist()
    assert found.cosines.tolist() == exact.cosines.tolist()


def test_more_rows_than_are_looked_up_at_once() -> None:
    vectors = skewed(1300, 24, 1)
    found, exact = flat_pairs(vectors, 0.8), pairs_above(vectors, 0.8)
    assert (found.left.tolist(), found.right.tolist()) == (exact.left.tolist(), exact.right.tolist())


def test_what_the_exact_scan_refuses_is_refused() -> None:
    with pytest.raises(InputError, match="vector 1 has length"):
        flat_pairs(np.array([[1, 0], [0, 0]], dtype=np.float32), 0.5)
    with pytest.raises(Refusal, match="more than 2 pairs"):
        flat_pairs(np.tile(np.array([[1, 0]], np.float32), (3, 1)), 0.5, DedupRules(pair_limit=2))
