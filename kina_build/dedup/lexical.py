"""What the letters of an item say: the text to encode, and readings that can be compared."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from kina_build.items.model import Item
from kina_build.items.text import fold_option, fold_stem, squeeze
from kina_build.jsonl import canonical

TOKEN = re.compile(
    r"(?P<number>\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|(?<!\d)\.\d+)"
    r"|(?P<han>[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)"
    r"|(?P<sign>[^\w\s.,;:!?'\"“”‘’…、。，；：？！「」『』《》·_-]|(?<![\w)])-(?=\d))"
)
"""A number, one Chinese or Japanese character, a word, or a sign that can bear meaning."""

FORMULAIC = re.compile(
    r"(?:true|false|yes|no|correct|incorrect|right|wrong|both|neither|cannot be determined|valid|invalid"
    r"|(?:all|none|both|neither|any|either)(?: of)?(?: the)?(?: \w+)? (?:above|these|them|options|statements)"
    r"|(?:only )?\(?(?:[ivx]+|\d|[a-j])\)?(?:(?:,| and|, and|&)? ?\(?(?:[ivx]+|\d|[a-j])\)?)*(?: only)?"
    r"|(?:(?:yes|no|wrong|not wrong|true|false),? ?)+"
    r"|正确|错误|对|错|是|否|以上都对|以上都不对|以上皆是|以上皆非|(?:はい|いいえ| )+|[①-⑩]+)\.?"
)
"""Option texts that any item may have: they tell nothing about which item it is."""

FORMS = frozenset({"<wide>", "<narrow>", "<compat>", "<noBreak>", "<small>", "<vertical>"})
"""Compatibility forms that are the same character; raised, lowered, circled and bold ones are not."""

TITLED = re.compile(r"\b[^\W\d_a-z][^\W\d_A-Z]{2,}\b")
"""A word of three letters or more with a capital in front: "Red" answers as "red" does, "Gg" not as "gg"."""

COUNTED = {
    "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "eleven": "11", "twelve": "12",
}  # fmt: skip
"""Number words that are read as numbers; "one" is more often a pronoun."""

ANSWER_ENDS = " .。"
STEM_ENDS = " .。?？:："
"""Closing marks that one edition sets and another leaves out."""

SEGMENT = re.compile(r"(?<=[.?!:。？！：])\s+|\n+|(?<=[。？！：])")
"""Where one sentence or line of a stem ends and the next begins."""

TEXT_FORM = 2
"""Counts the changes of `item_text`: results that were made from another form are out of date."""

GRAM = 3
"""Length of the character n-grams by which stems and passages are compared."""


@dataclass(frozen=True)
class Reading:
    """An item read for comparison; its texts are folded."""

    item_id: str
    raw: str
    """All that is shown, unfolded: equal for byte-equal copies only."""
    stem: str
    """Case and compatibility forms folded."""
    strict_stem: str
    """Folded as an answer is: short words keep their case, raised digits stay raised."""
    options: tuple[str, ...]
    """Sorted: the order in which options are shown makes no other question."""
    loose_options: frozenset[str]
    """Folded as stems are."""
    gold: frozenset[str]
    """Texts of the right option or options; empty where the key names none."""
    material: str
    path: tuple[str, ...]
    entities: frozenset[str]
    """Words that stand capitalised within a sentence of the stem, folded."""
    language: str
    segments: tuple[str, ...]
    """Sentences and lines of the stem, folded."""
    content: str
    """The stem without the sentences that many items share; at first all of it."""

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """Return the content's numbers, words, Chinese characters and signs in order."""
        return tuple(tokens(self.content))

    @cached_property
    def counts(self) -> Counter[str]:
        """Count the content's tokens."""
        return Counter(self.tokens)

    @cached_property
    def grams(self) -> frozenset[str]:
        """Return the content's character n-grams."""
        return grams(self.content)

    @cached_property
    def material_grams(self) -> frozenset[str]:
        """Return the passage's character n-grams."""
        return grams(self.material)


@dataclass(frozen=True)
class Common:
    """How often stems, their sentences and option texts stand in a corpus."""

    stems: Counter[str]
    segments: Counter[str]
    """Items whose stem holds this sentence."""
    options: Counter[str]
    """Items that show this option text."""
    limit: int
    """From this many items on, a text is too common to tell items apart."""

    def tells(self, option: str) -> bool:
        """Tell whether an option text is evidence of which item shows it."""
        return self.options[option] < self.limit and not FORMULAIC.fullmatch(option.casefold())

    def generic_stem(self, stem: str) -> bool:
        """Tell whether many items ask with these same words."""
        return self.stems[stem] >= self.limit


