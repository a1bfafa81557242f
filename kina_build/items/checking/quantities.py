"""Quantities in options: numbers with a unit, brought to one unit of their kind.

A closed table and exact fractions: nothing is evaluated. Temperatures are left out, since
0 °C and 273.15 K are one temperature but not one difference; so are units with two readings.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

NUMBER = r"(?P<sign>[-+−]?)\s?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\d+/[1-9]\d*)"
QUANTITY = re.compile(
    rf"(?:(?:about|approximately|exactly)\s)?{NUMBER}\s?(?P<unit>[A-Za-zµμΩÅ]+(?:\^?[23²³])?(?:/[a-z]+)?)\.?"
)
KINDS: dict[str, dict[str, str]] = {
    "length": {
        "nm": "1/1000000000", "µm": "1/1000000", "mm": "1/1000", "cm": "1/100", "dm": "1/10", "m": "1",
        "km": "1000",
        "millimeter": "1/1000", "centimeter": "1/100", "meter": "1", "kilometer": "1000",
        "millimetre": "1/1000", "centimetre": "1/100", "metre": "1", "kilometre": "1000",
    },
    "foot": {
        "inch": "1", "inches": "1", "ft": "12", "foot": "12", "feet": "12", "yd": "36", "yard": "36",
        "mile": "63360"},
    "mass": {
        "µg": "1/1000000", "mg": "1/1000", "g": "1", "kg": "1000", "gram": "1", "kilogram": "1000",
        "milligram": "1/1000",
    },
    "time": {
        "ns": "1/1000000000", "µs": "1/1000000", "ms": "1/1000", "s": "1", "sec": "1", "second": "1",
        "min": "60",
        "minute": "60", "h": "3600", "hr": "3600", "hour": "3600", "day": "86400", "week": "604800",
    },
    "months": {"month": "1", "year": "12", "decade": "120"},
    "volume": {
        "µL": "1/1000000", "ml": "1/1000", "mL": "1/1000", "cl": "1/100", "l": "1", "L": "1",
        "liter": "1", "litre": "1",
        "milliliter": "1/1000", "millilitre": "1/1000", "cm3": "1/1000", "cm³": "1/1000", "dm3": "1",
        "dm³": "1",
        "m3": "1000", "m³": "1000",
    },
    "area": {
        "cm2": "1/10000", "cm²": "1/10000", "m2": "1", "m²": "1", "km2": "1000000", "km²": "1000000",
        "hectare": "10000",
             "ha": "10000"},
    "speed": {"m/s": "1", "km/s": "1000", "km/h": "5/18"},
    "energy": {"J": "1", "kJ": "1000", "MJ": "1000000", "joule": "1", "kilojoule": "1000"},
    "power": {"mW": "1/1000", "W": "1", "kW": "1000", "MW": "1000000", "watt": "1", "kilowatt": "1000"},
    "voltage": {"mV": "1/1000", "V": "1", "kV": "1000", "volt": "1", "kilovolt": "1000"},
    "current": {"µA": "1/1000000", "mA": "1/1000", "A": "1", "ampere": "1", "milliampere": "1/1000"},
    "resistance": {"Ω": "1", "kΩ": "1000", "MΩ": "1000000", "ohm": "1", "kilohm": "1000"},
    "frequency": {"Hz": "1", "kHz": "1000", "MHz": "1000000", "GHz": "1000000000", "hertz": "1"},
    "pressure": {"Pa": "1", "hPa": "100", "kPa": "1000", "MPa": "1000000"},
    "force": {"N": "1", "kN": "1000", "newton": "1"},
}  # fmt: skip
"""Kind of quantity to its units' names, in units of one of them."""
UNITS = {name: (kind, Fraction(factor)) for kind, units in KINDS.items() for name, factor in units.items()}


@dataclass(frozen=True)
class Quantity:
    """A number with a unit."""

    kind: str
    size: Fraction
    """In units of one of the kind."""
    unit: str
    """As written, but for plurals and letter case of spelled-out ones."""


