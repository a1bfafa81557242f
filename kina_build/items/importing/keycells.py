"""One cell of a key column: its text, or the entries of its list."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from kina_build.items.importing.optioncells import OptionTexts, parse_literal
from kina_build.items.importing.rawfile import RowRefused
from kina_build.items.model import LETTERS
from kina_build.items.text import fold_option

NUMBERS = re.compile(r"\d{1,2}(?:\.0)?(?:\s*[,;、/&|+]\s*\d{1,2}(?:\.0)?){1,25}")
"""Several indices in one cell: "1,3", "0 | 2"; not "12"."""
APART = re.compile(r"\s*[,;、/&|+]\s*")
COMMA = re.compile(r"\s*,\s*")
TEXTS_APART = re.compile(r"\s*[;|\n]\s*")
"""What parts the texts of several right options in one cell: "Iron; Copper"."""


@dataclass(frozen=True)
class KeyCell:
    """One row's key as the source gives it, beside the options it must name."""

    value: Any
    options: OptionTexts


def read_cell(value: Any, options: OptionTexts) -> KeyCell:
    """Take a key as it stands, or as a list where one cell holds several: "1,3", "Iron; Copper".

    So does a list in JSON or Python, written as text.
    A cell that is an option's label or text as a whole is never cut.
    """
    text = value.strip() if isinstance(value, str) else ""
    if not text or text in options.labels or find_exact(text, options):
        return KeyCell(value, options)
    if text.startswith("[") and text.endswith("]"):
        try:
            listed = parse_literal(text)
        except RowRefused:
            return KeyCell(value, options)
        return KeyCell(listed if isinstance(listed, list) and listed else value, options)
    parts: list[str] = APART.split(text) if NUMBERS.fullmatch(text) else []
    for sign in () if parts else (TEXTS_APART, COMMA):
        pieces = sign.split(text)
        if len(pieces) > 1 and all(len(one) > 1 and find_exact(one, options) for one in pieces):
            parts = pieces
            break
    return KeyCell(parts or value, options)


def is_blank(value: Any) -> bool:
    """Tell whether a key is not given."""
    return value is None or (isinstance(value, str) and not value.strip()) or value == []


def find_exact(value: Any, options: OptionTexts) -> str | None:
    """Return the letter of the one option that a text equals, apart from blanks."""
    wanted = fold_option(str(value))
    found = [LETTERS[at] for at, text in enumerate(options.texts) if fold_option(text) == wanted]
    return found[0] if len(found) == 1 else None
