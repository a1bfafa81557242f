"""Money in whole minor units of a currency: parse, print, split, cap. No binary floats."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import TypeVar

from kina_build.errors import InputError, Refusal

NO_DECIMALS = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
THREE_DECIMALS = "BHD IQD JOD KWD LYD OMR TND"
FOUR_DECIMALS = "CLF UYW"
METALS = "XAD XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX"
"""Metals, units of account and test codes: not money that is paid."""

EXPONENTS: Mapping[str, int] = {
    **dict.fromkeys(NO_DECIMALS.split(), 0),
    **dict.fromkeys(THREE_DECIMALS.split(), 3),
    **dict.fromkeys(FOUR_DECIMALS.split(), 4),
}
"""Decimals of ISO 4217 where they are not 2 (CLDR's digits are display habits and differ)."""

MOST_MINOR = 10**15
"""Amounts beyond this are slips of the keyboard; thousands of them still fit a 64-bit sum."""
MOST_SUM_MINOR = 2**62
"""Sums beyond this come near what a 64-bit column holds."""
AMOUNT = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")

Key = TypeVar("Key")


@cache
def currencies() -> frozenset[str]:
    """Return the ISO 4217 codes in use today."""
    from babel.core import get_global

    spans = (span for spans in get_global("territory_currencies").values() for span in spans)
    return frozenset(code for code, _, end, _ in spans if end is None) - set(METALS.split())


@cache
def exponent(currency: str) -> int:
    """Return how many decimals a currency has (ISO 4217).

    Raises:
        InputError: no such currency.
    """
    if currency not in currencies():
        raise InputError(
            f"{currency!r} is not a currency in use", hint="write its ISO 4217 code in capitals, such as USD"
        )
    return EXPONENTS.get(currency, 2)


def parse_amount(text: str | Decimal, currency: str) -> int:
    """Turn an amount in major units into minor units: "2.00" USD -> 200.

    Raises:
        InputError: not a plain decimal number, or finer than the currency's minor unit.
    """
    plain = str(text).strip()
    if not AMOUNT.fullmatch(plain):
        raise InputError(f"{plain!r} is not an amount", hint="write plain digits with a point, such as 2.00")
    minor = Decimal(plain).scaleb(exponent(currency))
    if abs(minor) > MOST_MINOR:
        raise InputError(f"{plain} {currency} is beyond all pay")
    if minor != int(minor):
        raise InputError(f"{plain} {currency} is finer than {format_amount(1, currency)}")
    return int(minor)


def parse_pay(text: str | Decimal, currency: str, what: str) -> int:
    """Turn an amount that may not be below zero into minor units.

    Raises:
        InputError: as parse_amount, or below zero; the message begins with what it is.
    """
    minor = parse_amount(text, currency)
    if minor < 0:
        raise InputError(f"{what} is {str(text).strip()}: it cannot be below zero")
    return minor


def format_amount(amount_minor: int, currency: str) -> str:
    """Write minor units in major units, with all decimals: 450 USD -> "4.50"."""
    digits = exponent(currency)
    return f"{Decimal(amount_minor).scaleb(-digits):.{digits}f}"


def split(pool_minor: int, shares: Mapping[Key, int]) -> dict[Key, int]:
    """Split a pool by whole shares so that the parts sum to it (largest remainder).

    Left-over units go to the largest remainders, in the order of the mapping.

    Raises:
        InputError: no shares, or a negative one, or all are 0.
    """
    total = sum(shares.values())
    if total <= 0 or min(shares.values()) < 0:
        raise InputError("shares must be non-negative whole numbers, not all 0")
    parts = {key: pool_minor * share // total for key, share in shares.items()}
    left = pool_minor - sum(parts.values())
    neediest = sorted(shares, key=lambda key: -(pool_minor * shares[key] % total))
    for key in neediest[:left]:
        parts[key] += 1
    return parts


def total(amounts: Sequence[tuple[int, str]]) -> tuple[int, str]:
    """Sum (minor units, currency) pairs of one currency.

    Raises:
        Refusal: several currencies, or nothing to sum.
    """
    codes = sorted({currency for _, currency in amounts})
    if len(codes) != 1:
        raise Refusal(
            f"cannot sum {' and '.join(codes) or 'nothing'}",
            hint="convert by a stated rate and date first: one ledger and one sum hold one currency",
        )
    return sum(amount for amount, _ in amounts), codes[0]


def cap(due_minor: int, limit_minor: int, already_minor: int = 0) -> tuple[int, int]:
    """Cut what is due to what a limit leaves; return (pay now, still owed)."""
    pay = max(0, min(due_minor, limit_minor - already_minor))
    return pay, due_minor - pay


def least_above(threshold: Fraction, currency: str) -> int:
    """Return the least amount in minor units strictly above a threshold in major units."""
    unit: int = 10 ** exponent(currency)
    scaled = threshold * unit
    return scaled.numerator // scaled.denominator + 1
