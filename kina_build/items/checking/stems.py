"""Rules about the question's text: is it there, and does it stand by itself?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kina_build.config import ItemRules
from kina_build.items.checking.media import POINTS_AT_MEDIA, POINTS_AT_PASSAGE
from kina_build.items.checking.rule import Fault
from kina_build.items.model import Item
from kina_build.items.text import fold_stem


@dataclass(frozen=True)
class Phrases:
    """A pattern, and the words without one of which it cannot match: looking for words is quick."""

    words: tuple[str, ...]
    pattern: re.Pattern[str]

    def search(self, text: str, lowered: str) -> str | None:
        """Return the first phrase found, its blanks squeezed."""
        found = self.pattern.search(text) if any(map(lowered.__contains__, self.words)) else None
        return " ".join(found[0].split()) if found else None


def _any(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


def _phrases(words: str, *phrases: str) -> Phrases:
    """Join phrases into one pattern; a blank in a phrase stands for any blanks."""
    pattern = "|".join(phrase.replace(" ", r"\s+") for phrase in phrases)
    return Phrases(tuple(words.split(",")), re.compile(pattern, re.IGNORECASE))


PLACEHOLDER = re.compile(
    _any("q question stem prompt text title item problem 题目 題目 问题 問題 题干 設問 問")
    + r"\s*(?:no\.?|#)?\s*\d*[.:：]?"
    + "|"
    + _any(
        r"todo tbd tba n/?a nil null none nan undefined placeholder"
        r" lorem\s+ipsum.* test x{2,} 第?\s*\d+\s*[题題問]"
    )
    + r"|[\[{<(]+\s*[\w ]{1,30}\s*[\]}>)]+|[a-z](?:[\s,;/、.-]+[a-z])*|[\W\d_]*"
)
"""Folded stems that are no question: a heading, a template's name, bare letters, no letter at all."""

LONGEST_PLACEHOLDER = 100
"""Characters beyond which a stem is a question."""

FORMULA = re.compile(r"\d[)\s]*[-−+*/×÷^=][(\s]*[-−]?[\d?]")
"""A stem without letters that asks all the same: "2 + 2 = ?"."""

MEDIA = _any(
    "figures? figs?\\.? diagrams? graphs? images? pictures? charts? photo(?:graph)?s? illustrations?"
    " maps? drawings? schematics? plots?"
)
SHOWN = _any(
    "shown depicted illustrated pictured drawn displayed seen indicated labell?ed given represented sketched"
)
SHOWS = r"(?:above|below|shows|shown|represents|depicts|illustrates|(?:at|on the) (?:right|left))"

NEEDS_MEDIA = _phrases(
    "fig,diagram,graph,image,picture,chart,photo,illustration,map,drawing,schematic,plot,exhibit,shown,"
    "depicted"
    ",img,![,图,圖,図",
    r"\b(?:figures?|figs?\.?|diagrams?|exhibits?|(?-i:Photo|Image|Chart))\s*(?:\d+|(?-i:[A-Z])\b)(?!\w)",
    r"\b(?:graphs?|maps?|plots?|pictures?) \d+\b",
    rf"\b{SHOWN} (?:in|on|by|as) (?:the|this|these|an?|above|below) (?:\w+ ){{0,2}}?{MEDIA}(?!\w)",
    rf"\b(?:the|this|these) (?:\w+ )?{MEDIA} {SHOWS}\b",
    rf"\b(?:following|accompanying|attached|adjacent|above|below) {MEDIA}(?!\w)(?! of speech)"
    r"(?!(?<=figures) (?:are|were|relate|refer|represent|apply|pertain|for|on)\b)",
    rf"\b(?:refer|according) to (?:the|this) {MEDIA}(?!\w)(?! of speech)",
    r"\b(?:shown|pictured|depicted) (?:above|below)\b",
    r"<\s*(?:image|img)\b[^>]*>|\[\s*(?:image|figure|img)\s*\d*\s*\]|!\[[^\]]*\]\(",
    r"[如见見下上右左]\s*[图圖]|图\s*\d|(?:下|上|右|左|次の)図|図\s*\d",
)
"""Words for a figure that ought to be there; "figure of speech" and "figure out" are none."""

NEEDS_TABLE = _phrases(
    "table,表",
    r"\btable \d+|\b(?:following|above|below|accompanying) table\b|\bthe table (?:above|below|shows?)\b",
    r"\b(?:shown|given|listed) in (?:the|this) table\b|[下上如]\s*表(?!面)",
)

NEEDS_PASSAGE = _phrases(
    "passage,excerpt,paragraph,extract,above,below,line,根据,文,材料",
    r"\b(?:the|this|that|above|following|preceding) (?:\w+ )?(?:passage|excerpt|paragraph|extract)\b(?! of)",
    r"\b(?:in|from|of) (?:the|this) (?:text|story|poem|article|speech|selection) (?:above|below)\b",
    r"\b(?:information|text|scenario|case) (?:above|below)\b",
    r"\blines? \d+(?:\s*[-–]\s*\d+)?\s*\(",
    r"根据(?:本文|短文|上文|材料|文章|原文)|[本上原]文[中的]|材料[一二三中]|本文[のでに]",
)

