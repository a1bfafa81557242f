"""The labels an item's options carry, and the signs in other scripts that stand for them."""

from __future__ import annotations

import string
import unicodedata
from functools import cache

LATIN = string.ascii_uppercase

NATIVE: tuple[str, ...] = (
    "กขคงจฉชซฌญ",  # Thai, as exams letter their choices
    "أبجدهوزحطي",  # Arabic abjad order
    "אבגדהוזחטי",  # Hebrew
    "甲乙丙丁戊己庚辛壬癸",  # Chinese stems
    "アイウエオカキクケコ",  # Japanese
    "가나다라마바사아자차",  # Korean
    "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊ",
    "कखगघङचछजझञ",  # Devanagari
    "কখগঘঙচছজঝঞ",  # Bengali
    "\0БВГД",  # Cyrillic letters that look like no Latin one; the others are read as they look
    "\0\0ΓΔ",  # Greek likewise
)
"""Option letters of other scripts; the place in the string is the place of the option."""

LOOKALIKES = str.maketrans(
    "АВСЕНІЈКМОРЅТХУаесіјорѕхуΑΒΕΗΙΚΜΝΟΡΤΧΥΖ",
    "ABCEHIJKMOPSTXYaecijopsxyABEHIKMNOPTXYZ",
)
"""Cyrillic and Greek letters that cannot be told from Latin ones by eye."""

BADGES = str.maketrans(
    {chr(start + place): LATIN[place] for start in (0x1F150, 0x1F170) for place in range(26)}
)
"""Negative circled and squared capitals, which NFKC leaves as they are."""


@cache
def native_letters() -> dict[str, str]:
    """Return the Latin label of each native option letter."""
    table = {
        sign: LATIN[place] for script in NATIVE for place, sign in enumerate(script) if sign not in "\0В"
    }
    table |= {"ا": "A", "ھ": "E", "ة": "E", "ى": "J"}
    return table


def to_label(sign: str) -> str:
    """Return the upper-case Latin label a sign stands for; numbers stay numbers."""
    sign = unicodedata.normalize("NFC", sign)
    return native_letters().get(sign) or sign.translate(LOOKALIKES).upper()


@cache
def labels(n_options: int) -> tuple[str, ...]:
    """Return the labels of n options: A to Z, then 1, 2, 3, ...

    Raises:
        ValueError: fewer than one option.
    """
    if n_options < 1:
        raise ValueError(f"an item needs options; got {n_options}")
    return tuple(LATIN[:n_options]) + tuple(str(k) for k in range(1, n_options - len(LATIN) + 1))


@cache
def label_index(n_options: int) -> dict[str, int]:
    """Return the 0-based place of each label."""
    return {label: place for place, label in enumerate(labels(n_options))}
