"""What the letters of an item say: the text to encode, and readings that can be compared."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from kina_build.dedup.compare.canonical import (
    Quantity,
    answer_form,
    plain,
    read_quantity,
    stem_form,
    unframed,
    unlabelled,
    with_points,
)
from kina_build.dedup.compare.tokens import capitalised, dense, grams, script, tokens
from kina_build.items.model import Item
from kina_build.items.text import fold_option, fold_stem, squeeze
from kina_build.rows.jsonl import canonical

_FRAME = """
a an the of in on at to for from by with and or not no as than then that this these those it its which what
who whom whose when where why how is are was were be been do does did has have had one would could can may
might should will must following statement statements option options answer answers question questions correct
incorrect true false best most least describe describes described regarding about concerning except choose
select given below above example examples sentence sentences pair pairs
"""

FRAME_WORDS = frozenset(_FRAME.split())
"""Words that frame a question and tell nothing of what is asked."""

FORMS = frozenset({"<wide>", "<narrow>", "<compat>", "<noBreak>", "<small>", "<vertical>"})
"""Compatibility forms that are the same character; raised, lowered, circled and bold ones are not."""

TITLED = re.compile(r"\b[^\W\d_a-z][^\W\d_A-Z]{2,}\b")
"""A word of three letters or more with a capital in front: "Red" answers as "red" does, "Gg" not as "gg"."""

ANSWER_ENDS = " .。"
STEM_ENDS = " .。?？:："
"""Closing marks that one edition sets and another leaves out."""

SEGMENT = re.compile(r"(?<=[.?!:。？！：])\s+|\n+|(?<=[。？！：])")
"""Where one sentence or line of a stem ends and the next begins."""


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
    question: str
    """The stem as it is written."""
    answers: tuple[str, ...]
    """The options in order, folded as answers; the free answer where there are none."""
    right: tuple[int, ...]
    """Places of the right ones among the answers."""

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """Return the content's numbers, words, Chinese characters and signs in order."""
        return tuple(tokens(plain(self.content)))

    @cached_property
    def stem_form(self) -> str:
        """Return the stem in the form that forgets blanks, hyphens, markup and numbering."""
        return stem_form(self.question)

    @cached_property
    def bare(self) -> tuple[str, ...]:
        """Return the options in order without labels, with decimal points."""
        return tuple(with_points(unlabelled(self.answers)))

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """Return the options, in order, in the form that forgets units' blanks, markup and labels.

        Options that would become one stay as they are.
        """
        forms = [answer_form(answer) for answer in self.bare]
        return tuple(forms) if len(set(forms)) == len(set(self.answers)) else self.answers

    @cached_property
    def framed(self) -> tuple[tuple[str, ...], str]:
        """Return the options without the words that all of them begin or end with, and those words."""
        bare, frame = unframed(self.bare)
        return (tuple(bare), frame) if len(set(bare)) == len(set(self.answers)) else (self.forms, "")

    @cached_property
    def quantity(self) -> Quantity | None:
        """Return the right answer as a number with its unit, where it is one."""
        return read_quantity(self.bare[self.right[0]]) if len(self.right) == 1 else None

    @cached_property
    def told(self) -> int:
        """Count the stem's words that are not the frame of any question."""
        words = tokens(plain(self.stem))
        return len({word for word in words if word[0].isalnum() and word not in FRAME_WORDS})

    @cached_property
    def token_form(self) -> str:
        """Return the tokens joined without blanks."""
        return dense(self.tokens)

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
        question=item.question,
        answers=tuple(map(fold_answer, answers or [item.correct_answer])),
        right=right_places(item),
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
    texts = [option.answer for option in item.options] or [item.correct_answer]
    return frozenset(fold_answer(texts[place]) for place in right_places(item)) - {""}


def right_places(item: Item) -> tuple[int, ...]:
    """Return the places of the right options; of the free answer, 0; none where the key names none."""
    if not item.options:
        return (0,) if item.correct_answer.strip() else ()
    keys = [option.key for option in item.options]
    return tuple(map(keys.index, item.right_keys))


def _ordinary(char: str) -> str:
    if unicodedata.decomposition(char).partition(" ")[0] in FORMS:
        return unicodedata.normalize("NFKC", char)
    return char
