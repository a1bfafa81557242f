"""Where a text names an option's letter, and whether it asserts or rejects it there."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from kina_build.scoring.letters import cues
from kina_build.scoring.letters.labels import native_letters, to_label

Stance = Literal["picked", "implied", "rejected", "supposed", "named"]
"""picked: by a verb of choice or a confirmation; implied: "so B"; supposed: "if it were B"."""

BEFORE, AFTER = 70, 48
"""Characters looked at on either side of a letter."""

LAST_MENTIONS = 128
"""Mentions weighed at most: in a text that names more letters, the last ones."""

OPENERS, CLOSERS = "(\\[{<«“\"'‘‚„「『【〔", ")\\]}>»”\"'’」』】〕"
UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts that write no blanks, or glue particles to a letter."""


def any_of(pieces: Iterable[str]) -> str:
    """Join pieces into one group, longest first, with word boundaries where the script has words."""
    ordered = sorted(set(pieces), key=lambda piece: (-len(piece), piece))
    bounded = [
        piece if re.search(f"[{UNSPACED}\u2600-\u27bf]", piece) else rf"(?<!\w){piece}(?!\w)"
        for piece in ordered
    ]
    return "(?:" + "|".join(bounded) + ")"


NATIVE = "".join(sign for sign in native_letters() if sign > "\u03ff")
SIGN = f"[A-Za-z{NATIVE}АВСЕНІЈКМОРЅТХУΑΒΕΗΙΚΜΝΟΡΤΧΥΖΓΔ]"
MENTION = re.compile(
    rf"(?<![\w)])[{OPENERS}]{{1,3}}\s?(?P<bracketed>{SIGN})\s?[{CLOSERS}]{{1,3}}(?!\w)"
    rf"|(?<!\w)(?P<native>[{NATIVE}])(?!\w)"
    rf"|(?<![^\W{UNSPACED}])(?<![\-'’^/\\.%°$+=])(?P<bare>[A-ZАВСЕНІЈКМОРЅТХΑΒΕΗΙΚΜΝΟΡΤΧΓΔБГД])"
    rf"(?![^\W{UNSPACED}])(?!['’^%°]\w?|-\w|[+*/=]\s?\w|\s?[=<>≈≤≥∈]\s?\S|\.\w)"
)
_NAMED_BEFORE = re.compile(rf"(?:{any_of(cues.NAMED_WITH_LETTERS)}|\d)[ .]{{1,2}}$", re.I)
_ARTICLE_OR_PRONOUN = re.compile(
    rf"\s+(?!(?:{'|'.join(sorted(set(cues.REASONS)))})\b)[a-z\"“'‘]|\s+(?:am|think|do|have)\b"
)
_I_CLAUSE = re.compile(
    rf"['’]|\s+(?!(?:because|since|therefore|where|the|one|alone|are|were)\b)(?:am|was|think|do|did|have|would|will|can|cannot|should|must|could|believe|hope|know|[a-z]{{2,}}ed|[a-z]{{3,}}e|don|won|pick|get|see|find|select|go)\b"
)
_BINOMIAL = re.compile(r"\.\s[a-z]{3,}\s[a-z]")
_FILLER = rf"(?:{any_of((*cues.OPTION_NOUNS, 'the', 'a', 'la', 'el', 'o', 'die', 'der', 'de', 'das', 'that', 'statement'))}\s*)"
_GLUE = rf"[\s:：,，;\-–—>→=.{OPENERS}]*"
_PICKED_BEFORE = re.compile(
    rf"(?:{any_of(cues.PICKS)}|{any_of(cues.RIGHT)}[^.!?。]{{0,40}}?{any_of(cues.COPULAS)}){_GLUE}{_FILLER}{{0,3}}{_GLUE}$",
    re.I,
)
_IMPLIED_BEFORE = re.compile(rf"{any_of(cues.LEADS_TO)}{_GLUE}{_FILLER}{{0,3}}{_GLUE}$", re.I)
_OPTION_BEFORE = re.compile(rf"{any_of(cues.OPTION_NOUNS)}\s*[{OPENERS}]?\s*$", re.I)
_CONFIRMED_AFTER = re.compile(rf"[\s{CLOSERS},:：\-–—]*(?:{_FILLER})?{any_of(cues.CONFIRMS_AFTER)}", re.I)
_REJECTED_BEFORE = re.compile(any_of(cues.REJECTS_BEFORE), re.I)
REJECTED_AFTER = re.compile(
    rf"[\s{CLOSERS},:：\-–—]*(?:{cues.REJECTS_AFTER[0]}(?:{cues.REJECTS_AFTER[1]})|{any_of(cues.REJECTS_AFTER_ALONE)})",
    re.I,
)
_VERDICT_RIGHT = re.compile(rf"[\s.):：–—-]+{any_of(cues.VERDICT_RIGHT)}", re.I)
_VERDICT_WRONG = re.compile(rf"[\s.):：–—-]+{any_of(cues.VERDICT_WRONG)}", re.I)
_PASSED_OVER = re.compile(rf"{any_of(cues.PASSES_OVER)}\s+(?:{_FILLER}){{0,2}}[{OPENERS}]*$", re.I)
_TURN = re.compile(any_of(cues.TURNS), re.I)
_SUPPOSED = re.compile(any_of(cues.HYPOTHETICAL), re.I)
_SUPPOSED_AFTER = re.compile(r"\s*(?:would|could|might|may|were)\b", re.I)
LINK_WORDS = (
    r"(?:[,/&+、，]|(?<!\w)(?:and|or|und|oder|et|ou|y|o|e|и|или|i|lub|ve|veya|dan|atau|và|hoặc|και|ή|och|eller|en"
    r"|as well as|و|أو|और|या)(?!\w)|和|或|与|及|と|や|か|또는|과|와|และ |หรือ)"
)
"""What joins the members of a list of letters."""

