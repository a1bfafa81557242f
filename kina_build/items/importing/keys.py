"""Answer keys: letters, indices, texts and lists, turned into option letters or refused.

One column is read as one form, decided over the whole file; a row that does not fit it
is refused by itself, and an index base that nothing in the file decides is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kina_build.items.importing.keycells import KeyCell, find_exact
from kina_build.items.importing.optioncells import OptionTexts, shorten
from kina_build.items.importing.rawfile import RowRefused
from kina_build.items.model import LETTERS
from kina_build.items.text import fold_option, fold_stem

Form = Literal["label", "index", "text"]

BRACKETED = re.compile(r"[(（\[]?\s*([A-Za-z])\s*[)）\].．、:：]*")
JOINED = re.compile(r"[A-Z]{2,10}|(?i:[A-Z](?:\s*[,;、/&|+\s]\s*(?:and\s+)?[A-Z]){1,9})")
"""Several letters: "AD", "a, d", "A|D", "B and C"; not "Ad"."""
LETTER_AND_TEXT = re.compile(r"[(（\[]?\s*(?P<letter>[A-Za-z])\s*[)）\].．、:：]\s*(?P<text>\S.*)", re.DOTALL)
WHOLE = re.compile(r"[+-]?\d+(?:\.0)?")
FOOTER = ".。!！ \t\n"
"""What a near miss may differ by, besides letter case and blanks."""


@dataclass(frozen=True)
class KeyForm:
    """How a key column is to be read."""

    form: Form
    base: int | None = None
    """What the first option's index is; None where the form is no index, or nothing decides it."""


def decide_form(cells: Sequence[KeyCell], column: str) -> KeyForm:
    """Decide how a column of keys is to be read.

    Args:
        cells: every row's key that is not blank.
        column: its name: "answer_text" and "answer_index" say what they hold.
    """
    named = column.lower().replace("-", "_")
    if named.endswith(("_text", "_string")):
        return KeyForm("text")
    if named.endswith("letter"):
        return KeyForm("label")
    if named.endswith(("index", "_idx")) or named == "cop":
        return KeyForm("index", _decide_base(cells))
    single = [cell for cell in cells if not isinstance(cell.value, list)]
    places = [
        cell for cell in cells if not (isinstance(cell.value, list) and _is_marks(cell.value, cell.options))
    ]
    if not single and places and all(_is_whole(one) for cell in places for one in cell.value):
        return KeyForm("index", _decide_base(cells))
    if single and all(_is_whole(cell.value) for cell in single):
        return _decide_numbers(single, cells)
    return KeyForm("label" if _are_labels(cells) else "text")


def is_undecided(cells: Sequence[KeyCell], form: KeyForm) -> bool:
    """Tell whether all keys are texts of options as well, and some would then mean another option.

    Numbers that the source keeps as numbers, beside options that are texts, count places.
    """
    if form.form == "text" or not cells or not all(isinstance(cell.value, str) for cell in cells):
        return False
    exact = [find_exact(cell.value, cell.options) for cell in cells]
    if None in exact or any(cell.value.strip() in cell.options.labels for cell in cells):
        return False
    return any(_read_all(cell, form) != [text] for cell, text in zip(cells, exact, strict=True))


def read_key(cell: KeyCell, form: KeyForm, *, several: bool = False) -> str:
    """Turn one key into an option's letter, or the keys of several right options into "BD".

    Raises:
        RowRefused: multiple_keys, no_key, answer_text_not_exact, answer_not_in_options,
            key_ambiguous or index_not_a_letter.
    """
    keys = sorted(set(_read_all(cell, form)), key=LETTERS.index)
    if len(keys) > 1 and not several:
        raise RowRefused(
            "multiple_keys",
            f"{len(keys)} keys where one is expected: {', '.join(keys)}; --several-keys takes all of them",
            keys=keys,
        )
    if not keys:
        raise RowRefused("no_key", "no right answer is marked")
    return "".join(keys)


def _read_all(cell: KeyCell, form: KeyForm) -> list[str]:
    value, options = cell.value, cell.options
    if isinstance(value, list):
        if _is_marks(value, options):
            return [LETTERS[at] for at, mark in enumerate(value) if mark]
        return list(dict.fromkeys(key for one in value for key in _read_all(KeyCell(one, options), form)))
    if not isinstance(value, str | int | float):
        raise RowRefused("key_unreadable", f"the key is a {type(value).__name__}")
    if form.form == "index":
        return [_from_index(value, options, form.base or 0)]
    letters = _as_letters(value, options)
    if form.form == "label" and _in_range(letters, options):
        return letters
    exact = find_exact(value, options)
    if exact is not None:
        return [exact]
    return letters if letters and form.form == "label" else _by_text(value, options, letters)


