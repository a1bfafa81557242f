"""The labels an item's options carry, and the signs, numbers and ordinals that stand for them."""

from __future__ import annotations

import re
import string
import unicodedata
from functools import cache

from kina_build.scoring.replies import cues, denials
from kina_build.scoring.replies.patterns import OPENERS, Cues, any_of, listed

LATIN = string.ascii_uppercase

NUMBERED = "".join(chr(0xE100 + place) for place in range(20))
"""Private signs for ①, ❷ and their kin: an option's number, told apart from a bare numeral."""

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
    "கஙசஞடணதநபம",  # Tamil consonants
    "அஆஇஈஉஊஎஏஐஒ",  # Tamil vowels, as exams letter their choices
    "అఆఇఈఉఊఎఏఐఒ",  # Telugu
    "ಅಆಇಈಉಊಎಏಐಒ",  # Kannada
    "അആഇഈഉഊഎഏഐഒ",  # Malayalam
    "აბგდევზთიკ",  # Georgian
    "ሀለሐመሠረሰቀበተ",  # Amharic
    "ԱԲԳԴԵԶԷԸԹԺ",  # Armenian
    "\0БВГДЕЖЗИК",  # Cyrillic, but for А; В, Е and К are read as AMBIGUOUS says
    "\0\0ΓΔ\0\0ΗΘ",  # Greek likewise
    NUMBERED,
)
"""Option letters of other scripts; the place in the string is the place of the option."""

AMBIGUOUS: dict[str, tuple[str, str]] = {
    "В": ("B", "C"),
    "Е": ("E", "F"),
    "К": ("K", "J"),
    "Н": ("H", "N"),
    "Η": ("H", "G"),
    "Ζ": ("Z", "F"),
}
"""Signs that are one letter to the eye and another by their place: (by the eye, by place)."""

LOOKALIKES = str.maketrans(
    "АВСЕНІЈКМОРЅТХУаесіјорѕхуΑΒΕΗΙΚΜΝΟΡΤΧΥΖ",
    "ABCEHIJKMOPSTXYaecijopsxyABEHIKMNOPTXYZ",
)
"""Cyrillic and Greek letters that cannot be told from Latin ones by eye."""

BADGES = str.maketrans(
    {chr(start + place): LATIN[place] for start in (0x1F150, 0x1F170, 0x1F130) for place in range(26)}
    | {chr(0x24B6 + place): LATIN[place] for place in range(26)}
    | {
        chr(start + place): NUMBERED[place]
        for start, count in ((0x2460, 20), (0x2776, 10), (0x2780, 10), (0x278A, 10), (0x24F5, 10))
        for place in range(count)
    }
)
"""Circled and squared capitals and numbers, some of which NFKC leaves as they are."""


@cache
def native_letters() -> dict[str, str]:
    """Return the Latin label of each native option letter that has but one reading."""
    table = {
        sign: LATIN[place]
        for script in NATIVE
        for place, sign in enumerate(script)
        if sign != "\0" and sign not in AMBIGUOUS
    }
    return table | {"ا": "A", "ھ": "E", "ة": "E", "ى": "J", "پ": "B"}


def to_label(sign: str) -> str:
    """Return the upper-case Latin label a sign stands for; a sign of two readings stays as it is."""
    sign = unicodedata.normalize("NFC", sign)
    upper = sign.upper()
    if upper in AMBIGUOUS:
        return upper
    native = native_letters()
    return native.get(sign) or native.get(upper) or sign.translate(LOOKALIKES).upper()


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


ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")

_COUNTED = Cues(
    listed(
        """
        option · choice · opción · opção · вариант · варіант · گزینه · گزینهی · گزینهٔ · विकल्प · বিকল্প · 选项 ·
        選項 · 選択肢 · ข้อ · pilihan · opsi · seçenek · lựa chọn · الخيار · opcja · opzione
        """
    )
)
_NUMBER_BEHIND = re.compile(
    rf"\s*(?:no\.|number|#)?\s*[{OPENERS}]?(?P<number>\d{{1,2}})(?![\w%°]|[.,]\d|\s*(?:years|percent))",
    re.IGNORECASE,
)
"""Matches " no. 2" behind "option", not " 2 years"."""
_COUNTER = re.compile(r"(?<![\d.,])(?P<number>\d{1,2})(?=번|番(?!目))")
"""Matches the number in "3번" and "3番"."""
_DIGIT = re.compile(r"\d")
_ORDINAL = re.compile(
    rf"\bthe (?P<ordinal>{'|'.join(ORDINALS)}|last) (?P<noun>{any_of(cues.OPTION_NOUNS[:4])})", re.IGNORECASE
)


def letter_numbers(text: str, n_options: int) -> str:
    """Write the number of an option as a sign of its own, which counts as a letter does."""
    if n_options > len(LATIN):
        return text  # such items have numbers among their labels
    if "the " in text.lower():
        text = _ORDINAL.sub(lambda match: _ordinal(match, n_options), text)
    return _COUNTER.sub(_counted, _count_nouns(text)) if _DIGIT.search(text) else text


def _count_nouns(text: str) -> str:
    parts, done = [], 0
    for _, end in sorted(_COUNTED.spans(text)):
        match = _NUMBER_BEHIND.match(text, end)
        if match:
            parts += [text[done : match.start("number")], _counted(match)]
            done = match.end()
    return "".join([*parts, text[done:]])


def _counted(match: re.Match[str]) -> str:
    place = int(match["number"]) - 1
    return NUMBERED[place] if 0 <= place < len(NUMBERED) else match["number"]


def _ordinal(match: re.Match[str], n_options: int) -> str:
    word = match["ordinal"].lower()
    place = n_options - 1 if word == "last" else ORDINALS.index(word)
    return f"{match['noun']} {NUMBERED[place]}" if place < len(NUMBERED) else match[0]


BEFORE_NAME, BEHIND = 20, 48
"""Characters before a lone capital and behind it that tell whether it is a word."""

REASON = rf"(?:{'|'.join(sorted(denials.REASONS))})"
"""A lower-case word that may follow a letter A or I which is an option."""

_OTHER_WORD = re.compile(rf"\s+(?!{REASON}\b)[a-z\"“'‘]|\s+(?:am|think|do|have)\b")
_I_CLAUSE = re.compile(
    r"['’]|\s+(?!(?:because|since|therefore|where|the|one|alone|are|were)\b)"
    r"(?:am|was|think|do|did|have|would|will|can|cannot|should|must|could|believe|hope|know|don|won|pick|get"
    r"|see|find|select|go|[a-z]{2,}ed|[a-z]{3,}e)\b"
)
_BINOMIAL = re.compile(r"\.\s[a-z]{3,}\s[a-z]")
"""E. coli and other species."""
_NAME = Cues(denials.NAMED_WITH_LETTERS, tail="[ .]{1,2}$")
_NUMBER = re.compile(r"\d[ .]{1,2}$")


def is_a_word(text: str, sign: str, start: int, end: int, *, named: bool = True) -> bool:
    """Tell whether a lone capital is an article, a pronoun, a symbol or part of a name.

    Args:
        text: where it stands.
        sign: the capital.
        start: its first character.
        end: behind it.
        named: look for "vitamin", "plan", ... before it.
    """
    after = text[end : end + BEHIND]
    if sign in "AI" and _OTHER_WORD.match(after):
        return True
    if sign == "I" and _I_CLAUSE.match(after):
        return True
    if _BINOMIAL.match(after):
        return True
    before = text[max(0, start - BEFORE_NAME) : start]
    return named and (_NUMBER.search(before) is not None or _NAME.occurs(before))
