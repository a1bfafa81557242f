"""Where a text names an option's letter, and whether it asserts or rejects it there."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from kina_build.scoring.replies import cues, denials
from kina_build.scoring.replies.labels import NUMBERED, is_a_word, native_letters, to_label
from kina_build.scoring.replies.patterns import CLOSERS, OPENERS, UNSPACED, Cues, any_of, listed

Stance = Literal["picked", "implied", "rejected", "supposed", "named"]
"""picked: by a verb of choice or a confirmation; implied: "so B"; supposed: "if it were B"."""

BEFORE, AFTER = 70, 48
"""Characters looked at on either side of a letter."""

LINK_REACH = 40
"""Characters that may stand between two members of a list."""

LAST_MENTIONS = 40
"""Mentions weighed at most: in a text that names more letters, the last ones."""

MARKS = (
    "\u0300-\u036f\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd\u0bbe-\u0bcd"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
)
"""Vowel signs and tone marks: a letter that carries one is part of a word."""

NATIVE = "".join(sign for sign in native_letters() if sign > "\u03ff")
CAPITALS = "A-ZАВСЕНІЈКМОРЅТХΑΒΕΗΙΚΜΝΟΡΤΧΓΔБГД"
_SIGN = f"[a-z{CAPITALS}УΥΖ{NATIVE}]"
_MENTION = re.compile(
    rf"(?<![\w)])[{OPENERS}]{{1,3}}\s?(?P<bracketed>{_SIGN})\s?[{CLOSERS}]{{1,3}}(?![^\W{UNSPACED}])"
    rf"|(?P<native>(?<!\w)[{NATIVE}](?![\w{MARKS}])|(?<![^\W{UNSPACED}])[{NUMBERED}](?![^\W{UNSPACED}]))"
    rf"|(?<![^\W{UNSPACED}])(?<![\-'’^/\\.%°$+=])(?P<bare>[{CAPITALS}])(?![^\W{UNSPACED}])"
    r"(?!['’^%°]\w?|-\w|[+*/=]\s?\w|\s?[=<>≈≤≥∈]\s?\S|\.\w)"
)

LINK_WORDS = (
    r"(?:[,/&+、，]|(?<!\w)(?:and|or|und|oder|et|ou|y|o|e|и|или|i|lub|ve|veya|dan|atau|và|hoặc|και|ή|och|eller"
    r"|en|as well as|و|أو|और|या)(?!\w)|和|或|与|及|と|や|か|또는|과|와|และ |หรือ)"
)
"""What joins the members of a list of letters."""

LINK_EXTRAS = (
    r"(?:(?:and|or|also|possibly|perhaps|maybe|even|both|either|und|oder|option|choice|letter)\s+){0,3}"
)
_LINK = re.compile(rf"[\s{CLOSERS}]*{LINK_WORDS}[\s,]*{LINK_EXTRAS}[{OPENERS}\s]*", re.IGNORECASE)

_AROUND = rf"[\s{CLOSERS},:：\-–—]*(?:\([^()\n]{{1,40}}\)\s*)?"
_GLUE = rf"[\s:：,，;\-–—>→=.{OPENERS}]*"
_FILLERS = listed(
    """
    the · a · la · el · o · die · der · de · das · that · az · η · το ·
    most likely · probably · likely · clearly
    """
)
_FILLER = rf"(?:{any_of((*cues.OPTION_NOUNS, *cues.ADVERBS, *_FILLERS))}\s*)"
_UP_TO_HERE = rf"{_GLUE}{_FILLER}{{0,3}}{_GLUE}$"

_TO_BE = r"(?<!\w)(?:is|are|was|were|seems?|looks?|appears?|(?:would |must |can )?be)"

_OPTION = Cues(cues.OPTION_NOUNS, tail=rf"\s*[{OPENERS}]?\s*$")
_PICKS = Cues(cues.PICKS, tail=_UP_TO_HERE)
_RIGHT = Cues(cues.RIGHT, tail=rf"[^.!?。]{{0,40}}?{any_of(cues.COPULAS)}{_UP_TO_HERE}")
_LEADS = Cues(cues.LEADS_TO, tail=_UP_TO_HERE)
_NAMES = Cues(
    (*cues.SUBJECTS, *cues.OPTION_NOUNS), tail=rf"[^.!?。]{{0,70}}?{any_of(cues.COPULAS)}{_UP_TO_HERE}"
)
_NAMES_BARE = Cues(
    (*cues.SUBJECTS, *cues.OPTION_NOUNS),
    tail=rf"[^.!?。]{{0,20}}?\s{any_of(cues.OPTION_NOUNS)}{_UP_TO_HERE}",
)
_ENDS = re.compile(rf"[\s{CLOSERS}]*(?:$|[.!。])")
_IS_OPTION = re.compile(
    rf"{any_of(cues.COPULAS)}{_GLUE}(?:(?:the|la|l['’])\s*)?(?:the one (?:in"
    rf"|under)\s+)?{any_of(cues.OPTION_NOUNS)}\s*[{OPENERS}]*$"
    rf"|\b(?:pairing|one|order|combination) (?:in|under"
    rf"|of)\s*(?:{any_of(cues.OPTION_NOUNS)})?\s*[{OPENERS}]*$",
    re.IGNORECASE,
)
_NEGATED_IS = re.compile(rf"{any_of(cues.NOT_COPULAS)}{_UP_TO_HERE}", re.IGNORECASE)
_ODD_AFTER = re.compile(
    rf"{_AROUND}(?:is|was|would be) the (?:only|one|exception|odd|intruder|false|incorrect"
    rf"|untrue)\b(?!.{{0,20}}\b(?:eliminat|rule|exclud))",
    re.IGNORECASE,
)
_CONFIRMS = re.compile(rf"{_AROUND}{_FILLER}?{any_of(cues.CONFIRMS_AFTER)}", re.IGNORECASE)
_REJECTS = Cues(denials.REJECTS_BEFORE)
_PASSES_OVER = Cues(denials.PASSES_OVER, tail=rf"\s+{_FILLER}{{0,2}}[{OPENERS}]*$")
_TURN = Cues(denials.TURNS)
_SUPPOSES = Cues(denials.HYPOTHETICAL)
_RIGHT_VERDICT = re.compile(rf"[\s.):：–—-]+{any_of(cues.VERDICT_RIGHT)}", re.IGNORECASE)
_WRONG_VERDICT = re.compile(rf"[\s.):：–—-]+{any_of(denials.VERDICT_WRONG)}", re.IGNORECASE)
_FAILS = re.compile(rf"{_AROUND}{any_of(denials.REJECTS_AFTER_ALONE)}", re.IGNORECASE)
_IS_WRONG = re.compile(
    rf"{_AROUND}{_TO_BE}\s(?:\w+\s){{0,2}}?{any_of(denials.REJECTING_ADJECTIVES)}", re.IGNORECASE
)
_SUPERSEDED = Cues(denials.SUPERSEDED)
_RANGE = re.compile(r"(?<!\w)[A-Z]\s?(?:to|through|bis|à|до|[-–—])\s?$")
_CONDITIONAL = re.compile(r"\s*(?:would|could|might|may|were)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[!?;。！？；\n]|\.(?=\s|$)")


@dataclass(frozen=True)
class Mention:
    """One place where a text names a letter."""

    label: str
    start: int
    end: int
    stance: Stance
    linked: bool = False
    """Joined to the mention before it as in "B and C"."""


def find_mentions(text: str, start: int = 0) -> list[Mention]:
    """List the letters a text names from a place on, each with its stance, in order."""
    found: list[Mention] = []
    for match in _signs(text, start):
        previous = found[-1] if found else None
        linked = previous is not None and _linked(text, previous.end, match.start())
        stance = _stance(text, match, start, previous, linked)
        sign = match["bracketed"] or match["native"] or match["bare"]
        found.append(Mention(to_label(sign), match.start(), match.end(), stance, linked))
    return _spread(found)


def rejected_after(text: str) -> bool:
    """Tell whether what stands behind a letter rejects it: " is wrong", " fails"."""
    context = text[:AFTER]
    return _FAILS.match(context) is not None or _IS_WRONG.match(context) is not None


def _signs(text: str, start: int) -> Iterator[re.Match[str]]:
    for match in deque(_MENTION.finditer(text, start), maxlen=LAST_MENTIONS):
        if _RANGE.search(text[max(0, match.start() - 12) : match.start()]):
            continue
        if match["bare"]:
            genuine = not is_a_word(text, match["bare"], match.start(), match.end())
        elif match["native"]:
            genuine = _OPTION.occurs(text[max(0, match.start() - 20) : match.start()]) or _names(
                _clause(text, match.start(), start), text[match.end() : match.end() + AFTER]
            )
        else:
            genuine = not match["bracketed"].islower() or match[0][0] in "([{"
        if genuine:
            yield match


def _linked(text: str, end: int, start: int) -> bool:
    return start - end <= LINK_REACH and _LINK.fullmatch(text, end, start) is not None


def _clause(text: str, position: int, floor: int) -> str:
    """Return what stands before a place in its sentence."""
    before = text[max(floor, position - BEFORE) : position]
    end = 0
    for mark in _SENTENCE_END.finditer(before):
        end = mark.end()
    return before[end:]


def _stance(text: str, match: re.Match[str], floor: int, previous: Mention | None, linked: bool) -> Stance:
    after = text[match.end() : match.end() + AFTER]
    verdict = _verdict(text, match, after)
    if verdict is not None:
        return verdict
    if _ODD_AFTER.match(after):
        return "picked"
    inherits = linked and previous is not None and previous.stance == "rejected"
    before = _clause(text, match.start(), max(floor, previous.end if previous else floor))
    named = not rejected_after(after) and _names(before, after)
    if inherits or rejected_after(after) or (not named and _rejected_before(before)):
        return "rejected"
    if _left_open(_clause(text, match.start(), floor), before, after):
        return "supposed"
    return _chosen(before, after, named=named)


def _left_open(sentence: str, before: str, after: str) -> bool:
    """Tell whether a letter is asked about, supposed, or was an earlier thought."""
    if after.lstrip().startswith("?") or _supposed(sentence, after):
        return True
    if _CONFIRMS.match(after) is None and (_CONDITIONAL.match(after) or _SUPERSEDED.occurs(before)):
        return True
    return denials.imagined(sentence, after.split("\n", maxsplit=1)[0])


def _chosen(before: str, after: str, *, named: bool) -> Stance:
    if _CONFIRMS.match(after) or _PICKS.occurs(before) or _RIGHT.occurs(before):
        return "picked"
    return "implied" if named or _LEADS.occurs(before) or _IS_OPTION.search(before) else "named"


def _names(before: str, after: str) -> bool:
    """Tell whether a clause says which option is the one: "the statement that is not true is"."""
    if _NEGATED_IS.search(before):
        return False
    return _NAMES.occurs(before) or (_ENDS.match(after) is not None and _NAMES_BARE.occurs(before))


def _verdict(text: str, match: re.Match[str], after: str) -> Stance | None:
    """Read "B. Correct: ..." at the start of a line."""
    if text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip():
        return None
    if _WRONG_VERDICT.match(after):
        return "rejected"
    return "picked" if _RIGHT_VERDICT.match(after) else None


def _rejected_before(clause: str) -> bool:
    if _PASSES_OVER.occurs(clause) and not _LEADS.occurs(clause):
        return True
    end = _REJECTS.last_end(clause)
    return end is not None and not _TURN.occurs(clause[end:])


def _supposed(sentence: str, after: str) -> bool:
    end = _SUPPOSES.last_end(sentence)
    return end is not None and (_CONDITIONAL.match(after) is not None or "," not in sentence[end:])


def _spread(found: list[Mention]) -> list[Mention]:
    """Give a chain such as "B and E are correct" the stance of its strongest member."""
    spread: list[Mention] = []
    for chain in _chains(found):
        stances = [mention.stance for mention in chain]
        shared: Stance | None = (
            "picked" if "picked" in stances else "implied" if "implied" in stances else None
        )
        if len(chain) > 1 and stances[-1] == "rejected":
            shared = "rejected"
        spread += [replace(m, stance=shared) if shared and m.stance == "named" else m for m in chain]
    return spread


def _chains(found: list[Mention]) -> list[list[Mention]]:
    chains: list[list[Mention]] = []
    for mention in found:
        if mention.linked and chains:
            chains[-1].append(mention)
        else:
            chains.append([mention])
    return chains


def chain_before(mentions: list[Mention], place: int) -> list[Mention]:
    """Return the chain of linked mentions that ends at a place."""
    start = place
    while start > 0 and mentions[start].linked:
        start -= 1
    return mentions[start : place + 1]