def item_text(item: Item) -> str:
    """Write an item as the one text that is encoded of it: question, right answer, passage.

    Copies, contamination and support all start from this vector, so it is paid for once.
    Wrong options are left out: on MMLU-Redux their texts hide the same fact asked the other
    way round ("A primate city is ..."), and they cost three fifths more time. Encoders cut
    long texts at the end, so the passage comes last.
    """
    parts = (item.question, item.correct_text or "", item.question_material or "")
    return "\n".join(filter(None, map(squeeze, parts)))


def read_item(item: Item) -> Reading:
    """Fold an item for comparison."""
    answers = [option.answer for option in item.options]
    stem = without_end(fold_stem(item.question), STEM_ENDS)
    return Reading(
        item_id=item.item_id,
        raw=canonical([item.question, answers, item.correct_answer, item.question_material or ""]),
        stem=stem,
        strict_stem=without_end(fold_answer(item.question), STEM_ENDS),
        options=tuple(sorted(map(fold_answer, answers))),
        loose_options=frozenset(without_end(fold_stem(answer), ANSWER_ENDS) for answer in answers),
        gold=gold_texts(item),
        material=fold_stem(item.question_material or ""),
        path=item.path,
        entities=capitalised(item.question),
        language=item.language or script(item.question),
        segments=tuple(filter(None, map(fold_stem, SEGMENT.split(item.question)))),
        content=stem,
    )


def fold_answer(text: str) -> str:
    """Fold a text as an answer of another item: forms and a word's capital go, meaning stays.

    Wide, narrow and radical forms become the ordinary character, titled words lose their
    capital and the text its full stop; raised digits, bold letters and the case of short words stay.
    """
    folded = fold_option(text)
    if not folded.isascii():
        folded = "".join(map(_ordinary, folded))
    return without_end(squeeze(TITLED.sub(lambda match: match.group().lower(), folded)), ANSWER_ENDS)


def without_end(text: str, marks: str) -> str:
    """Cut closing marks off, unless nothing else is there."""
    return text.rstrip(marks) or text


def gold_texts(item: Item) -> frozenset[str]:
    """Return the folded texts the key names: one, several ("AC"), the free answer, or none."""
    texts = {option.key: fold_answer(option.answer) for option in item.options}
    if not texts:
        return frozenset({fold_answer(item.correct_answer)} - {""})
    if item.correct_answer in texts:
        return frozenset({texts[item.correct_answer]})
    letters = [char for char in item.correct_answer if char not in " ,;/"]
    return frozenset(texts[key] for key in letters) if all(key in texts for key in letters) else frozenset()


def count_common(readings: Iterable[Reading], limit: int) -> Common:
    """Count stems, their sentences and option texts over a corpus."""
    stems: Counter[str] = Counter()
    segments: Counter[str] = Counter()
    options: Counter[str] = Counter()
    for reading in readings:
        stems[reading.stem] += 1
        segments.update(set(reading.segments))
        options.update(set(reading.options))
    return Common(stems, segments, options, limit)


def drop_boilerplate(reading: Reading, common: Common) -> Reading:
    """Leave out of a stem's content the sentences that many items share, unless nothing is left.

    Long instructions ("For which of these two scenarios ...") make unlike items look alike.
    """
    own = [segment for segment in reading.segments if common.segments[segment] < common.limit]
    if not own or len(own) == len(reading.segments):
        return reading
    return replace(reading, content=" ".join(own))


def tokens(folded: str) -> list[str]:
    """Cut a folded text into numbers, words, Chinese characters and signs.

    Numbers are written one way ("1,000" and "1000.0" are "1000"), so that only their
    values differ.
    """
    return [
        normal_number(match.group())
        if match.lastgroup == "number"
        else COUNTED.get(match.group(), match.group())
        for match in TOKEN.finditer(folded)
    ]


def normal_number(text: str) -> str:
    """Write a decimal number without thousands separators and idle zeros."""
    whole, _, part = text.replace(",", "").partition(".")
    whole, part = whole.lstrip("0") or "0", part.rstrip("0")
    return f"{whole}.{part}" if part else whole


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
    dense = folded.replace(" ", "")
    return frozenset(dense[start : start + GRAM] for start in range(max(1, len(dense) - GRAM + 1)))


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Return the share |left and right| / |left or right|, 0 when both are empty."""
    union = len(left | right)
    return len(left & right) / union if union else 0.0


def _ordinary(char: str) -> str:
    if unicodedata.decomposition(char).partition(" ")[0] in FORMS:
        return unicodedata.normalize("NFKC", char)
    return char
