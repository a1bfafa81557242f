"""Standard errors and intervals of single accuracies."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from kina_build.shares import bound_shares

Floats = NDArray[np.float64]


def two_sided_z(level: float) -> float:
    """Return the normal quantile of a two-sided interval: 1.96 for level .95."""
    return NormalDist().inv_cdf((1 + level) / 2)


def wilson(share: Floats, n: int, level: float) -> tuple[Floats, Floats]:
    """Bound a binomial share (Wilson 1927): right also near 0 and 1.

    Args:
        share: observed shares of n independent trials.
        n: trials behind each share.
        level: two-sided confidence.
    """
    return bound_shares(share, n, two_sided_z(level))


def percentile_interval(resampled: Floats, level: float) -> tuple[Floats, Floats]:
    """Bound each column by the middle share of its resampled values.

    Args:
        resampled: shape (resamples, columns).
        level: share kept between the bounds.
    """
    low, high = np.quantile(resampled, ((1 - level) / 2, (1 + level) / 2), axis=0)
    return low, high


def standard_error(scores: Floats) -> Floats:
    """Return sqrt(var / N) of each row's mean, with ddof 1, for independent items.

    Args:
        scores: shape (rows, items).
    """
    return np.asarray(scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1]))


def cluster_standard_error(scores: Floats, clusters: Sequence[str]) -> Floats:
    """Return the cluster-robust standard error of each row's mean (CR0, Liang and Zeger 1986).

    Args:
        scores: shape (rows, items).
        clusters: one label an item; items of one label may depend on each other.
    """
    residuals = cluster_residuals(scores, cluster_codes(clusters))
    return np.asarray(np.sqrt((residuals**2).sum(axis=1)) / scores.shape[1])


def cluster_codes(clusters: Sequence[str]) -> NDArray[np.intp]:
    """Number cluster labels 0, 1, ... in sorted order, one number an item."""
    return np.unique(np.asarray(clusters, dtype=np.str_), return_inverse=True)[1]


def cluster_residuals(scores: Floats, codes: NDArray[np.intp]) -> Floats:
    """Sum each row's deviations from its mean within clusters, shape (rows, clusters)."""
    return sum_by_cluster(scores - scores.mean(axis=1, keepdims=True), codes)


def sum_by_cluster(values: Floats, codes: NDArray[np.intp]) -> Floats:
    """Sum columns within clusters, shape (rows, clusters); the values themselves if all stand alone."""
    count = int(codes.max()) + 1
    if count == values.shape[1]:
        return values[:, np.argsort(codes)]
    return np.stack([np.bincount(codes, weights=row, minlength=count) for row in values])


def bonferroni_z(level: float, comparisons: int) -> float:
    """Return the z that bounds so many comparisons at once."""
    return two_sided_z(1 - (1 - level) / max(comparisons, 1))
