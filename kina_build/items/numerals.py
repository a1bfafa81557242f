"""The numbers of a text, in any notation, script or language, and those that two texts do not share.

A number is matched in any notation that it can have: 1,500 and 1.500, 5 million and 500万.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction

NUMBER = re.compile(r"(?:(?<![\d.,])\.)?\d+(?:[.,\u066b\u00a0\u202f']\d+)*")
"""Digits with separators between them: "1,500", "3.14", ".5"; of "x2y" the 2."""


GROUPED = re.compile(r"\d{1,3}(?:([.,\u00a0\u202f'])\d{3})(?:\1\d{3})*")
"""Digits by threes: "1,500" may be 1500; "15,00" may not."""


SCALES = {
    "百万": 6, "千万": 7, "十億": 9, "百億": 10, "千億": 11, "十亿": 9, "百亿": 10, "千亿": 11,
    "mil millones": 9,
    "百": 2, "千": 3, "万": 4, "萬": 4, "만": 4, "億": 8, "亿": 8, "억": 8, "兆": 12, "조": 12,
    "hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "mil": 3, "mille": 3,
    "millón": 6, "millones": 6, "millions": 6, "milliard": 9, "milliards": 9, "tausend": 3, "millionen": 6,
    "milliarden": 9, "milhão": 6, "milhões": 6, "bilhões": 9, "milioni": 6, "miliardi": 9, "milions": 6,
    "тысяч": 3, "тысячи": 3, "миллион": 6, "миллиона": 6, "миллионов": 6, "миллиардов": 9,
}  # fmt: skip
"""Words behind a number to the power of ten that they mean."""


SCALE = re.compile(r"[\s-]*(" + "|".join(sorted(SCALES, key=len, reverse=True)) + r")", re.IGNORECASE)
"""Matches behind "5" in "5 million" and "5万", not in "5 millimetres" once the word is looked up."""


WORDS: dict[int, str] = {
    0: "zero no cero zéro null nulo 零",
    1: "one a an first single uno una un une ein eine um uma primer 一",
    2: "two binary twice second both pair half dos deux zwei dois duas due dues 二 两 両",
    3: "three third thrice tres trois drei três tre 三",
    4: "four fourth quarter cuatro quatre vier quattro 四",
    5: "five fifth cinco cinq fünf cinque cinc 五", 6: "six sixth seis sechs sei sis 六",
    7: "seven seventh siete sept sieben sete sette set 七",
    8: "eight eighth ocho huit acht oito otto vuit 八",
    9: "nine ninth nueve neuf neun nove nou 九",
    10: "ten tenth decimal diez dix zehn dez dieci deu decade 十",
    11: "eleven once onze elf undici 十一", 12: "twelve dozen doce douze zwölf doze dodici dotze 十二",
    16: "hexadecimal",
    20: "twenty twentieth veinte vingt zwanzig vinte venti vint 二十",
    100: "hundred hundredth percent century cien ciento cent hundert cem 百",
    1000: "thousand thousandth mil mille tausend 千", 1_000_000: "million millón milion milhão milione",
}  # fmt: skip


MONTHS = (
    "january enero janvier januar janeiro gennaio gener",
    "february febrero février februar fevereiro febbraio febrer",
    "march marzo mars märz março març", "april abril avril aprile", "may mayo mai maio maggio maig",
    "june junio juin juni junho giugno juny", "july julio juillet juli julho luglio juliol",
    "august agosto août agost", "september septiembre septembre setembro settembre setembre",
    "october octubre octobre oktober outubro ottobre", "november noviembre novembre novembro",
    "december diciembre décembre dezember dezembro dicembre desembre",
)  # fmt: skip


@dataclass(frozen=True)
class Numbers:
    """The numbers of a text: each as the set of its readings, and those that words may stand for."""

    written: tuple[frozenset[Fraction], ...]
    spoken: frozenset[Fraction]


def read_numbers(text: str) -> Numbers:
    """Read the numbers of a text, in any script's digits."""
    plain = "".join(str(unicodedata.decimal(char, char)) for char in unicodedata.normalize("NFKC", text))
    written: list[frozenset[Fraction]] = []
    decades: set[Fraction] = set()
    for found in NUMBER.finditer(plain):
        readings = _readings(found[0].lstrip("."), below_one=found[0][0] == ".")
        if plain[found.end() : found.end() + 1] == "s" and found[0].isdecimal():  # the 70s, the 1940s
            decades |= {Fraction(found[0]), Fraction(found[0]) + 1900}
            continue
        scale = SCALE.match(plain, found.end())
        word = scale[1].lower() if scale and not plain[scale.end() : scale.end() + 1].isalpha() else ""
        joined = scale[1] if scale and scale[1] in SCALES and not scale[1][0].isascii() else word
        if joined in SCALES:
            readings = {value * 10 ** SCALES[joined] for value in readings}
        written.append(frozenset(readings))
    lowered = plain.lower()
    words = set(re.findall(r"[^\W\d_]+", lowered)) | set(
        re.findall("[一二三四五六七八九十两両零百千]+", lowered)
    )
    spoken = {Fraction(value) for value, names in WORDS.items() if words & set(names.split())}
    spoken |= {Fraction(n) for n, names in enumerate(MONTHS, start=1) if words & set(names.split())}
    return Numbers(tuple(written), frozenset(spoken | decades))


def _readings(digits: str, *, below_one: bool = False) -> set[Fraction]:
    if below_one:
        return {Fraction(f"0.{digits}")} if digits.isdecimal() else set()
    parts = re.split(r"[^\d]", digits)
    found = set()
    if len(parts) == 1:
        return {Fraction(digits)}
    if GROUPED.fullmatch(digits):
        found.add(Fraction("".join(parts)))
    if len(parts) == 2 or GROUPED.fullmatch(digits[: -len(parts[-1]) - 1]):
        found.add(Fraction(f"{''.join(parts[:-1])}.{parts[-1]}"))
    return found or {Fraction("".join(parts))}


def unmatched(one: Numbers, other: Numbers) -> tuple[list[frozenset[Fraction]], list[frozenset[Fraction]]]:
    """Return the numbers of each side that the other has neither as digits nor as a word."""
    left = list(other.written)
    lost = []
    for readings in one.written:
        match = next((n for n, candidate in enumerate(left) if candidate & readings), None)
        if match is not None:
            del left[match]
        elif not readings & (other.spoken | frozenset().union(*other.written)):
            lost.append(readings)
    every = one.spoken | frozenset().union(*one.written)
    return lost, [readings for readings in left if not readings & every]
