"""One item in several languages: do its versions agree on key, options, numbers and negation?

Versions name what they have in common in their metadata, `parallel`, as `kina import
--parallel` writes it. Each is compared with the English one, or else with the first by id.
A number is matched in any notation that it can have: 1,500 and 1.500, 5 million and 500万.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from kina_build.items.checking.rule import Fault
from kina_build.items.model import PARALLEL, Item

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
SMALL = 12
"""Numbers up to this one are often words, and alone prove nothing."""
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

SCRIPTS = (("ja", "[\u3040-\u30ff]"), ("ko", "[\uac00-\ud7af]"), ("zh", "[\u4e00-\u9fff]"),
           ("ru", "[\u0400-\u04ff]"), ("ar", "[\u0600-\u06ff]"))  # fmt: skip
"""Languages that their letters tell, in this order: Japanese has kana beside Chinese letters."""
FUNCTION_WORDS = {
    "en": "the of and which what is are following to in",
    "es": "el los las de que es cuál qué una siguientes",
    "fr": "le les des est quel quelle qui une du dans",
    "de": "der die das ist welche und nicht ein den von",
    "pt": "o os as do da que é qual uma não", "it": "il gli che è di una quale della non per",
}  # fmt: skip

ASKS_NEGATIVELY = {
    "en": (
        r"\b(?:NOT|EXCEPT|LEAST)\b|\b[Ee]xcept(?:\s+for)?\s*[:?]|\bexcept\b[^.]{0,40}[:?]?\s*$"
        r"|\b[Ww]hich\b[^.?]{0,80}\b(?:is|are|was|were|does|do|would|can|could|has|have)\s+not\b"
        r"|\b[Ww]hich\b[^.?]{0,60}\b(?:false|incorrect|untrue|inaccurate)\b"
    ),
    "ja": (
        r"(?:でない|ではない|しない|されない|いない|ありません|誤って|誤った|誤り|間違っ|正しくない|不適切|以外の?)"
        r"[^。？?]{0,8}(?:もの|記述|選択肢|文|主張|どれ|何)[^。]{0,10}(?:[？?か。]|$)"
    ),
    "zh": (
        r"不(?:正确|正確|属于|屬於|是|包括|能|会|可能|符合)的(?:是|[？?])|(?:错误|錯誤|有误)的(?:是|[？?一])"
        r"|除了?[^。]{0,20}[外都]"
    ),
    "es": r"\b(?:NO|EXCEPTO|MENOS)\b"
    r"|\bexcepto\s*[:?]|\b[Cc]uál\b[^.?]{0,60}\bno\b|\b(?:falsa|incorrecta)\b",
    "fr": r"\b(?:SAUF|PAS)\b"
    r"|\bsauf\s*[:?]|\b[Qq]uel\w*\b[^.?]{0,60}\b(?:n'|n’|ne\s)[^.?]{0,30}\bpas\b",
    "de": r"\b(?:NICHT|AUSSER|KEIN\w*)\b|\b[Ww]elche\w*\b[^.?]{0,80}\bnicht\b",
}
"""How stems ask for what is not so: "Which is NOT a gas?"; "Why is it not a gas?" does not."""
DENIES = {
    "en": (
        r"\b(?:not|no|nor?n|none|nothing|never|neither|nor|cannot|without|except|excluding|least|less|few|fewer|false"
        r"|wrong|unlikely|lacks?|lacking|other than|exclude[ds]?|rarely|hardly|avoid\w*|prevent\w*|refus\w*"
        r"|den(?:y|ies)"
        r"|reject\w*|oppos\w*|fails?|failed|failure|contrary|absen\w+|un\w{3,}|in\w{5,}|im\w{5,}|dis\w{4,}|mis\w{4,}"
        r"|ir\w{5,}|il\w{5,}|anti\w*|\w+less)\b|n['’]t\b"
    ),
    "ja": r"な[いくか]|ません|[ずぬ]|以外|誤|間違|偽|不|無|非|除|反|欠|未|違|異|外|最も",
    "zh": r"不|没|沒|非|无|無|未|错|錯|误|誤|除|否|勿|别|莫|反|缺|假|伪|外|难|最",
    "es": r"\b(?:no|ni|nunca|nada|ningun\w*|ningún"
    r"|excepto|menos|sin|fals\w+|salvo|jamás|in\w{4,}|im\w{4,}|des\w{4,})\b",
    "fr": r"\b(?:ne|pas|non|ni|jamais|sauf|sans|aucun\w*"
    r"|moins|fau(?:x|sse)\w*|in\w{4,}|im\w{4,}|dés?\w{4,})\b|\bn['’]",
    "de": r"\b(?:nicht\w*|kein\w*|nie|niemals|au(?:ß|ss)er|ohne|falsch\w*"
    r"|un\w{3,}|weder|weniger|am wenigsten)\b",
}
"""Any denial at all: where one version asks negatively and another has none of these, they differ."""
_ASKS = {language: re.compile(pattern, re.MULTILINE) for language, pattern in ASKS_NEGATIVELY.items()}
_DENIES = {language: re.compile(pattern, re.IGNORECASE) for language, pattern in DENIES.items()}

FEW = 8
"""Pairs of versions from which on their keys tell whether the options stand in one order."""
AGREEING = 0.6
"""Share of equal keys from which on they do: by chance it is about a quarter."""


@dataclass(frozen=True)
class Numbers:
    """The numbers of a text: each as the set of its readings, and those that words may stand for."""

    written: tuple[frozenset[Fraction], ...]
    spoken: frozenset[Fraction]


def check_parallel(items: Sequence[Item]) -> Iterator[tuple[str, Fault]]:
    """Compare the versions of each item; the fault is the version's that is not the first.

    Letters are compared where the versions keep one order of options: where most keys of two languages
    agree, or the numbers in the options pair them off.
    """
    groups: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        name = item.metadata.get(PARALLEL)
        if name is not None:
            groups[str(name)].append(item)
    pairs: defaultdict[str | None, list[tuple[Item, Item]]] = defaultdict(list)
    for group in groups.values():
        first, *others = sorted(group, key=lambda item: (language_of(item) != "en", item.item_id))
        for other in others:
            pairs[language_of(other)].append((first, other))
    for found in pairs.values():
        agreeing = sum(first.correct_answer == other.correct_answer for first, other in found)
        in_order = len(found) < FEW or agreeing >= AGREEING * len(found)
        for first, other in found:
            for fault in compare_versions(first, other, in_order=in_order):
                yield other.item_id, fault


def compare_versions(first: Item, other: Item, *, in_order: bool = True) -> Iterator[Fault]:
    """Compare two versions of an item.

    Args:
        first: the version that the other one is held to.
        other: the version that faults are told of.
        in_order: whether options at one place are versions of each other.
    """
    beside = {"beside": first.item_id}
    if len(first.options) != len(other.options):
        message = f"{len(other.options)} options, {first.item_id} has {len(first.options)}"
        yield Fault("parallel_options", "options", message, beside)
        return
    pairs = _align(first, other, in_order=in_order)
    expected = pairs.get(first.correct_answer)
    if expected is not None and expected != other.correct_answer:
        message = f"the key is {other.correct_answer}, by that of {first.item_id} it is {expected}"
        yield Fault("parallel_key", "correct_answer", message, beside)
    texts = {option.key: option.answer for option in other.options}
    compared = [("question", first.question, other.question)]
    compared += [
        (f"options.{pairs[one.key]}", one.answer, texts[pairs[one.key]])
        for one in first.options
        if one.key in pairs
    ]
    for field, one_text, other_text in compared:
        lost, found = unmatched(read_numbers(one_text), read_numbers(other_text))
        if (lost and found) or any(map(_is_telling, [*lost, *found])):
            told = f"{_shown(found)} here, {_shown(lost)} in {first.item_id}"
            yield Fault("parallel_numbers", field, f"numbers differ: {told}", beside)
            break
    if _negates(first.question, language_of(first), other.question, language_of(other)):
        message = f"one of it and {first.item_id} asks for what is not so"
        yield Fault("parallel_negation", "question", message, beside)


def language_of(item: Item) -> str | None:
    """Return an item's language, two letters: as it says, else by its letters and commonest words."""
    if item.language:
        return item.language[:2].lower()
    text = item.question
    for language, letters in SCRIPTS:
        if re.search(letters, text):
            return language
    words = Counter(re.findall(r"\w+", text.lower()))
    scores = {name: sum(words[word] for word in known.split()) for name, known in FUNCTION_WORDS.items()}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] else None


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


