from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.errors import InputError, Refusal
from kina_review.money import (
    EXPONENTS,
    MOST_MINOR,
    cap,
    currencies,
    exponent,
    format_amount,
    least_above,
    parse_amount,
    split,
    total,
)

CODES = st.sampled_from(sorted(currencies()))


@pytest.mark.parametrize(
    ("text", "currency", "minor"),
    [
        ("2.00", "USD", 200),
        ("2", "USD", 200),
        ("501", "JPY", 501),
        ("5.005", "KWD", 5005),
        ("-3.10", "EUR", -310),
    ],
)
def test_amounts_become_minor_units_of_iso_4217(text: str, currency: str, minor: int) -> None:
    assert parse_amount(text, currency) == minor


@pytest.mark.parametrize(
    "text", ["2.005", "1,000.00", "1E2", "NaN", "Infinity", "", "2.00 USD", "٢.٠٠", "0x10", "9" * 30]
)
def test_what_is_no_plain_amount_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_amount(text, "USD")


@pytest.mark.parametrize("code", ["usd", "XXX", "XAU", "DEM", "EURO", ""])
def test_only_currencies_in_use_are_taken(code: str) -> None:
    with pytest.raises(InputError, match="not a currency in use"):
        exponent(code)


def test_every_exception_to_two_decimals_is_a_currency_in_use() -> None:
    assert set(EXPONENTS) <= currencies()


@given(CODES, st.integers(-(10**12), 10**12))
def test_an_amount_survives_being_printed(currency: str, minor: int) -> None:
    assert parse_amount(format_amount(minor, currency), currency) == minor


@given(
    st.integers(0, 10**9), st.dictionaries(st.text(max_size=3), st.integers(0, 50), min_size=1, max_size=9)
)
def test_shares_always_sum_to_the_pool(pool: int, shares: dict[str, int]) -> None:
    if sum(shares.values()) == 0:
        with pytest.raises(InputError):
            split(pool, shares)
        return
    parts = split(pool, shares)
    assert sum(parts.values()) == pool
    whole = sum(shares.values())
    for name, share in shares.items():
        assert abs(parts[name] - Fraction(pool * share, whole)) < 1


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_cap_loses_nothing(due: int, limit: int, already: int) -> None:
    pay, later = cap(due, limit, already)
    assert pay + later == due
    assert pay >= 0
    assert pay == 0 or pay + already <= limit


@given(st.fractions(0, 1000), CODES)
def test_the_least_bonus_lies_one_step_above_at_most(threshold: Fraction, currency: str) -> None:
    least = Fraction(least_above(threshold, currency), 10 ** exponent(currency))
    assert least > threshold >= least - Fraction(1, 10 ** exponent(currency))


def test_several_currencies_are_never_summed() -> None:
    assert total([(100, "USD"), (50, "USD")]) == (150, "USD")
    with pytest.raises(Refusal, match="JPY and USD"):
        total([(100, "USD"), (50, "JPY")])


def test_a_decimal_amount_is_taken_as_it_stands() -> None:
    assert parse_amount(Decimal("2.00"), "USD") == 200


def test_the_largest_amount_is_taken_and_a_cent_more_is_not() -> None:
    assert parse_amount("10000000000000.00", "USD") == MOST_MINOR
    with pytest.raises(InputError, match="beyond all pay"):
        parse_amount("10000000000000.01", "USD")
