"""The score interval of a share: k of n right, flawed, caught, agreed."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Z95 = NormalDist().inv_cdf(0.975)
"""Standard errors to each side of a two-sided 95 % interval."""


def bound_shares(
    shares: NDArray[np.float64], n: int, z: float = Z95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bound shares of n independent trials each; right also near 0 and 1.

    Args:
        shares: observed, each in [0, 1].
        n: trials behind each share, above 0.
        z: standard errors to each side.

    Source:
        E. B. Wilson, Probable inference, the law of succession, and statistical inference,
        JASA 22 (1927).
    """
    scale = 1 + z * z / n
    centre = (shares + z * z / (2 * n)) / scale
    half = z / scale * np.sqrt(shares * (1 - shares) / n + z * z / (4 * n * n))
    # rounding must not push a share out of its own interval
    low = np.maximum(np.minimum(shares, centre - half), 0.0)
    return low, np.minimum(np.maximum(shares, centre + half), 1.0)


def bound_share(count: float, n: int, z: float = Z95) -> tuple[float, float]:
    """Bound one share, count of n; without trials it can be anything from 0 to 1."""
    if n == 0:
        return 0.0, 1.0
    low, high = bound_shares(np.array([count / n]), n, z)
    return float(low[0]), float(high[0])