NUMBER = re.compile(r"\d+")
TABLE_NUMBERS = 12
"""Numbers in a stem that make it likely to hold the table it speaks of."""

WORK = _any("paper article chapter book lecture course thesis report module")
REFERS_TO_CONTEXT = _phrases(
    "paper,study,article,chapter,book,lecture,course,section,work,thesis,report,module,slide,author,"
    "above,earlier"
    ",previous,in class,the text,last week,today's,论文,研究,章,课",
    rf"\b(?:in|of|by|from|according to|throughout) (?:this|our) {WORK}\b",
    r"\b(?:according to|in|from) the (?:textbook|lecture(?: notes|slides?)?|course material|paper|chapter)\b",
    r"\bthe authors? of (?:this|the) (?:paper|study|article)\b",
    r"\bthe authors? (?:propos|introduc|show|demonstrat|report|conclud|claim)\w*",
    r"\bas (?:discussed|described|mentioned|noted|stated|explained|defined) (?:above|earlier|previously)\b",
    r"\bas (?:discussed|described|mentioned|noted|stated|explained|defined)"
    r" in (?:class|the (?:lecture|text|chapter|paper))\b",
    r"\b(?:in|of|from|to|on|using) the (?:previous|preceding|last|earlier|prior) "
    r"(?:question|problem|exercise|part|item|lecture|chapter|section)\b(?! of)",
    r"\b(?:in|as explained in|from|during) (?:last week['’]s|today['’]s|yesterday['’]s|our) (?:lecture"
    r"|class|lesson|seminar)\b",
    r"\b(?:this|our) (?:paper|study|article) (?:propos|introduc|show|demonstrat|report|conclud|argu)\w*",
    "[本该](?:论文|章|课)",
)

PERSON = _any(
    "expert assistant professor teacher tutor specialist scientist physician doctor lawyer engineer"
    " researcher historian economist consultant analyst ai model chatbot"
)
ROLE_PLAY = _phrases(
    "you are,act as,act like,behave,respond,answer as,answer like,as a",
    rf"^\W*you are (?:now )?(?:an?|the|my) (?:\w+[\s-]){{0,4}}?{PERSON}\b",
    r"^\W*(?:please )?(?:act|behave|respond|answer) (?:as|like) (?:if you|an?|the)\b",
    r"^\W*(?:imagine|pretend|assume|suppose) (?:that )?you are (?:an?|the)\b",
    r"^\W*as an? (?:\w+[\s-]){0,3}?(?:expert|ai|language model|professor|specialist)\s*,",
)


def check_stem(item: Item, rules: ItemRules = ItemRules()) -> Iterator[Fault]:
    """Check that the question is whole and needs nothing that is not in the item."""
    question = item.question
    if is_placeholder(question):
        yield Fault("stem_is_placeholder", "question", f"no question but {question.strip()!r}")
        return
    material = (item.question_material or "").strip()
    lowered = question.lower()
    inline = len(question) + 2 * len(WIDE.findall(question)) >= rules.passage_characters
    told: set[str] = set()
    for rule, phrases, given, what in (
        ("missing_media", NEEDS_MEDIA, _shows_media(material) or "\\begin{" in question, "needs a figure"),
        (
            "missing_media",
            POINTS_AT_MEDIA,
            _shows_media(material) or "\\begin{" in question,
            "needs a figure",
        ),
        ("missing_media", NEEDS_TABLE, bool(material) or _holds_table(question), "needs a table"),
        ("missing_passage", NEEDS_PASSAGE, bool(material) or inline, "needs a passage"),
        ("missing_passage", POINTS_AT_PASSAGE, bool(material) or inline, "needs a passage"),
        ("refers_to_context", REFERS_TO_CONTEXT, bool(material), "speaks of what is not there"),
        ("role_play", ROLE_PLAY, False, "says who to be"),
    ):
        words = None if given or rule in told else phrases.search(question, lowered)
        if words:
            told.add(rule)
            yield Fault(rule, "question", f"{what}: {words!r}", {"words": words})


def is_placeholder(question: str) -> bool:
    """Tell whether a stem is only what is left of a question; a short whole one is none."""
    if len(question) > LONGEST_PLACEHOLDER:
        return False
    stem = fold_stem(question)
    return bool(stem) and PLACEHOLDER.fullmatch(stem) is not None and not FORMULA.search(stem)


def _shows_media(material: str) -> bool:
    """Tell whether a material is, or links to, more than a text."""
    return bool(
        re.search(r"(?i)https?://|\.(?:png|jpe?g|svg|gif|webp|pdf)\b|<(?:img|svg|table)\b|!\[", material)
    )


WIDE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
"""A character that says as much as three letters."""


def _holds_table(question: str) -> bool:
    return (
        "\n" in question.strip()
        or "|" in question
        or (
            len(found := NUMBER.findall(question)) >= TABLE_NUMBERS
            or sum(map(len, found)) >= 2 * TABLE_NUMBERS
        )
    )
