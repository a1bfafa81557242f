"""Rules about an item's build: keys, options, labels, lost characters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from kina_build.items.checking.equality import equal_options
from kina_build.items.checking.mathmarkup import fold_markup
from kina_build.items.checking.quantities import equal_quantities
from kina_build.items.checking.rule import Fault
from kina_build.items.importing.labels import PREFIX, find_unlabelled, strip_labels
from kina_build.items.importing.rawfile import RowRefused
from kina_build.items.mentions import find_mention
from kina_build.items.model import LETTERS, Item
from kina_build.items.text import squeeze

LONGEST_LABEL = 12
"""Characters of the longest option that may be a bare letter with brackets and blanks."""
SENSES = {
    "text": "read the same",
    "markup": "look the same",
    "value": "are the same number",
    "expression": "are equal in value",
}
LOST = "\ufffd"
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
"""Control characters (category Cc) other than blanks and ends of line."""


def check_structure(item: Item) -> Iterator[Fault]:
    """Check what every multiple-choice item needs, whatever it is about."""
    if not item.question.strip():
        yield Fault("empty_stem", "question", "the question is empty")
    if len(item.options) < 2:
        yield Fault(
            "too_few_options", "options", f"{len(item.options)} option(s)", {"options": len(item.options)}
        )
    for option in item.options:
        if not option.answer.strip():
            yield Fault("empty_option", f"options.{option.key}", f"option {option.key} is empty")
    yield from _check_keys(item)
    yield from check_equal_options(item)
    yield from _check_labels(item)
    yield from _check_characters(item)


def check_equal_options(item: Item) -> Iterator[Fault]:
    """Find options that are the same answer: fatal where one of them is the key."""
    for group in equal_options(item):
        keys = list(group.keys)
        evidence = {"equal_positions": keys, "how": group.how}
        rule = "keyed_option_duplicated" if set(item.right_keys) & set(keys) else "duplicate_distractor"
        if group.how == "expression":
            rule = "options_equal_in_value"
        yield Fault(rule, f"options.{keys[0]}", f"options {' and '.join(keys)} {SENSES[group.how]}", evidence)
    yield from _check_quantities(item)


def _check_quantities(item: Item) -> Iterator[Fault]:
    texts = [(n, squeeze(fold_markup(option.answer))) for n, option in enumerate(item.options)]
    for group in equal_quantities(texts):
        keys = [item.options[n].key for n in group]
        shown = " = ".join(texts[n][1] for n in group)
        evidence = {"equal_positions": keys, "how": "unit"}
        yield Fault("options_equal_in_units", f"options.{keys[0]}", shown, evidence)


def _check_keys(item: Item) -> Iterator[Fault]:
    keys = [option.key for option in item.options]
    if item.several:
        message = f"{len(item.right_keys)} options are keyed: {', '.join(item.right_keys)}"
        yield Fault("several_keys", "correct_answer", message, {"keys": list(item.right_keys)})
    elif not item.right_keys:
        message = f"the key {item.correct_answer!r} names none of the {len(keys)} options"
        yield Fault(
            "key_not_in_options", "correct_answer", message, {"key": item.correct_answer, "options": keys}
        )
    if len(set(keys)) < len(keys):
        yield Fault("option_keys_repeated", "options", f"keys {', '.join(keys)}", {"keys": keys})
    elif keys != list(LETTERS[: len(keys)]):
        yield Fault("option_keys_irregular", "options", f"keys {', '.join(keys)}", {"keys": keys})


def _check_labels(item: Item) -> Iterator[Fault]:
    texts = [option.answer for option in item.options]
    extra = find_unlabelled(texts)
    if extra:
        keys = [item.options[at].key for at in extra]
        message = f"options {', '.join(keys)} carry no label, the ones before do"
        yield Fault("unlabelled_extra_options", "options", message, {"extra_positions": extra})
    elif _all_labelled(texts):
        yield Fault(
            "option_carries_label", "options", f"options begin with letters: {texts[0]!r}, {texts[1]!r}"
        )
    letters = {option.key for option in item.options}
    for option in item.options:
        text = option.answer.strip().strip("()[].") if len(option.answer) <= LONGEST_LABEL else ""
        if len(text) == 1 and text in letters and text != option.key:
            message = f"option {option.key} reads {option.answer!r}, the letter of another option"
            yield Fault("option_text_is_label", f"options.{option.key}", message)
            return
    if mention := find_mention(item):
        key, named = mention
        answer = next(option.answer for option in item.options if option.key == key)
        message = f"option {key} names options by letter: {answer.strip()!r}"
        yield Fault("option_refers_to_letters", f"options.{key}", message, {"letters": sorted(named)})


def _all_labelled(texts: list[str]) -> bool:
    """Tell whether all options begin with their own letters."""
    if len(texts) < 2 or not all(PREFIX.match(text) for text in texts):
        return False
    try:
        return bool(strip_labels(texts)[1])
    except RowRefused:
        return False


def _check_characters(item: Item) -> Iterator[Fault]:
    texts = {"question": item.question} | {f"options.{option.key}": option.answer for option in item.options}
    for where, text in texts.items():
        if LOST in text:
            yield Fault("replacement_character", where, f"U+FFFD at character {text.index(LOST)}")
        bad = None if text.isprintable() else CONTROL.search(text)
        if bad:
            yield Fault("control_character", where, f"U+{ord(bad[0]):04X} at character {bad.start()}")


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
