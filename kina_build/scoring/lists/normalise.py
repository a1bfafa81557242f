"""Forms under which two names count as one: three tiers, each bolder than the one before."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

from kina_build.scoring.lists.figures import fold_date, fold_decimals

FORMS_KEPT = 1 << 17
"""Names whose forms are remembered; golds repeat between models and samples."""

APOSTROPHES = dict.fromkeys(map(ord, "’‘ʼʻ`´ʹ′‛＇"), "'")
DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹘﹣－"), "-")
TURKIC = frozenset({"tr", "az"})
"""Languages in which I is the capital of ı, and İ that of i."""

ARTICLES: dict[str, str] = {
    "en": r"(?:the|an?)\s+",
    "de": r"(?:der|die|das|den|dem|des|eine?[rnms]?)\s+",
    "fr": r"(?:(?:les?|la|une?|des)\s+|l')",
    "es": r"(?:el|la|los|las|una?|unos|unas)\s+",
    "pt": r"(?:o|a|os|as|uma?|uns|umas)\s+",
    "it": r"(?:(?:il|lo|la|i|gli|le|uno?|una)\s+|l'|un')",
    "nl": r"(?:de|het|een)\s+",
    "ar": r"ال(?=\w{2})",
    "he": r"ה(?=\w{3})",
    "hu": r"az?\s+",
    "sv": r"(?:en|ett|den|det|de)\s+",
    "el": r"(?:ο|η|το|οι|τα|ένας|μια|ένα)\s+",
}
"""Articles at the start of a name by language; CLDR holds none. Other languages have no articles."""

_ANY_ARTICLE = {language: re.compile(rf"^{pattern}") for language, pattern in ARTICLES.items()}
_STRIPPED = re.compile("[\u064b-\u0652\u0670\u0640]")
"""Arabic vowel marks and the tatweel."""

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
"""The comma of "3,000"."""

_ASCII = "".join(map(chr, range(128)))
_UNPUNCTUATED = {
    ord(sign): "" if sign in ".'" else " "
    for sign in _ASCII
    if unicodedata.category(sign).startswith("P") and sign != "#"
}
_DECIMAL = re.compile(r"(?<=\d)[.,](?=\d)")
"""Matches the point of "1.5", not that of "v.5"."""
_ALL_SIGNS = dict.fromkeys(ord(sign) for sign in _ASCII if not sign.isalnum())

_MAYBE_PUNCTUATION = re.compile(r"[^\w\s+#]|_")
"""Signs whose category is looked up: matches "." and "_", not "a", "7", "+"."""

_SHORT_I_BREVE = "\u0306"


def fold_digits(text: str) -> str:
    """Write the decimal digits of every script as ASCII digits."""
    return "".join(
        str(unicodedata.decimal(sign)) if sign.isdecimal() and not sign.isascii() else sign for sign in text
    )


@lru_cache(maxsize=FORMS_KEPT)
def tier_one(name: str, language: str = "") -> str:
    """Fold what nobody sees: compatibility forms, case, kinds of apostrophes and dashes, format signs."""
    if name.isascii() and language not in TURKIC:
        return " ".join(name.lower().replace("`", "'").split())
    text = unicodedata.normalize("NFKC", name)
    if language in TURKIC:
        text = text.replace("I", "ı").replace("İ", "i")
    text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    # the casefold of İ is i with a dot above
    text = text.casefold().replace("i\u0307", "i").translate(APOSTROPHES).translate(DASHES)
    return " ".join(fold_digits(unicodedata.normalize("NFC", text)).split())


@lru_cache(maxsize=FORMS_KEPT)
def tier_two(form: str, language: str = "") -> str:
    """Drop articles and punctuation of any script, and write dates one way; "+", "#", decimal points stay."""
    article = _ANY_ARTICLE.get(language)
    text = article.sub("", form) if article else form
    text = _THOUSANDS.sub("", fold_decimals(fold_date(text, language), language))
    if text.isascii() and not _DECIMAL.search(text):
        kept = text.translate(_UNPUNCTUATED)
    else:
        kept = _MAYBE_PUNCTUATION.sub(_unpunctuated, text)
    return " ".join(kept.split()) or form


def _unpunctuated(match: re.Match[str]) -> str:
    text, place, sign = match.string, match.start(), match[0]
    if not unicodedata.category(sign).startswith("P"):
        return sign
    between_digits = text[place - 1 : place].isdigit() and text[place + 1 : place + 2].isdigit()
    if sign in ".,٫" and between_digits:
        return "." if sign != "," else sign
    return "" if sign in ".'" else " "


@lru_cache(maxsize=FORMS_KEPT)
def tier_three(form: str, language: str = "") -> str:
    """Drop diacritics of Latin, Greek and Cyrillic (but not of й), and Arabic vowel marks."""
    if form.isascii():
        return form
    kept: list[str] = []
    base = ""
    for sign in unicodedata.normalize("NFD", _STRIPPED.sub("", form)):
        if unicodedata.category(sign) != "Mn":
            base = sign
        elif _drops_marks(base) and not (base == "и" and sign == _SHORT_I_BREVE):
            continue
        kept.append(sign)
    return unicodedata.normalize("NFC", "".join(kept)) or form


@lru_cache(maxsize=4096)
def _drops_marks(base: str) -> bool:
    return bool(base) and unicodedata.name(base, "").startswith(("LATIN", "GREEK", "CYRILLIC"))


def skeleton(name: str) -> str:
    """Return the letters and digits of an ASCII name, which no tier changes but for an article."""
    return name.lower().translate(_ALL_SIGNS)


def has_article(name: str, language: str) -> bool:
    """Tell whether an ASCII name may begin with an article."""
    article = _ANY_ARTICLE.get(language)
    return article is not None and article.match(name.lower().lstrip().replace("`", "'")) is not None


Form = Callable[[str], str]


def safe_tiers(golds: Sequence[Sequence[str]], language: str = "") -> list[Form]:
    """Return the forms to compare a question's names by, strictest first.

    A tier that would merge two golds is left out, and bolder ones build on what remains.

    Args:
        golds: for each gold its names.
        language: code of the question's language.
    """
    code = language.split("-", maxsplit=1)[0].lower()
    forms: list[Form] = [lambda name: tier_one(name, code)]
    for tier in (tier_two, tier_three):
        bolder = _compose(tier, forms[-1], code)
        if not _merges(golds, forms[0], bolder):
            forms.append(bolder)
    return forms


def _compose(tier: Callable[[str, str], str], before: Form, code: str) -> Form:
    return lambda name: tier(before(name), code)


def _merges(golds: Sequence[Sequence[str]], strict: Form, bold: Form) -> bool:
    owner: dict[str, int] = {}
    same: dict[str, int] = {}
    for place, names in enumerate(golds):
        for name in names:
            first = same.setdefault(strict(name), place)
            if owner.setdefault(bold(name), first) != first and first == place:
                return True
    return False
