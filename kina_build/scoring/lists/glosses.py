"""What a list entry may name: the whole of it, or what stands before or inside its gloss."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache

from kina_build.scoring.lists.normalise import TURKIC, has_article, skeleton, tier_one, tier_three, tier_two

_AROUND = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\"'“”‘’«»„*_`~✅✓✔☑"
"""Signs that are no part of a name where they stand around it: blanks, quotes, emphasis, ticks."""

_BOLD = re.compile(r"\s*(?:\*\*|__)(?P<name>[^*_\n]{1,200})(?:\*\*|__)\s*(?P<gloss>.*)", re.DOTALL)
_DASHED = re.compile(r"\s+[-–—―−→]+>?\s+|\s*[:：=]\s+|(?<=[^\W\d])：|\s+\.\.\.\s+")
_COLON = re.compile(r"\s*[:：=]\s*|\s+→\s+")
"""What parts "France" from "Paris" in "France: Paris"."""
_BRACKET = re.compile(
    r"^(?P<name>[^()（）\[\]]*[^()（）\[\]\s])\s*[（(\[](?P<gloss>[^()（）\[\]]*)[)）\]]\.?$"
)
_LINK = re.compile(r"!?\[([^\[\]]{1,300})\]\([^()\s]{1,500}\)")

LONGEST_ENTRY = 2_000
"""Characters of an entry that may name something and explain it; a longer one is prose."""

_NO_GLOSS = re.compile(r"[^\W_]+(?: [^\W_]+)*")
"""Matches "New York", which is read in one way, not "New York (city)" nor "gold: a metal"."""

_FIGURES = re.compile(r"\d{4}|\d[.,]\d")
"""What a date or a decimal holds: their forms change more than signs."""
_DATE = re.compile(r"\d{4}[- ]\d{2}[- ]\d{2}")


class Known:
    """The names of a question, under the forms they are matched by."""

    def __init__(self, names: Collection[str], language: str) -> None:
        self._code = language.split("-", maxsplit=1)[0].lower()
        self._forms = {form for name in names for form in _forms(name, self._code)}
        self._skeletons = {skeleton(form) for form in self._forms if form.isascii()}
        parted = (re.split("[,，،]", name, maxsplit=1) for name in names)
        self._heads = {_forms(parts[0], self._code)[-1] for parts in parted if len(parts) > 1}
        self._dated = any(_DATE.fullmatch(form) for form in self._forms)
        self._told: dict[str, bool] = {}

    def __call__(self, name: str) -> bool:
        """Tell whether a text is one of the names."""
        if not self._forms or len(name) > LONGEST_ENTRY:
            return False
        told = self._told.get(name)
        if told is None:
            told = self._told[name] = self._is_known(name)
        return told

    def may_open(self, piece: str) -> bool:
        """Tell whether a name that holds a comma begins with a piece."""
        if self._dated and piece[-1:].isdigit():
            return True  # "May 3, 1990"
        return bool(self._heads) and _forms(bare(piece), self._code)[-1] in self._heads

    def _is_known(self, name: str) -> bool:
        if name.isascii() and self._code not in TURKIC and skeleton(name) not in self._skeletons:
            # most texts are told from all names by their letters alone
            varied = has_article(name, self._code) or _FIGURES.search(name) is not None
            return varied and not self._forms.isdisjoint(_forms(name, self._code))
        return not self._forms.isdisjoint(_forms(name, self._code))


def _forms(name: str, code: str) -> tuple[str, ...]:
    one = tier_one(name, code)
    two = tier_two(one, code)
    return one, two, tier_three(two, code)


def bare(name: str) -> str:
    """Return a name without blanks, quotes and emphasis around it."""
    return name.strip(_AROUND)


def drop_links(text: str) -> str:
    """Write the text of Markdown links in their place."""
    return _LINK.sub(r"\1", text) if "](" in text else text


def readings(entry: str) -> Iterator[tuple[str, str]]:
    """Yield (rule, reading) of an entry, the whole of it first."""
    if _NO_GLOSS.fullmatch(entry):
        yield "whole", entry
        return
    whole = bare(entry.replace("**", "").replace("__", ""))
    yield "whole", whole
    if len(whole) <= LONGEST_ENTRY:
        yield from _explained(entry, whole)


def _explained(entry: str, whole: str) -> Iterator[tuple[str, str]]:
    bold = _BOLD.match(entry) if "**" in entry or "__" in entry else None
    if bold:
        yield "bold", bare(bold["name"]).rstrip(":： ")
    head = _DASHED.split(whole, maxsplit=1)[0]
    if head != whole:
        yield "before gloss", bare(head)
    yield from _bracketed((whole, head.strip(), whole.partition(",")[0].strip()))
    for text in (whole, head):
        if text.endswith((".", "。")):
            yield "without full stop", bare(text.rstrip(".。"))
    if "," in whole:
        yield "before comma", bare(whole.partition(",")[0])
    if head != whole and (colon := _COLON.search(whole)):
        yield "after colon", bare(whole[colon.end() :])


def _bracketed(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what stands before a closing bracket and inside it."""
    for text in dict.fromkeys(texts):
        bracket = _BRACKET.match(text) if text.rstrip(".\n").endswith((")", "）", "]")) else None
        if bracket:
            yield "before bracket", bare(bracket["name"])
            yield "inside bracket", bare(bracket["gloss"])


def resolve(entry: str, known: Known, *, cut: bool = True) -> tuple[str, str]:
    """Return (rule, name) of the first reading that is a name of the question.

    Args:
        entry: a line of a list, a cell, or a piece of a sentence.
        known: tells the names of the question.
        cut: where no reading is known, take what stands before a dash or colon; else the whole.
    """
    first: dict[str, str] = {}
    for rule, reading in readings(entry):
        if reading and known(reading):
            return rule, reading
        first.setdefault(rule, reading)
    name = (first.get("bold") or first.get("before gloss")) if cut else None
    return "unresolved", name or first["whole"]


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
    "bn": ("ও", "এবং"),
    "ur": ("اور",),
    "cs": ("a", "i"),
    "sk": ("a", "i"),
    "sv": ("och", "samt"),
    "da": ("og", "samt"),
    "nb": ("og", "samt"),
    "fi": ("ja", "sekä"),
    "hu": ("és", "valamint"),
    "nl": ("en", "alsook"),
    "el": ("και", "κι"),
    "id": ("dan", "serta"),
    "vi": ("và", "cùng"),
    "ro": ("și", "şi"),
    "th": ("และ", "กับ"),
}
"""Conjunctions of lists by language, beyond CLDR's one."""

UNSPACED = frozenset({"zh", "ja"})
"""Languages that write no blanks around the word."""

PREFIXED = frozenset({"ar", "he", "th"})
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
