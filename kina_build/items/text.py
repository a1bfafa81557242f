"""Fold texts for comparison: one folding for stems, a stricter one for options.

Stems that differ in letter case or in the form of a character ask the same question;
options that do may be different answers (GG and Gg, x² and x2).
"""

from __future__ import annotations

import re
import unicodedata

IGNORABLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0") | frozenset(
    map(chr, range(0xFE00, 0xFE10))
)
"""Invisible characters outside category Cf: fillers, joiners, variation selectors."""

VISIBLE_FORMAT = re.compile(r"[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]")
"""Characters of category Cf that leave ink on the page (Arabic number signs and their kin)."""

TAGS = range(0xE0020, 0xE0080)
"""Tag characters: invisible, yet they tell one regional flag from another."""


def squeeze(text: str) -> str:
    """Make each run of blanks one space and cut them from both ends; any Unicode blank counts."""
    return " ".join(text.split())


def drop_invisible(text: str) -> str:
    """Drop zero-width and format characters, bidi marks and variation selectors."""
    if text.isascii():
        return text
    return "".join(char for char in text if not _is_invisible(char))


def fold_option(text: str) -> str:
    """Fold an option for deciding whether two options read the same.

    Blanks are squeezed, invisible characters dropped and composed characters unified
    (NFC); letter case, superscripts, widths and symbols stay.
    """
    if text.isascii():
        return squeeze(text)
    return squeeze(unicodedata.normalize("NFC", drop_invisible(text)))


def fold_stem(text: str) -> str:
    """Fold a stem for comparing stems: as options, and case and compatibility forms as well.

    The result is stable: folding it again changes nothing. Source: NFKC casefolding,
    Unicode Standard section 3.13, definition D146.
    """
    if text.isascii():
        return squeeze(text).lower()
    folded = unicodedata.normalize("NFKD", drop_invisible(text))
    for _ in range(2):  # casefolding may undo the normal form, and the other way round
        folded = unicodedata.normalize("NFKC", folded.casefold())
    return squeeze(drop_invisible(folded))


def _is_invisible(char: str) -> bool:
    if char in IGNORABLE:
        return True
    if unicodedata.category(char) != "Cf":
        return False
    return ord(char) not in TAGS and not VISIBLE_FORMAT.match(char)
