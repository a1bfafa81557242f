"""Rules about an item's build: keys, options, labels, lost characters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kina_build.items.equality import equal_options
from kina_build.items.expressions import fold_markup
from kina_build.items.findings import Fault
from kina_build.items.labels import PREFIX, find_unlabelled, strip_labels
from kina_build.items.mentions import find_mention
from kina_build.items.model import LETTERS, Item
from kina_build.items.quantities import equal_quantities
from kina_build.items.reject import RowRefused
from kina_build.items.text import squeeze

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
        rule = "keyed_option_duplicated" if item.correct_answer in keys else "duplicate_distractor"
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
    if item.correct_answer not in keys:
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
        text = option.answer.strip().strip("()[].")
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
