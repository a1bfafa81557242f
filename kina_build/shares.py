"""Shares: the score interval of k of n, and a share as it is printed."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    import numpy as np  # what only prints shares does without

    scale = 1 + z * z / n
    centre = (shares + z * z / (2 * n)) / scale
    half = z / scale * np.sqrt(shares * (1 - shares) / n + z * z / (4 * n * n))
    # rounding must not push a share out of its own interval
    low = np.maximum(np.minimum(shares, centre - half), 0.0)
    return low, np.minimum(np.maximum(shares, centre + half), 1.0)


def bound_share(count: float, n: int, z: float = Z95) -> tuple[float, float]:
    """Bound one share, count of n; without trials it can be anything from 0 to 1."""
    import numpy as np

    if n == 0:
        return 0.0, 1.0
    low, high = bound_shares(np.array([count / n]), n, z)
    return float(low[0]), float(high[0])


def written(ratio: float | Fraction, digits: int = 2) -> str:
    """Write a share of a file or a fraction as a percentage, rounded down: .29 is 29.00 %, not 28.99 %."""
    parts = math.floor(Fraction(str(ratio)) * 100 * 10**digits)
    return f"{parts // 10**digits}.{parts % 10**digits:0{digits}} %" if digits else f"{parts} %"