def read_quantity(text: str) -> Quantity | None:
    """Read a text that is one number and a unit; None where it is anything else."""
    match = QUANTITY.fullmatch(text)
    if match is None:
        return None
    name = match["unit"].replace("μ", "µ").replace("^", "")
    unit = name if name in UNITS else next((one for one in _singular(name) if one in UNITS), None)
    if unit is None:
        return None
    kind, factor = UNITS[unit]
    size = Fraction(match["number"].replace(",", "")) * factor
    return Quantity(kind, -size if match["sign"] in ("-", "−") else size, unit)


def _singular(name: str) -> tuple[str, ...]:
    """Return what a spelled-out unit may be listed under, Hours as hour; abbreviations have no plural."""
    plain = name.lower()
    return (plain, plain.removesuffix("s")) if len(plain) > 3 else ()


def equal_quantities(texts: Collection[tuple[int, str]]) -> list[list[int]]:
    """Group numbered texts that are one quantity, not all in one unit."""
    groups: defaultdict[tuple[str, Fraction], list[int]] = defaultdict(list)
    units: defaultdict[tuple[str, Fraction], set[str]] = defaultdict(set)
    for n, text in texts:
        found = read_quantity(text)
        if found:
            groups[found.kind, found.size].append(n)
            units[found.kind, found.size].add(found.unit)
    return [group for quantity, group in groups.items() if len(units[quantity]) > 1]


Number = Fraction | float

LARGEST_BITS = 2048
"""Size of numerators and denominators kept exact; beyond it the text is no formula to us."""
LARGEST_EXPONENT = 128
TOLERANCE = 1e-12
"""Relative difference up to which inexact values are equal."""


class NotAFormula(Exception):
    """A text that is no formula, or none that is worth its cost."""


def read_number(token: str) -> Fraction:
    """Read a number as it is written.

    Raises:
        NotAFormula: a leading zero makes it a code.
    """
    plain = token.replace(",", "")
    if len(plain) > 1 and plain[0] == "0" and plain[1] != ".":
        raise NotAFormula  # 007 is a code, not the number 7
    whole, _, decimals = plain.partition(".")
    return Fraction(int(whole + decimals), 10 ** len(decimals))


@lru_cache(maxsize=4096)  # units and unknowns are few, and stand in option after option
def sample(symbol: str) -> Fraction:
    """Return a symbol's sample value: fixed by its name, positive, and no simple fraction."""
    seed = 0
    for char in symbol:
        seed = (seed * 1_000_003 + ord(char)) % 998_244_353
    return Fraction(1009 + seed % 99_991, 9973)


def raise_to(base: Number, exponent: Number) -> Number:
    """Raise a number to a power.

    Raises:
        NotAFormula: the result would be too large.
        ValueError: the result is complex.
    """
    whole = isinstance(exponent, Fraction) and exponent.denominator == 1
    if isinstance(base, Fraction) and whole:
        power = int(exponent)
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if abs(power) > LARGEST_EXPONENT or bits * abs(power) > LARGEST_BITS:
            raise NotAFormula
        return base**power
    return math.pow(base, exponent)  # raises where the result is complex or too large


def root_of(value: Number, root: Number) -> Number:
    """Return a root, exact for squares of fractions."""
    if root == 2 and isinstance(value, Fraction) and value >= 0:
        exact = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        if exact * exact == value:
            return exact
    return raise_to(float(value), 1 / root)


def bounded(value: Number) -> Number:
    """Return a number unless it has grown too large.

    Raises:
        NotAFormula: it has.
    """
    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > LARGEST_BITS:
            raise NotAFormula
    elif not math.isfinite(value):
        raise NotAFormula
    return value


def same_number(one: Number, other: Number) -> bool:
    """Tell whether two numbers are equal, but for rounding where one is inexact."""
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one == other
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-15)
