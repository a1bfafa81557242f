"""Letters and numbers in options that may name other options; which are the question's own."""

from __future__ import annotations

import re

from kina_build.items.model import Item
from kina_build.items.wordings import PINNED

_WORD = (
    r"0-9A-Za-z_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u03ff\u0400-\u052f\u0531-\u06ff"
    r"\u0750-\u077f\u0900-\u0dff\u0e00-\u0e7f\u1e00-\u1fff"
)
"""Characters of words that letters are part of. Chinese, Japanese and Korean ones are left out: both letters
of "A和C" stand alone."""

LONE = re.compile(
    rf"(?<![{_WORD}])(?<![A-Za-z]['’(.])(?<![A-Za-z]{{2}}[-‐‑])[A-Za-z](?![{_WORD}]|['’][A-Za-z]"
    rf"|\.[A-Za-z]|[-‐‑][A-Za-z]{{2}})"
)
"""A letter that stands alone: those of "A和C" and "(b)", not those of "X-ray", "don't", "f(x)" and "U.S."."""

_ONE = rf"[(\[]?(?:{LONE.pattern})[)\].]?"
_AND = (
    r"(?:and|or|nor|but\s+not|und|oder|noch|et|ou|ni|y|e|o|u|i|en|of|og|och|eller|ja|tai|és|vagy|sem|ve"
    r"|veya|và|hoặc"
    r"|dan|atau|oraz|lub|ani|a|nebo|alebo|și|sau|nici|и|или|та|й|і|або|και|ή|sia|così|w|na|και|और|या|এবং|و"
    r"|أو|ו|או)"
)
_SEP = (
    rf"(?:\s*[,;/&、，；·]\s*(?:{_AND}\s+)?|\s+{_AND}\s+|\s+{_AND}(?=[A-Z])"
    r"|\s*(?:和|与|與|及|或|跟|以及|と|や|または|및|와|과|이나|나|랑|하고)\s*)"
)
LISTED = re.compile(rf"{_ONE}(?:{_SEP}{_ONE})+", re.IGNORECASE)
"""Two or more lone letters in a row: "A and C", "(b), (d)", "A和C"; "a cat and a dog" has none."""

PAIR = re.compile(r"\W*([A-J]{2,5})\W*")
"""A whole option of capitals run together, such as "AC" for A and C; they must ascend."""

SINGLE = re.compile(
    rf"""(?xi) \W* (?: (?:only|except|all\s+but|not|but\s+not|same\s+as|unlike|nur|außer|seulement|sauf
          |sólo|solo|solamente
          |excepto|salvo|apenas|exceto|soltanto|tranne|только|кроме|тільки|tylko|oprócz|pouze|jen|enkel
          |alleen|bara|endast
          |kun|csak|yalnız|yalnızca|sadece|chỉ|hanya|kecuali|μόνο|فقط|केवल|सिर्फ|options?|answers?|choices?
          |alternatives?)
        \s+ [(\[]?(?P<after>{LONE.pattern})[)\].]? | [(\[]?(?P<before>{LONE.pattern})[)\].]? \s+ (?:only
          |alone|above|below
          |nur|allein|seulement|solamente|solo|только|और\s+केवल)
          | [只仅僅除选選]\S{{0,2}}?(?P<zh>{LONE.pattern}).* | (?P<item>{LONE.pattern})[项項] ) \W*"""
)
"""A whole option that is about one lettered thing: "only C", "all but b"; "only a child" is none."""

_ROMAN = r"(?:viii|vii|iii|ii|iv|vi|ix|i|v|x)"
_NUMBER = rf"[(\[]?(?:10|[1-9]|{_ROMAN}|[①-⑩])[)\].]?"
_NUMBER_SEP = rf"(?:\s*[,;]\s+(?:{_AND}\s+)?|\s*[&、，]\s*|\s+{_AND}\s+|\s*(?:和|与|與|及|或|と|와|과|및)\s*)"
NUMBERED = re.compile(
    rf"(?i)\W*(?:(?:only|both|either|neither|options?|answers?|choices?|nos?\.?|numbers?)\s+)*"
    rf"(?P<list>{_NUMBER}(?:{_NUMBER_SEP}{_NUMBER})+|[①-⑩]{{2,10}})(?:\s+(?:only|alone|above|(?:are|is)\s+\w+))?\W*"
)
"""A whole option that is two or more small numbers: "1 and 3", "I and III only"; "1.5" and "1/3" are none."""

_ROMANS = {name: n for n, name in enumerate(("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"), 1)}

WORDS = frozenset("aeiouyAEIOUY")
"""One-letter words of some language: alone they prove nothing."""

WORDED = re.compile(r"[^\W\d_]{3}|[^\x00-\u02ff]")
"""A text that is more than numbers and symbols."""

SHORT = 5
"""Words of an option that may be about options alone."""