def _by_text(value: Any, options: OptionTexts, letters: list[str]) -> list[str]:
    """Take a bracketed or in-range letter among texts, else say how the text misses."""
    if len(letters) == 1 and _in_range(letters, options):
        return letters
    text = str(value)
    near = [LETTERS[at] for at, one in enumerate(options.texts) if _loosely(one) == _loosely(text)]
    if near:
        message = f"the answer {shorten(text)} is not exactly an option; it may mean {', '.join(near)}"
        raise RowRefused("answer_text_not_exact", message, suggestion=near[0] if len(near) == 1 else None)
    raise RowRefused(
        "answer_not_in_options", f"the answer {shorten(text)} is none of the options", suggestion=None
    )


def _as_letters(value: Any, options: OptionTexts) -> list[str]:
    """Read a value as option labels; [] where it is none. The source's own labels come first."""
    text = value.strip() if isinstance(value, str) else str(value)
    if text in options.labels:
        return [LETTERS[options.labels.index(text)]]
    if said := _with_text(text, options):
        return said
    bare = BRACKETED.fullmatch(text)
    if bare:
        letter = bare.group(1)
        return [letter.upper()] if not options.labels else _among_labels(letter, options)
    if isinstance(value, str) and JOINED.fullmatch(text):
        letters = re.findall("[A-Z]", re.sub(r"(?i)\band\b", " ", text).upper())
        if _in_range(letters, options) and len(set(letters)) == len(letters):
            return letters
    return []


def _with_text(text: str, options: OptionTexts) -> list[str]:
    """Read a key that is a letter and the text it names: "B. Otter"; [] where the two do not agree."""
    said = LETTER_AND_TEXT.fullmatch(text)
    if said is None:
        return []
    at = LETTERS.index(said["letter"].upper())
    named = at < len(options.texts) and fold_option(options.texts[at]) == fold_option(said["text"])
    return [LETTERS[at]] if named else []


def _in_range(letters: Sequence[str], options: OptionTexts) -> bool:
    """Tell whether there are letters and each is an option's."""
    return bool(letters) and all(letter in LETTERS[: len(options.texts)] for letter in letters)


def _among_labels(letter: str, options: OptionTexts) -> list[str]:
    for one in (letter, letter.upper(), letter.lower()):
        if one in options.labels:
            return [LETTERS[options.labels.index(one)]]
    return [letter.upper()]


def _are_labels(cells: Sequence[KeyCell]) -> bool:
    """Tell whether at least as many keys are letters of options as are texts of options."""
    labels = sum(_in_range(_as_letters(cell.value, cell.options), cell.options) for cell in cells)
    return labels == len(cells) or labels >= sum(find_exact(c.value, c.options) is not None for c in cells)


def _decide_numbers(cells: Sequence[KeyCell], every: Sequence[KeyCell]) -> KeyForm:
    """Decide whether whole numbers are the source's labels, option texts or indices.

    Args:
        cells: those that hold one number.
        every: those that hold several too: they may tell the base.
    """
    if all(str(cell.value).strip() in cell.options.labels for cell in cells):
        return KeyForm("label")
    if all(find_exact(cell.value, cell.options) for cell in cells) and not all(
        0 <= _whole(cell.value) <= len(cell.options.texts) for cell in cells
    ):
        return KeyForm("text")
    return KeyForm("index", _decide_base(every))


def _decide_base(cells: Sequence[KeyCell]) -> int | None:
    """Return 0 or 1, or None where no row decides; a 0 and a row's option count are what decide."""
    numbers = [
        (_whole(one), len(cell.options.texts))
        for cell in cells
        if not (isinstance(cell.value, list) and _is_marks(cell.value, cell.options))
        for one in (cell.value if isinstance(cell.value, list) else [cell.value])
        if _is_whole(one)
    ]
    if any(number == 0 for number, _ in numbers):
        return 0
    if any(number == count for number, count in numbers):
        return 1
    return None


def _from_index(value: Any, options: OptionTexts, base: int) -> str:
    if not _is_whole(value):
        letters = _as_letters(value, options)
        if len(letters) == 1:
            return letters[0]
        raise RowRefused("index_not_a_number", f"the key {shorten(str(value))} stands among indices")
    at = _whole(value) - base
    if not 0 <= at < len(LETTERS):
        raise RowRefused("index_out_of_range", f"index {value} is outside the {len(options.texts)} options")
    return LETTERS[at]


def _is_marks(value: list[Any], options: OptionTexts) -> bool:
    """Tell whether a list marks each option with 1 (right) or 0 (wrong)."""
    return len(value) == len(options.texts) and all(one in (0, 1) and isinstance(one, int) for one in value)


def _is_whole(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float | str) and WHOLE.fullmatch(str(value).strip()) is not None


def _whole(value: Any) -> int:
    return int(str(value).strip().removesuffix(".0"))


def _loosely(text: str) -> str:
    return fold_stem(text).strip(FOOTER)
