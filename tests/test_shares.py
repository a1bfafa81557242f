from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from kina_build.shares import bound_share


@given(st.integers(1, 500), st.data())
def test_bounds_hold_the_share_and_agree_with_scipy(n: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, n))
    low, high = bound_share(count, n)
    assert 0 <= low <= count / n <= high <= 1
    peer = binomtest(count, n).proportion_ci(0.95, method="wilson")
    assert (low, high) == pytest.approx((peer.low, peer.high), abs=1e-9)


def test_no_trials_say_nothing() -> None:
    assert bound_share(0, 0) == (0.0, 1.0)