def _is_telling(readings: frozenset[Fraction]) -> bool:
    return all(value > SMALL or value.denominator > 1 for value in readings)


def _shown(numbers: Sequence[frozenset[Fraction]]) -> str:
    return ", ".join(f"{float(min(readings)):g}" for readings in numbers) or "none"


def _align(first: Item, other: Item, *, in_order: bool) -> dict[str, str]:
    """Pair options by the numbers they hold where these tell all apart, else by place where that is known."""
    ours = [_signature(option.answer) for option in first.options]
    theirs = [_signature(option.answer) for option in other.options]
    if len(set(ours)) == len(ours) and sorted(ours) == sorted(theirs) and all(ours):
        return {one.key: other.options[theirs.index(ours[n])].key for n, one in enumerate(first.options)}
    if not in_order:
        return {}
    return {one.key: two.key for one, two in zip(first.options, other.options, strict=True)}


def _signature(text: str) -> tuple[Fraction, ...]:
    return tuple(min(readings) for readings in read_numbers(text).written)


def _negates(one: str, one_language: str | None, other: str, other_language: str | None) -> bool:
    """Tell whether exactly one of two stems asks for what is not so; unknown languages say nothing."""
    if one_language not in _ASKS or other_language not in _ASKS:
        return False
    asked = bool(_ASKS[one_language].search(one)), bool(_ASKS[other_language].search(other))
    denies = bool(_DENIES[one_language].search(one)), bool(_DENIES[other_language].search(other))
    return (asked[0] and not denies[1]) or (asked[1] and not denies[0])
