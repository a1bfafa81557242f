"""How a ratio and a bound are written: never nearer to the best than whole numbers say.

One function for demo, `kina select`, `kina certify`, card and report, so that all print the
same floor of the same ratio: shares are rounded down, bounds up, and 100 % stands only where
objective and bound are one whole number and nothing was rounded before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kina_build.shares import written

DIGITS = 6
"""Significant digits of objectives and bounds."""
PARTS = 1_000_000_000
"""A share in a file is known to one of these parts."""


@dataclass(frozen=True)
class Figures:
    """What may be printed of a certificate."""

    objective: str
    """Rounded down."""
    bound: str
    """Of the tightest bound, with what rounding of the inputs may add, rounded up."""
    share: str
    """Objective / tightest bound, such as "99.87 %", rounded down."""
    online_bound: str
    online_share: str
    rounding: str
    """What rounding of the inputs may move, "" where nothing was rounded."""


def share(value: int, bound: int, slack: int = 0) -> float:
    """Return (value - slack) / (bound + slack), rounded down; 1 where nothing can be covered.

    Args:
        value: the objective, in steps.
        bound: no set exceeds it.
        slack: steps by which rounding may have moved either.
    """
    return math.floor(_share(value, bound, slack) * PARTS) / PARTS


def _share(value: int, bound: int, slack: int) -> Fraction:
    whole = bound + slack
    return Fraction(max(0, value - slack), whole) if whole else Fraction(1)


def percent(value: int, bound: int, slack: int = 0, digits: int = 2) -> str:
    """Write (value - slack) / (bound + slack) as a percentage, rounded down."""
    return written(_share(value, bound, slack), digits)


def figure(value: Fraction, *, up: bool) -> str:
    """Write a number of six significant digits, rounded up or down."""
    if value <= 0:
        return "0"
    places = DIGITS - 1 - _exponent(value)
    scaled = value * Fraction(10) ** places
    whole = Fraction(math.ceil(scaled) if up else math.floor(scaled)) / Fraction(10) ** places
    return f"{float(whole):.{DIGITS}g}"


def _exponent(value: Fraction) -> int:
    found = math.floor(math.log10(value.numerator) - math.log10(value.denominator))
    return found - 1 if value < Fraction(10) ** found else found


def figures_of(document: Mapping[str, Any]) -> Figures:
    """Return what may be printed of a selection.json, or of a report of `kina select` or `certify`.

    Args:
        document: with objective and certificate; files of earlier versions lack whole numbers, which
            are then taken from their decimals.
    """
    certificate = document["certificate"]
    unit = Fraction(document.get("scale", 1000) * document.get("weight_unit", 1_000_000))
    unit /= document.get("weight_step", 1)
    slack = int(document.get("slack", 0))
    tight = certificate.get("tightest", certificate)
    value = _steps(document, "objective", unit)
    best, online = (_steps(one, "upper_bound", unit) for one in (tight, certificate))
    return Figures(
        objective=figure(Fraction(value) / unit, up=False),
        bound=figure((best + slack) / unit, up=True),
        share=percent(value, best, slack),
        online_bound=figure((online + slack) / unit, up=True),
        online_share=percent(value, online, slack),
        rounding=figure(slack / unit, up=True) if slack else "",
    )


def _steps(record: Mapping[str, Any], name: str, unit: Fraction) -> int:
    return int(record["steps"]) if "steps" in record else round(Fraction(record[name]) * unit)
