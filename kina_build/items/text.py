"""Fold texts for comparison: one folding for stems, a stricter one for options.

Stems that differ in letter case or in the form of a character ask the same question;
options that do may be different answers (GG and Gg, x² and x2).
"""

from __future__ import annotations

import re
import unicodedata

INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f-\u1160\u17b4-\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U00013430-\U00013438\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0001]"
)
"""Format characters (category Cf), fillers, joiners and variation selectors.

Left out, because they can be seen: Arabic number signs and their kin; and tag characters,
which tell one regional flag from another.
"""


def squeeze(text: str) -> str:
    """Make each run of blanks one space and cut them from both ends; any Unicode blank counts."""
    return " ".join(text.split())


def drop_invisible(text: str) -> str:
    """Drop zero-width and format characters, bidi marks and variation selectors."""
    return text if text.isascii() else INVISIBLE.sub("", text)


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


TAIL = re.compile(r"\s*[-–(]\s*(?:max|choose|select|at least|optional|required)\b.*", re.IGNORECASE)
"""What sheets of quiz platforms say behind a name: "Answer 1 - max 75 characters"; "A - B" is none."""

NOISE = re.compile(r"[\W_]+")


def fold_name(name: str) -> str:
    """Fold a column name to its letters and digits: "Correct Answer(s)" is "correctanswers"."""
    return NOISE.sub("", TAIL.sub("", name).casefold())
