from __future__ import annotations

import numpy as np
import pytest

from kina_build.errors import InputError
from kina_build.support.diagnose import compare_support, describe_support
from kina_build.support.matrix import build_matrix


def matrix_of(scores, items=None, anchors=None, weights=None):
    scores = np.array(scores, dtype=float)
    items = items or [f"q{i}" for i in range(len(scores))]
    anchors = anchors or [f"u{i}" for i in range(scores.shape[1])]
    return build_matrix(items, anchors, scores, np.array(weights or [1.0] * len(anchors)))


def test_what_nothing_covers_is_named():
    report = describe_support(matrix_of([[0.5, 0, 0.25], [0, 0, 1], [0, 0, 0]], weights=[2, 1, 1]))
    assert report["unsupported_anchors"] == ["u1"]
    assert report["idle_items"] == ["q2"]
    assert report["mean_best"] == pytest.approx((2 * 0.5 + 0 + 1) / 4)
    assert report["distribution"] == {"0": 6, "0 to .25": 1, ".25 to .5": 1, ".5 to .75": 0, ".75 to 1": 1}


def test_a_matrix_agrees_with_itself_and_with_its_own_stretching():
    one = matrix_of([[0.1, 0.9], [0.4, 0.2]])
    two = matrix_of([[0.01, 0.81], [0.16, 0.04]])
    assert compare_support(one, one) == {"pairs": 4, "pearson": 1.0, "spearman": 1.0, "same_best": 1.0}
    assert compare_support(one, two)["spearman"] == 1.0


def test_only_what_both_hold_is_compared():
    one = matrix_of([[0.1, 0.9], [0.4, 0.2]], items=["a", "b"])
    two = matrix_of([[0.4, 0.2], [1, 1]], items=["b", "c"])
    assert compare_support(one, two)["pairs"] == 2
    with pytest.raises(InputError, match="no item or no anchor in common"):
        compare_support(one, matrix_of([[1.0, 1.0]], items=["z"]))


def test_a_constant_side_has_no_correlation():
    report = compare_support(matrix_of([[0, 0]]), matrix_of([[0.1, 0.9]]))
    assert (report["pearson"], report["spearman"], report["same_best"]) == (None, None, None)