LINK = re.compile(
    rf"[\s{CLOSERS}]*{LINK_WORDS}[\s,]*"
    rf"(?:(?:and|or|also|possibly|perhaps|maybe|even|both|either|und|oder|option|choice|letter)\s+){{0,3}}[{OPENERS}\s]*$",
    re.I,
)
_SENTENCE_END = re.compile(r"[.!?;。！？；\n]")


@dataclass(frozen=True)
class Mention:
    """One place where a text names a letter."""

    label: str
    start: int
    end: int
    stance: Stance
    linked: bool = False
    """Joined to the mention before it as in "B and C"."""


def find_mentions(text: str, start: int = 0, end: int | None = None) -> list[Mention]:
    """List the letters a text names, each with its stance, in order."""
    found: list[Mention] = []
    for match in _signs(text, start, len(text) if end is None else end):
        previous = found[-1] if found else None
        between = text[previous.end : match.start()] if previous and match.start() - previous.end < 40 else ""
        linked = bool(between) and LINK.fullmatch(between) is not None
        stance = _stance(text, match, start, previous, linked)
        sign = match["bracketed"] or match["native"] or match["bare"]
        found.append(Mention(to_label(sign), match.start(), match.end(), stance, linked))
    return _spread(found)


def _signs(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    for match in deque(MENTION.finditer(text, start, end), maxlen=LAST_MENTIONS):
        if match["bare"] and is_a_word(text, match["bare"], match.start(), match.end()):
            continue
        if match["native"] and not _OPTION_BEFORE.search(text, max(0, match.start() - 20), match.start()):
            continue
        if match["bracketed"] and match["bracketed"].islower() and match[0][0] not in "([{":
            continue
        yield match


def is_a_word(text: str, sign: str, start: int, end: int, *, named: bool = True) -> bool:
    """Tell whether a lone capital is an article, a pronoun, a symbol or part of a name.

    Args:
        text: where it stands.
        sign: the capital.
        start: its first character.
        end: behind it.
        named: look for "vitamin", "plan", ... before it.
    """
    after = text[end : end + AFTER]
    if sign == "A" and _ARTICLE_OR_PRONOUN.match(after):
        return True
    if sign == "I" and (_I_CLAUSE.match(after) or _ARTICLE_OR_PRONOUN.match(after)):
        return True
    if _BINOMIAL.match(after):
        return True
    return named and _NAMED_BEFORE.search(text[max(0, start - 20) : start]) is not None


def _clause(text: str, position: int, floor: int) -> str:
    before = text[max(floor, position - BEFORE) : position]
    ends = [m.end() for m in _SENTENCE_END.finditer(before) if not _is_label_dot(before, m.start())]
    return before[ends[-1] :] if ends else before


def _is_label_dot(text: str, place: int) -> bool:
    return text[place] == "." and place + 1 < len(text) and not text[place + 1].isspace()


def _stance(text: str, match: re.Match[str], floor: int, previous: Mention | None, linked: bool) -> Stance:
    after = text[match.end() : match.end() + AFTER]
    before = _clause(text, match.start(), max(floor, previous.end if previous else floor))
    if not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip():
        if _VERDICT_WRONG.match(after):
            return "rejected"
        if _VERDICT_RIGHT.match(after):
            return "picked"
    if REJECTED_AFTER.match(after):
        return "rejected"
    if linked and previous is not None and previous.stance == "rejected":
        return "rejected"
    if _PASSED_OVER.search(before):
        return "rejected"
    rejections = list(_REJECTED_BEFORE.finditer(before))
    if rejections and not _TURN.search(before, rejections[-1].end()):
        return "rejected"
    if after.lstrip().startswith("?") or _supposed(text, match, floor, after):
        return "supposed"
    if _CONFIRMED_AFTER.match(after) or _PICKED_BEFORE.search(before):
        return "picked"
    if _IMPLIED_BEFORE.search(before):
        return "implied"
    return "named"


def _supposed(text: str, match: re.Match[str], floor: int, after: str) -> bool:
    sentence = _clause(text, match.start(), floor)
    supposition = _SUPPOSED.search(sentence)
    if supposition is None:
        return False
    return _SUPPOSED_AFTER.match(after) is not None or "," not in sentence[supposition.end() :]


def _spread(found: list[Mention]) -> list[Mention]:
    """Give a chain such as "B and E are correct" the stance of its strongest member."""
    chains: list[list[Mention]] = []
    for mention in found:
        if mention.linked and chains:
            chains[-1].append(mention)
        else:
            chains.append([mention])
    spread: list[Mention] = []
    for chain in chains:
        stances = {mention.stance for mention in chain}
        for stance in ("picked", "implied"):
            if stance in stances:
                chain = [_with_stance(m, stance) if m.stance == "named" else m for m in chain]
        if len(chain) > 1 and chain[-1].stance == "rejected" and "named" in stances:
            chain = [_with_stance(m, "rejected") if m.stance == "named" else m for m in chain]
        spread += chain
    return spread


def _with_stance(mention: Mention, stance: str) -> Mention:
    return Mention(mention.label, mention.start, mention.end, stance, mention.linked)  # type: ignore[arg-type]


@cache
def compiled(pieces: tuple[str, ...]) -> re.Pattern[str]:
    """Compile a table of cues once."""
    return re.compile(any_of(pieces), re.I)
