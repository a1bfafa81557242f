"""What one declaration claims: a letter, several, or only letters it rejects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kina_build.scoring.replies import cues
from kina_build.scoring.replies.clean import BOX_CLOSE, BOX_OPEN
from kina_build.scoring.replies.declarations import Declaration
from kina_build.scoring.replies.labels import REASON, is_a_word, to_label
from kina_build.scoring.replies.mentions import (
    LINK_EXTRAS,
    LINK_WORDS,
    MARKS,
    NATIVE,
    chain_before,
    find_mentions,
    rejected_after,
)
from kina_build.scoring.replies.patterns import CLOSERS, OPENERS, UNSPACED, any_of, listed

FILLERS = (
    *cues.OPTION_NOUNS,
    *cues.ANSWER_NOUNS,
    *cues.ADVERBS,
    *listed(
        """
        the · la · le · el · die · der · das · de · az · η · το · у · les · os · most · very · likely ·
        probably · definitely · clearly · certainly · therefore · thus · hence · is · be · indeed ·
        simply · just · und · also · donc · then · both · so · i think · it is · it's · i choose ·
        i pick · given · obviously · still · now · again · must · would · tehát · siis · alltså · altså · za ·
        deci · așadar · dus · zatem · więc · tedy · proto · следовательно · итак · значит · por tanto · quindi
        """
    ),
)
"""Words that may stand between a cue and its letter."""

_GLUE = rf"[{BOX_OPEN}\s:：,，;$>→=≈\-–—・.{OPENERS}]"
_UPPER = rf"(?P<upper>[A-ZАВСЕНІЈКМОРЅТХУΑΒΕΗΙΚΜΝΟΡΤΧΥΖ])(?![^\W{UNSPACED}{NATIVE}])(?![-+#^]\w|[+#])"
_LOWER_END = (
    rf"(?=\s*(?:$|[\n.,;:!?。，；：।۔።{CLOSERS}{BOX_CLOSE}–—-]"
    rf"|[\u3040-\u9fff\uac00-\ud7af])|\s+{any_of(cues.COPULAS)}|\s+{REASON}(?!\w))"
)
_LOWER = rf"(?P<lower>[a-z{NATIVE}аеосБГДбгдΓΔ]){_LOWER_END}(?![{MARKS}])"
_OTHER = r"(?P<run>[A-Z]{2,5})(?!\w)|(?P<number>\d{1,3})(?![^\W\uac00-\ud7af]|[%°]|[.,]\d)"
_AT_ONCE = re.compile(rf"{_GLUE}{{0,12}}(?:{_UPPER}|{_LOWER}|{_OTHER})")
_DIRECT = re.compile(
    rf"{_GLUE}{{0,12}}(?:(?:(?i:{any_of(FILLERS)})|[aoe](?=\s)){_GLUE}{{0,8}}){{0,5}}(?:{_UPPER}|{_LOWER}|{_OTHER})"
)
_MORE = re.compile(
    rf"[\s{CLOSERS}]*(?:\((?=or\s))?(?:{LINK_WORDS}|[\s;])[\s,]*{LINK_EXTRAS}[{OPENERS}\s]*([A-Za-z])[{CLOSERS}]*"
    rf"(?=\s*(?:$|[\n.,;:!。，、；/&|{BOX_CLOSE}]|(?:and|or|both|und|oder|et|y|或|和|are|is)\b)|[\u3040-\u9fff\uac00-\ud7af])"
)
_CLAUSE_END = re.compile(
    rf"[\s{CLOSERS}{BOX_CLOSE}]*(?:$|[\n.,;:!?。，；：！।|՝—–\[<-]|\(|['’]\w+|şıkkı\w*|{REASON}(?!\w)|[\u3040-\u9fff\uac00-\ud7af]"
    rf"|{any_of(cues.COPULAS)}|{any_of(cues.CONFIRMS_AFTER)}|(?:ആണ്|છે|ਹੈ|වේ|da|ஆகும்|আছে|হয়)|[A-Z]\w+:|(?i:{any_of(cues.ANSWER_NOUNS)}))"
)
_IS_BEFORE = re.compile(rf"{any_of(cues.COPULAS)}[\s:{OPENERS}]*$", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    rf"[{CLOSERS}\s.,]*(?:where\b|stands for|being one|\(?one of|\(?the letter"
    r"|is (?:one of|the letter|a letter))",
    re.IGNORECASE,
)
_PLACEHOLDER_WORD = re.compile(
    rf"[\s{OPENERS}$]*(?:LETTER|YOUR (?:ANSWER|CHOICE|LETTER)|OPTION|INSERT)\b"
    rf"(?!\s*[=:]?\s*[{OPENERS}]?[A-Z]\b)"
)


@dataclass(frozen=True)
class Claim:
    """What one declaration says."""

    labels: tuple[str, ...]
    """The letters it asserts: one, or several that it does not decide between."""
    rejected: frozenset[str] = frozenset()
    span: tuple[int, int] = (0, 0)
    doubted: bool = False
    """The letter is followed by a question mark."""


def read_claim(declaration: Declaration, index: Mapping[str, int]) -> Claim | None:
    """Return what a declaration claims, or None if it names no letter.

    Args:
        declaration: one of find_declarations.
        index: the item's labels.
    """
    window = declaration.window
    if _PLACEHOLDER_WORD.match(window):
        return None
    claim = _direct(window, index)
    if claim is not None and declaration.bare and not _ends_clause(window, claim):
        return None
    if claim is None and not declaration.strict:
        claim = _indirect(window)
    if claim is None:
        return None
    start, end = claim.span
    return replace(claim, span=(start + declaration.offset, end + declaration.offset))


def _ends_clause(window: str, claim: Claim) -> bool:
    """Tell whether a letter right behind an announcement is the whole of what it announces."""
    start, end = claim.span
    return window[start - 1 : start] in tuple("([{") or _CLAUSE_END.match(window, end) is not None


def _direct(window: str, index: Mapping[str, int]) -> Claim | None:
    """Read a letter that the window begins with."""
    # most letters follow at once, and the long list of fillers is slow to try
    match = _AT_ONCE.match(window) or _DIRECT.match(window)
    if match is None:
        return None
    if match["run"]:
        return run_of_letters(match["run"], match.span("run"), index)
    if match["number"]:
        return Claim((match["number"],), span=match.span("number")) if match["number"] in index else None
    group = "upper" if match["upper"] else "lower"
    start, end = match.span(group)
    opened = start > 0 and window[start - 1] in "([{<«“\"'‘【（"
    if not opened and is_a_word(window, match[group].upper(), start, end, named=False):
        return None
    rest = window[end:]
    if rejected_after(rest) or _PLACEHOLDER.match(rest):
        return None
    labels = dict.fromkeys((to_label(match[group]), *_more(rest)))
    return Claim(tuple(labels), span=(start, end), doubted=rest.lstrip(" )]}'\"").startswith("?"))


def _ends_on(window: str, start: int, end: int) -> bool:
    """Tell whether a window ends on "... is G"."""
    return _IS_BEFORE.search(window[:start]) is not None and not re.search(r"\w", window[end:])


def run_of_letters(letters: str, span: tuple[int, int], index: Mapping[str, int]) -> Claim | None:
    """Read "ABD" as three letters; other words of capitals are no claim."""
    several = list(letters) == sorted(set(letters)) and all(letter in index for letter in letters)
    return Claim(tuple(letters), span=span) if several else None


def _more(rest: str) -> Iterator[str]:
    """Yield the letters listed behind the first: ", D", "or D", "and E"."""
    position = 0
    while (match := _MORE.match(rest, position)) is not None:
        if match[0].lstrip().startswith("(") and not match[0].lstrip().startswith("(or"):
            return  # "C (I and III)" names one option and what it says
        prose = match[1].islower() and match[0].lstrip()[0] not in ",/&+;"
        if prose or rejected_after(rest[match.end() :]):
            return
        yield match[1].upper()
        position = match.end()


def _indirect(window: str) -> Claim | None:
    """Read the last letter that the window's sentence asserts."""
    mentions = find_mentions(window)
    rejected = frozenset(mention.label for mention in mentions if mention.stance == "rejected")
    asserted = [place for place, m in enumerate(mentions) if m.stance in ("picked", "implied")]
    if (
        not asserted
        and mentions
        and mentions[-1].stance == "named"
        and _ends_on(window, mentions[-1].start, mentions[-1].end)
    ):
        asserted = [len(mentions) - 1]
    if not asserted:
        return Claim((), rejected) if rejected else None
    chain = chain_before(mentions, asserted[-1])
    labels = dict.fromkeys(mention.label for mention in chain if mention.stance != "rejected")
    return Claim(tuple(labels), rejected, (chain[0].start, chain[-1].end))
