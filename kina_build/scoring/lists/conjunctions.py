"""The words between the last two members of a list, by CLDR and by what writers also use."""

from __future__ import annotations

import re
from functools import cache

MORE: dict[str, tuple[str, ...]] = {
    "en": ("and", "&", "plus", "as well as", "along with"),
    "es": ("y", "e"),
    "it": ("e", "ed"),
    "fr": ("et", "ainsi que"),
    "de": ("und", "sowie"),
    "pt": ("e",),
    "pl": ("i", "oraz"),
    "ru": ("и", "а также"),
    "uk": ("і", "й", "та"),
    "tr": ("ve", "ile"),
    "zh": ("以及", "和", "与", "與", "及", "、和"),
    "ja": ("および", "及び", "ならびに", "並びに", "そして", "と"),
    "ko": ("그리고", "및"),
    "ar": ("و",),
    "fa": ("و",),
    "he": ("ו",),
    "hi": ("और", "तथा", "एवं"),
    "sr": ("и", "i"),
}
"""Conjunctions of lists by language, beyond CLDR's one."""

UNSPACED = frozenset({"zh", "ja"})
"""Languages that write no blanks around the word."""

PREFIXED = frozenset({"ar", "he"})
"""Languages that write it before the last name without a blank."""


@cache
def conjunction(language: str) -> str:
    """Return the word between the last two members of a list, by CLDR; empty where there is none."""
    from babel import Locale, UnknownLocaleError

    try:
        pattern = Locale.parse(language.replace("-", "_")).list_patterns["standard"]["end"]
    except (UnknownLocaleError, ValueError, KeyError):
        return ""
    return str(pattern).replace("{0}", "").replace("{1}", "").strip("،,、， \u00a0\u202f")


@cache
def joins(language: str) -> re.Pattern[str]:
    """Return a pattern of the conjunctions of a language between two names, blanks included."""
    code = language.replace("_", "-").split("-")[0].lower() or "en"
    words = sorted({*MORE.get(code, ()), conjunction(language or "en"), "&"} - {""}, key=len, reverse=True)
    listed = "|".join(re.escape(word) for word in words)
    if code in UNSPACED:
        return re.compile(rf"\s*(?:{listed})\s*")
    if code in PREFIXED:
        return re.compile(rf"\s+(?:{listed})\s?(?=\w)")
    return re.compile(rf"\s+(?:{listed})\s+", re.IGNORECASE)


@cache
def ends(language: str) -> re.Pattern[str]:
    """Return a pattern of a conjunction that is left at the end of a member: "Euler and"."""
    words = joins(language).pattern.removeprefix(r"\s*").removeprefix(r"\s+").split(")")[0] + ")"
    return re.compile(rf"[\s,;、，]+{words}\s*$", re.IGNORECASE)


@cache
def opens(language: str) -> re.Pattern[str]:
    """Return a pattern of a conjunction that opens the last member: "and Tees"."""
    code = language.replace("_", "-").split("-")[0].lower() or "en"
    words = sorted({*MORE.get(code, ()), conjunction(language or "en"), "&"} - {""}, key=len, reverse=True)
    listed = "|".join(re.escape(word) for word in words)
    gap = r"\s*" if code in UNSPACED or code in PREFIXED else r"\s+"
    return re.compile(rf"^\s*(?:{listed}){gap}(?=\S)", re.IGNORECASE)
