"""Instants as files write them: ISO 8601, seconds since 1970, or a form and a zone that somebody states.

A day number of a spreadsheet (46090.5) is no number of seconds: read as one it would lie in
1970, and everything would be in time. So a bare number is an instant only where it can be
nothing else, and a local date only where its form and its zone are stated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from zoneinfo import ZoneInfo

from kina_build.errors import UsageError

NUMBER = re.compile(r"[+-]?\d{1,20}(?:\.\d{0,20})?")
"""A plain number: 46090.5 and 1772442012 match, 2026-03-01 must not."""
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")
"""How an ISO date begins: 2026-03-01T08:00Z matches, 01.03.2026 and 20260301 must not."""
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
"""A day and no time of it: 2026-03-01 matches, 2026-03-01T08:00Z must not (whole texts are held to it)."""
EPOCH_SECONDS = (Decimal(10**9), Decimal(10**10))
"""Seconds since 1970 of September 2001 to November 2286."""
EPOCH_MILLISECONDS = (Decimal(10**12), Decimal(10**13))
SHEET_DAYS = (Decimal(20_000), Decimal(100_000))
"""Day numbers of a spreadsheet for 1954 to 2173."""
SHEET_ORIGIN = datetime(1899, 12, 30)  # noqa: DTZ001  a spreadsheet's days have no zone
DAY_S = 86_400
STATE_IT = "`kina review import` reads it: state the form with --dates and the zone with --zone"


@dataclass(frozen=True)
class DateForm:
    """How the dates of a table are written, as somebody states it."""

    pattern: str
    """As of strptime, such as %d.%m.%Y %H:%M; or "excel" for a spreadsheet's day numbers."""
    zone: tzinfo
    """Of dates that carry no offset."""


def check_instant(value: object) -> object:
    """Return a value that can only be one instant, for pydantic to read.

    Raises:
        ValueError: a day number of a spreadsheet, a local date, or anything else.
    """
    if isinstance(value, datetime) or value is None:
        return value
    text = str(value).strip()
    if NUMBER.fullmatch(text):
        return _from_epoch(text)
    if ISO_DATE.match(text):
        return text
    raise ValueError(f"{text[:40]!r} is no instant such as 2026-03-31T23:59:59Z; {STATE_IT}")


def to_utc(moment: datetime) -> datetime:
    """Return an instant in UTC; one without an offset is taken to be UTC.

    Raises:
        ValueError: its offset moves it before the year 1 or after 9999.
    """
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{moment.isoformat()} is no instant: UTC shows no such year") from None


def read_moment(text: str, option: str) -> datetime:
    """Read an instant that an option gives, in UTC; one without an offset is taken to be UTC.

    Raises:
        UsageError: it is none.
    """
    try:
        return to_utc(datetime.fromisoformat(str(check_instant(text))))
    except ValueError:
        raise UsageError(f"{option} {text!r} is no instant", hint="such as 2026-03-31T23:59:59Z") from None


def read_end(text: str, option: str) -> datetime:
    """Read the instant at which something ends: as read_moment, but a day alone tells no instant.

    Raises:
        UsageError: it is none, or a day without a time: its first moment, or its last?
    """
    if DAY.fullmatch(text.strip()):
        raise UsageError(
            f"{option} {text!r} is a day: does it end as it begins, or as it ends?",
            hint=f"give the time and the zone, such as {text.strip()}T23:59:59Z",
        )
    return read_moment(text, option)


def read_local(value: object, form: DateForm) -> datetime | str:
    """Read a date of a stated form; one that is ISO 8601 with an offset stays as it is.

    Raises:
        ValueError: not of that form, or a local time that the clocks skip or show twice.
    """
    text = str(value).strip()
    if form.pattern == "excel" and NUMBER.fullmatch(text):
        return _in_zone(_from_days(text), form.zone)
    if form.pattern != "excel":
        try:
            moment = datetime.strptime(text, form.pattern)  # noqa: DTZ007  the zone comes next
        except ValueError:
            raise ValueError(f"{text[:40]!r} is not of the form {form.pattern!r}") from None
        return moment if moment.tzinfo else _in_zone(moment, form.zone)
    raise ValueError(f"{text[:40]!r} is no day number of a spreadsheet")


def _from_epoch(text: str) -> datetime:
    number = Decimal(text)
    for (low, high), unit in ((EPOCH_SECONDS, 1), (EPOCH_MILLISECONDS, 1000)):
        if low <= number < high:
            return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=int(number * 1_000_000 / unit))
    if SHEET_DAYS[0] <= number < SHEET_DAYS[1]:
        day = f"{_from_days(text):%Y-%m-%d %H:%M}"
        raise ValueError(f"{text} is a spreadsheet's day number ({day}, zone unknown): {STATE_IT}")
    raise ValueError(f"{text} is no instant such as 2026-03-31T23:59:59Z")


def _from_days(text: str) -> datetime:
    number = Decimal(text)
    if not SHEET_DAYS[0] <= number < SHEET_DAYS[1]:
        raise ValueError(f"{text} is no day number of this century")
    # a minute is 0.000694... of a day: whole seconds are what a sheet can keep
    return SHEET_ORIGIN + timedelta(seconds=round(number * DAY_S))


def _in_zone(moment: datetime, zone: tzinfo) -> datetime:
    first, second = (moment.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if first.utcoffset() != second.utcoffset():
        raise ValueError(f"{moment:%Y-%m-%d %H:%M} is skipped or shown twice by the clocks: state its offset")
    return first


def find_zone(name: str) -> tzinfo:
    """Return a zone of the IANA database, or UTC.

    Raises:
        ValueError: an unknown name.
    """
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(
            f"{name!r} is no time zone; they are called Europe/Berlin, Asia/Tokyo, UTC"
        ) from None
