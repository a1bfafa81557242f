"""One form for dates and decimals that languages write differently: "3 May 1990", "3,5"."""

from __future__ import annotations

import re
from functools import cache

_SEPARATED = re.compile(r"\d[.,]\d")
_MAYBE_DATE = re.compile(r"\d{4}")
_ORDERED = re.compile(
    r"(?P<year>\d{4})\s?[-/.年년]\s?(?P<month>\d{1,2})\s?[-/.月월]\s?(?P<day>\d{1,2})\s?[日일]?"
)
"""Matches "1990-05-03" and "1990年5月3日"; "03/05/1990" is read differently by country and is left alone."""
_DAY_FIRST = re.compile(
    r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|\.|º|ª)?\s+(?:of |de "
    r"|d['’])?(?P<month>[^\W\d]{3,12})\.?,?\s+(?:de |del )?(?P<year>\d{4})"
    r"(?:\s*(?:г\.?|года|року|р\.))?"
)
_MONTH_FIRST = re.compile(
    r"(?P<month>[^\W\d]{3,12})\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<year>\d{4})"
)
_DECIMAL = re.compile(r"(?<![\d.,])(?P<whole>\d{1,9}),(?P<part>\d{1,2}|\d{4,9})(?![\d.,])")
"""Matches "3,5" and "3,1416", not "3,500", which groups thousands elsewhere."""
_POINTED = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?![\d.])")


def fold_date(form: str, language: str) -> str:
    """Return a date as year-month-day; another text as it is.

    Args:
        form: a casefolded name.
        language: code of the question's language; English months are known in each.
    """
    if not _MAYBE_DATE.search(form):
        return form
    found = _ORDERED.fullmatch(form) or _DAY_FIRST.fullmatch(form) or _MONTH_FIRST.fullmatch(form)
    if found is None:
        return form
    named = found["month"]
    month = int(named) if named.isdigit() else _months(language).get(named)
    if month is None or not (1 <= month <= 12 and 1 <= int(found["day"]) <= 31):
        return form
    return f"{found['year']}-{month:02}-{int(found['day']):02}"


def fold_decimals(form: str, language: str) -> str:
    """Write the decimal comma of a language that has one as a point, and drop points between thousands."""
    if not _SEPARATED.search(form) or not _has_decimal_comma(language):
        return form
    without = _POINTED.sub(lambda number: number[0].replace(".", ""), form)
    return _DECIMAL.sub(r"\g<whole>.\g<part>", without)


@cache
def _months(language: str) -> dict[str, int]:
    """Return the names of months and their numbers, in English and one language (CLDR)."""
    from babel import Locale, UnknownLocaleError

    names: dict[str, int] = {}
    for code in dict.fromkeys((language or "en", "en")):
        try:
            contexts = Locale.parse(code).months
        except (UnknownLocaleError, ValueError):
            continue
        for context in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for number, name in contexts[context][width].items():
                    names.setdefault(str(name).casefold().rstrip("."), number)
    return names


@cache
def _has_decimal_comma(language: str) -> bool:
    from babel import Locale, UnknownLocaleError

    try:
        symbols = Locale.parse(language or "en").number_symbols
    except (UnknownLocaleError, ValueError):
        return False
    return bool(symbols.get("latn", symbols).get("decimal") == ",")