CODE = 3
"""Characters of the longest option that may be a code: a hex digit, a blood group, a point of a figure."""


def named_letters(text: str, keys: frozenset[str]) -> frozenset[str]:
    """Return the letters by which an option may name options; empty where it certainly names none.

    Args:
        text: of the option.
        keys: the letters of the item's options.
    """
    if LONE.search(text) is None and not text.isupper():
        return frozenset()
    found: set[str] = set()
    for listed in LISTED.finditer(text):
        letters = _one_case([one for one in LONE.findall(listed[0]) if one.upper() in keys])
        if len(letters) > 1 and not _is_prose(text, listed, letters):
            found.update(map(str.upper, letters))
    capitals = {one for one in LONE.findall(text) if one.isupper() and one in keys}
    if len(capitals) > 1 and len(text.split()) <= SHORT:
        found.update(capitals)
    single = SINGLE.fullmatch(text)
    if single:
        letter = next(filter(None, single.groups()))
        found.add(letter.upper())
    pair = PAIR.fullmatch(text)
    if pair and list(pair[1]) == sorted(set(pair[1])):
        found.update(pair[1])
    return frozenset(found) if found <= keys else frozenset()


def _one_case(letters: list[str]) -> list[str]:
    """Keep the capitals where there are two: a small letter between them is a word, as in "A i B"."""
    capitals = [one for one in letters if one.isupper()]
    return capitals if len(capitals) > 1 else [one for one in letters if one.islower()]


def _is_prose(text: str, listed: re.Match[str], letters: list[str]) -> bool:
    """Tell whether small letters are words or symbols of a longer text rather than a list of options."""
    if letters[0].isupper():
        return False
    rest = (text[: listed.start()] + " " + text[listed.end() :]).split()
    return len(rest) > (0 if "/" in listed[0] else SHORT) or set(letters) <= WORDS


def own_letters(item: Item) -> frozenset[str]:
    """Return the letters that the question itself uses as names: of runners, points, variables."""
    texts = (item.question, item.question_material or "")
    return frozenset(letter for text in texts for letter in LONE.findall(text))


def is_own(letters: frozenset[str], own: frozenset[str]) -> bool:
    """Tell whether letters are names from the question: all are in it, one-letter words aside."""
    either = frozenset(map(str.upper, own))
    sure = {one for one in letters if one not in WORDS}
    return bool(sure) and sure <= either


def are_codes(item: Item) -> bool:
    """Tell whether most options are codes such as digits or points: none of them names another."""
    short = sum(len(option.answer.strip()) <= CODE for option in item.options)
    return 2 * short > len(item.options)


def find_mention(item: Item) -> tuple[str, frozenset[str]] | None:
    """Find the first option that names others by letter, as a reader would take it.

    Letters that the question itself uses, codes, and options that are all of one form are no mentions.
    """
    if are_codes(item):
        return None
    keys = frozenset(option.key for option in item.options)
    named = {option.key: named_letters(option.answer, keys) for option in item.options}
    if not any(named.values()):
        return None
    plain = {o.key for o in item.options if not named[o.key] and not PINNED.fullmatch(o.answer)}
    own = own_letters(item)
    for key, letters in named.items():
        if letters and letters <= plain and not is_own(letters, own):
            return key, letters
    return None


def named_numbers(text: str, count: int) -> frozenset[str]:
    """Return the numbers by which a whole option may name others of `count` options, as they are written."""
    found = NUMBERED.fullmatch(text)
    if found is None:
        return frozenset()
    written = frozenset(re.findall(rf"(?i)10|[1-9]|{_ROMAN}|[①-⑩]", found["list"]))
    values = {_value(one) for one in written}
    return written if len(values) > 1 and max(values) <= count else frozenset()


def numbers_in_doubt(item: Item) -> str:
    """Name an option whose numbers may mean options; numbers of the question's own list do not."""
    count = len(item.options)
    worded = sum(WORDED.search(option.answer) is not None for option in item.options)
    if 2 * worded < count:  # solutions of an equation, not places of options
        return ""
    named = {n: named_numbers(option.answer, count) for n, option in enumerate(item.options, start=1)}
    if not any(named.values()):
        return ""
    asked = set(re.findall(rf"(?i)(?<![\w.])(?:10|[1-9]|{_ROMAN}|[①-⑩])(?![\w])", item.question))
    asked |= set(re.findall(r"[①-⑩]", item.question))
    lowered = {one.lower() for one in asked}
    for n, numbers in named.items():
        others = {_value(one) for one in numbers}
        lists = any(named.get(other) for other in others)
        if numbers and not lists and not {one.lower() for one in numbers} <= lowered:
            return item.options[n - 1].key
    return ""


def _value(written: str) -> int:
    if "①" <= written <= "⑩":
        return ord(written) - ord("①") + 1
    return int(written) if written.isdigit() else _ROMANS[written.lower()]
