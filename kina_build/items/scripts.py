"""Rules about writing systems: an option in another script than its fellows, look-alikes inside words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from kina_build.items.findings import Fault
from kina_build.items.model import Item

SCRIPTS = {
    "Latin": re.compile(r"[A-Za-zÀ-ÖØ-öø-ɏ]"),
    "Cyrillic": re.compile("[\u0400-\u052f]"),
    "Greek": re.compile("[\u0370-\u03ff]"),
    "Arabic": re.compile("[\u0600-\u06ff]"),
    "Hebrew": re.compile("[\u0590-\u05ff]"),
    "Devanagari": re.compile("[\u0900-\u097f]"),
    "Hangul": re.compile("[\uac00-\ud7af]"),
    "Thai": re.compile("[\u0e00-\u0e7f]"),
    "Han or kana": re.compile("[\u3040-\u30ff\u4e00-\u9fff]"),
}
LEAST_LETTERS = 3
"""Letters of an option from which its script says something: λ is a symbol."""
LEAST_FELLOWS = 3
"""Options of one script beside which another one stands out."""

LOOKALIKE = "аеорсухіјѕһԁԛԝАВЕКМНОРСТХІЈЅ"
HOMOGLYPH = re.compile(
    rf"(?<!\w)(?=[A-Za-z{LOOKALIKE}]{{3,}}(?!\w))(?=\w*[a-z]{{2}}|\w*[a-z]\w*[a-z])"
    rf"(?:[A-Za-z]+[{LOOKALIKE}]|[{LOOKALIKE}]+[A-Za-z])[A-Za-z{LOOKALIKE}]*"
)
"""A Latin word with Cyrillic letters that look Latin: "bеaver"; of Cyrillic words with Latin letters
more than one letter must be Cyrillic without a Latin look-alike."""
HOMOGLYPH_CYRILLIC = re.compile(
    "(?<!\\w)(?=[\u0400-\u04ffaceopxyABEKMHOPCTX]{4,}(?!\\w))"
    "(?=\\w*[бвгджзийклмнптфцчшщъыьэюя]\\w*[бвгджзийклмнптфцчшщъыьэюя])"
    "[\u0400-\u04ff]*[а-яё][aceopxyABEKMHOPCTX][а-яё][\u0400-\u04ff]*"
)
CYRILLIC = SCRIPTS["Cyrillic"]


def check_scripts(item: Item) -> Iterator[Fault]:
    """Find an option in a script of its own, and words that mix look-alike letters."""
    texts = {"question": item.question} | {f"options.{option.key}": option.answer for option in item.options}
    if all(map(str.isascii, texts.values())):
        return
    for where, text in texts.items():
        if CYRILLIC.search(text):
            found = HOMOGLYPH.search(text) or HOMOGLYPH_CYRILLIC.search(text)
            if found:
                message = f"{found[0]!r} mixes Latin and Cyrillic letters that look alike"
                yield Fault("mixed_letters", where, message, {"words": found[0]})
                return
    yield from _stranger(item)


def _stranger(item: Item) -> Iterator[Fault]:
    scripts = {option.key: script_of(option.answer) for option in item.options}
    if None in scripts.values():
        return
    (common, count), *others = Counter(scripts.values()).most_common()
    if count < LEAST_FELLOWS or count != len(item.options) - 1 or script_of(item.question) != common:
        return
    odd = next(key for key, script in scripts.items() if script != common)
    if SCRIPTS[others[0][0] or ""].search(item.question):
        return
    text = next(option.answer for option in item.options if option.key == odd)
    if common and SCRIPTS[common].search(text):
        return
    if {common, others[0][0]} & WITH_LATIN_TERMS and "Latin" in (common, others[0][0]):
        return
    message = f"option {odd} is in {others[0][0]} letters, the others are in {common}"
    yield Fault("option_in_other_script", f"options.{odd}", message, {"words": text.strip()[:40]})


WITH_LATIN_TERMS = frozenset({"Han or kana", "Hangul", "Thai", "Arabic", "Devanagari", "Hebrew"})
"""Scripts whose readers write formulas and abbreviations in Latin letters: PCR, CO2."""


def script_of(text: str) -> str | None:
    """Return the script that most letters of a text belong to; None where there are hardly any."""
    if text.isascii():
        return "Latin" if sum(map(str.isalpha, text)) >= LEAST_LETTERS else None
    counts = {name: len(pattern.findall(text)) for name, pattern in SCRIPTS.items()}
    name = max(counts, key=lambda one: counts[one])
    least = 2 if name == "Han or kana" else LEAST_LETTERS
    return name if counts[name] >= least else None
