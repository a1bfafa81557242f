"""Tokens of a folded text, numbers written one way, and what is counted of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal

from kina_build.items.text import fold_stem, squeeze

TOKEN = re.compile(
    r"(?P<number>\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|(?<!\d)\.\d+)"
    r"|(?P<han>[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)"
    r"|(?P<sign>[^\w\s.,;:!?'\"“”‘’…、。，；：？！「」『』《》·_-]|(?<![\w)])-(?=\d)"
    r"|(?:(?<=[\d)][ ])|(?<=[\W\d][^\W\d_][ ]))-(?=[ ](?:\d|\(|[^\W\d_]\b)))"
)
"""A number, one Chinese or Japanese character, a word, or a sign that can bear meaning: the minus of "-5" and
of "2x - 3", not the dash of "the road - a long one"."""

SMALL = tuple(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
    """.split()  # noqa: SIM905  twenty quoted words read worse
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
COUNTED = {word: number for number, word in enumerate(SMALL)} | {
    word: 10 * number for number, word in enumerate(TENS, start=2)
}
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
NUMBER_WORDS = frozenset((*COUNTED, *SCALES)) - {"one"}
"""Words that are read as numbers; "one" alone is more often a pronoun."""

ORDINAL_ENDS = frozenset({"st", "nd", "rd", "th"})
ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]


def tokens(folded: str) -> list[str]:
    """Cut a folded text into numbers, words, Chinese characters and signs.

    Numbers are written one way ("1,000", "1000.0" and "one thousand" are "1000"), so that only their
    values differ.
    """
    found = [
        normal_number(match.group()) if match.lastgroup == "number" else match.group()
        for match in TOKEN.finditer(folded)
    ]
    return found if NUMBER_WORDS.isdisjoint(found) and ORDINAL_ENDS.isdisjoint(found) else _counted(found)


def _counted(words: Sequence[str]) -> list[str]:
    """Write runs of number words as numbers, and "1st" as "first"."""
    found: list[str] = []
    place = 0
    while place < len(words):
        word, after = words[place], words[place + 1 : place + 2]
        if after and after[0] in ORDINAL_ENDS and word.isdigit() and 1 <= int(word) <= len(ORDINALS):
            found.append(ORDINALS[int(word) - 1])
            place += 2
        elif word in NUMBER_WORDS - SCALES.keys() or (after and after[0] in SCALES and _leads(word)):
            number, place = _read_number(words, place)
            found.append(number)
        else:
            found.append(word)
            place += 1
    return found


def _leads(word: str) -> bool:
    return word == "one" or word[0].isdigit()


def _read_number(words: Sequence[str], start: int) -> tuple[str, int]:
    """Read a run of number words; return the number and the place behind it.

    What may follow is less than the room that a word leaves: 10 after "twenty", 100 after "hundred".
    """
    total = part = Decimal(0)
    room = Decimal("Infinity")
    place = start
    while place < len(words):
        word = words[place]
        if word in SCALES and part:
            part *= SCALES[word]
            total, part = (total, part) if word == "hundred" else (total + part, Decimal(0))
            room = Decimal(min(SCALES[word], 1000))
        elif (place == start or word in COUNTED) and (number := _value(word)) < room:
            part += number
            room = Decimal(10 if word in TENS else 0)
        elif list(words[place : place + 3]) == ["and", "a", "half"]:
            return normal_number(f"{total + part + Decimal('0.5'):f}"), place + 3
        elif word != "and" or room < SCALES["hundred"] or not _counts(words, place + 1):
            break
        place += 1
    return normal_number(f"{total + part:f}"), place


def _counts(words: Sequence[str], place: int) -> bool:
    return place < len(words) and words[place] in COUNTED and words[place] != "one"


def _value(word: str) -> Decimal:
    return Decimal(COUNTED.get(word, word))


def normal_number(text: str) -> str:
    """Write a decimal number in ASCII digits without thousands separators and idle zeros."""
    if not text.isascii():
        text = "".join(str(unicodedata.digit(char, char)) for char in text)
    whole, _, part = text.replace(",", "").partition(".")
    whole, part = whole.lstrip("0") or "0", part.rstrip("0")
    return f"{whole}.{part}" if part else whole


def dense(words: Sequence[str]) -> str:
    """Join tokens without blanks; numbers stay apart from one another."""
    parts: list[str] = []
    for word in words:
        if parts and word[0].isdigit() and parts[-1][-1].isdigit():
            parts.append("|")
        parts.append(word)
    return "".join(parts)


GRAM = 3
"""Length of the character n-grams by which stems and passages are compared."""


def capitalised(text: str) -> frozenset[str]:
    """Return the words that carry a capital although no sentence begins with them, folded."""
    found = re.findall(r"(?<![.?!:]\s)(?<!^)\b([^\W\d_a-z][^\W\d_]+)", squeeze(text))
    return frozenset(fold_stem(word) for word in found if word[0].isupper())


def script(text: str) -> str:
    """Guess a language tag from the script where an item gives none: "ja", "zh" or "en".

    A guess by letters only: languages in Latin letters need their tag on the item.
    """
    if re.search(r"[\u3040-\u30ff]", text):
        return "ja"
    han = len(re.findall(r"[\u3400-\u9fff]", text))
    latin = len(re.findall(r"[A-Za-z]+", text))
    return "zh" if han > latin else "en"


def grams(folded: str) -> frozenset[str]:
    """Return the character n-grams of a text without its blanks."""
    letters = folded.replace(" ", "")
    return frozenset(letters[start : start + GRAM] for start in range(max(1, len(letters) - GRAM + 1)))


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Return the share |left and right| / |left or right|, 0 when both are empty."""
    union = len(left | right)
    return len(left & right) / union if union else 0.0
