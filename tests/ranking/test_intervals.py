"""Standard errors and intervals against figures known otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.ranking.intervals import (
    cluster_standard_error,
    percentile_interval,
    standard_error,
    two_sided_z,
    wilson,
)


def test_wilson_agrees_with_scipy():
    from scipy.stats import binomtest

    low, high = wilson(np.array([0.0, 3 / 50, 0.5, 1.0]), 50, 0.95)
    for place, right in enumerate([0, 3, 25, 50]):
        peer = binomtest(right, 50).proportion_ci(0.95, method="wilson")
        assert (low[place], high[place]) == pytest.approx((peer.low, peer.high))


def test_two_sided_z_is_the_usual_figure():
    assert two_sided_z(0.95) == pytest.approx(1.959964, abs=1e-6)


@given(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=3, max_size=30))
def test_clusters_of_one_give_the_plain_standard_error_but_for_its_degree_of_freedom(row):
    scores = np.array([row])
    n = len(row)
    alone = cluster_standard_error(scores, [str(i) for i in range(n)])
    assert alone * np.sqrt(n / (n - 1)) == pytest.approx(standard_error(scores))


def test_percentile_interval_cuts_both_tails():
    low, high = percentile_interval(np.arange(1001.0)[:, None], 0.95)
    assert (low[0], high[0]) == pytest.approx((25, 975))
