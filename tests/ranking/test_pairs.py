"""Tests of two models, against figures known otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.ranking.pairs import (
    count_discordant,
    detectable_difference,
    holm,
    mcnemar_exact,
    mcnemar_mid_p,
    paired_z,
    unpaired_z,
)


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_exact_test_is_scipys_binomial_test(b, c):
    from scipy.stats import binomtest

    peer = binomtest(b, b + c).pvalue if b + c else 1.0
    assert mcnemar_exact(b, c) == pytest.approx(peer)
    assert mcnemar_mid_p(b, c) <= mcnemar_exact(b, c)
    assert mcnemar_mid_p(b, c) == mcnemar_mid_p(c, b)


def test_mid_p_takes_half_the_point_off():
    # 2 * P(X <= 4) - P(X = 4) for X ~ Binomial(10, 1/2): (2 * 386 - 210) / 1024
    assert mcnemar_mid_p(6, 4) == pytest.approx(562 / 1024)


def test_equal_counts_are_no_evidence():
    assert mcnemar_exact(5, 5) == mcnemar_exact(0, 0) == mcnemar_mid_p(0, 0) == 1.0


def test_discordance_counts_both_ways():
    found = count_discordant(np.array([[1.0, 1, 0, 0, 1], [0.0, 1, 1, 0, 0]]))
    assert (found.only_first[0, 1], found.only_first[1, 0]) == (2, 1)
    assert found.squared[0, 1] == pytest.approx(3 / 5)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_keeps_the_order_and_never_helps(values):
    adjusted = holm(values)
    assert all(a >= v and a <= 1 for a, v in zip(adjusted, values, strict=True))
    ranked = [adjusted[i] for i in np.argsort(values, kind="stable")]
    assert ranked == sorted(ranked)


def test_the_detectable_difference_of_the_design_page():
    assert detectable_difference(0.2, 0.0, 899, 2.8) == pytest.approx(2.8 * np.sqrt(0.2 / 899))


def test_z_tests_at_their_edges():
    assert paired_z(0.0, 0.0) == 1.0
    assert paired_z(0.1, 0.0) == 0.0
    assert paired_z(1.959964, 1.0) == pytest.approx(0.05, abs=1e-6)
    assert unpaired_z(0.5317, 0.4992, 899) == pytest.approx(0.1682, abs=5e-4)


def test_models_that_agree_everywhere_still_have_a_detectable_difference() -> None:
    assert detectable_difference(0.0, 0.0, 100, 2.8) == pytest.approx(2.8 * np.sqrt(3) / 100)
    assert detectable_difference(1.0, 1.0, 100, 2.8) > 0
    assert detectable_difference(0.2, 0.0, 100, 2.8) == pytest.approx(2.8 * np.sqrt(0.2 / 100))
