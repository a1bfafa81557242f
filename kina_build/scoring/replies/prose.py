"""Letters that running text chooses by a word: "so it is B", "C is correct", "by elimination, D"."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kina_build.scoring.replies import cues, denials
from kina_build.scoring.replies.claims import Claim
from kina_build.scoring.replies.labels import REASON, is_a_word
from kina_build.scoring.replies.mentions import (
    Mention,
    chain_before,
    find_mentions,
    rejected_after,
)
from kina_build.scoring.replies.patterns import CLOSERS, OPENERS, Cues, any_of

TAKEN_BACK_FROM = 3
"""Characters of "No, ..." that open an answer and take nothing back."""

CORRECTION_REACH = 40
"""Characters between "no, wait" and the letter it corrects to."""

SMALL_REACH = 24
"""Characters before a lower-case letter searched for "it's"."""

RIVAL_REACH = 60
"""Characters between two letters that are confirmed alike, so that neither is the choice."""

_CORRECTION = Cues(denials.CORRECTIONS)
_TAKES_BACK = re.compile(
    rf"[\s{CLOSERS}.,;:!?…—–-]*{any_of((*denials.CORRECTIONS, 'hold on', 'moment', 'espera', 'edit'))}",
    re.IGNORECASE,
)
_TURNS = Cues((*denials.TURNS, "now", "however", "so"))
_LEADS_BACK = any_of((*cues.LEADS_TO, *cues.OPTION_NOUNS, "should", "the", "answer", "i", "choose", "pick"))
_CORRECTED_TO = Cues(
    denials.CORRECTIONS,
    tail=rf"[\s,.:;!…—–-]*(?:{_LEADS_BACK}[\s,:—–-]*){{0,5}}[{OPENERS}]*$",
)
_LEADING = re.compile(
    rf"[\s{OPENERS}\"'•–—-]*(?:(?i:option|choice|letter|the answer|选项|選項|вариант|opción|letra"
    rf"|lettre)\s*[{OPENERS}]*)?"
    rf"(?P<sign>[A-Z])[{CLOSERS}]*"
    r"(?=\s*(?:$|\n(?!\s+[a-z])|[.,:;!?)）。，：]|[–—]\s)|\s-\s|\s(?:because|since|as|for|or|&|由于|因为)\b|\s*/\s*[A-Z]\b)"
)
_SMALL_LEADING = re.compile(r"\(?(?P<sign>[a-z])\)\s(?!.*\b[a-z]\)\s)")
_ROMAN = re.compile(r"\s*(?:,|and|&|und|et|y)\s+(?:II|III|IV|V)\b")
_LISTED = re.compile(r"[\s(\[]*A\W{1,4}B\W{1,4}C\b")
_HEADERS = re.compile(
    rf"(?:^[ \t{OPENERS}•-]*(?:option\s+)?|[.;]\s(?:option|choice)\s+)[A-Z][{CLOSERS}]*\s*[.:)]",
    re.MULTILINE | re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    rf"[\s{CLOSERS}]*(?:$|[.,;!。，；！\n]|[:：]\s*(?:$|\n)|[-–—]\s*{REASON}\b|\(|{REASON}\b|[\u3040-\u9fff\uac00-\ud7af])"
)
_REFERS = re.compile(
    r"\b(?:it|this|that)(?: one)?(?: is|['’]s| must be| has to be)"
    r"(?:,? (?:therefore|thus|hence|then|also),?)?"
    r" (?:the (?:(?:correct|right|best|odd) )?(?:one|option|statement|choice|answer|exception)"
    r"(?: (?:to (?:choose|pick|select|mark)|we (?:want|need|are looking for)"
    r"|(?:that is )?(?:asked for|sought)))?"
    r"|what (?:is asked(?: for)?|the question asks(?: for)?))(?=\s*(?:$|[.!;\n]))",
    re.IGNORECASE,
)
"""What points back at the one option of its sentence: "C is not listed, hence it is the one to choose"."""
_SUPPOSED = Cues((*denials.HYPOTHETICAL, *denials.OTHERS))
_SENTENCE_END = re.compile(r"[.!?;\n。！？]")
_SMALL = re.compile(r"[\s:,-](?P<sign>[a-z])")
_LEADS_TO_SMALL = Cues((*cues.LEADS_TO, *cues.PICKS, "its"), tail="$")


def takes_back(text: str) -> bool:
    """Tell whether a writer starts over right behind an answer: "Hmm, ..."."""
    return _TAKES_BACK.match(text) is not None


def takes_back_later(text: str) -> bool:
    """Tell whether a writer takes something back anywhere behind the first word."""
    return _CORRECTION.occurs(text.lstrip()[TAKEN_BACK_FROM:])


def find_correction(text: str, start: int) -> Mention | None:
    """Look behind a claim for "no, it's C"."""
    if not _CORRECTION.occurs(text[start:]):
        return None
    for mention in reversed(find_mentions(text, start)):
        before = text[max(start, mention.start - CORRECTION_REACH) : mention.start]
        if mention.stance in ("picked", "implied", "named") and _CORRECTED_TO.occurs(before):
            return mention
    return None


def read_leading(text: str) -> Claim | None:
    """Take a letter the reply begins with, unless it lists the options or takes it back."""
    match = _LEADING.match(text)
    small = _SMALL_LEADING.match(text.lstrip())
    if small is not None and len(_HEADERS.findall(text)) < 2:
        start = len(text) - len(text.lstrip()) + small.start("sign")
        return Claim((small["sign"].upper(),), span=(start, start + 1))
    if match is None or _LISTED.match(text) or len(_HEADERS.findall(text)) > 1:
        return None
    start, end = match.span("sign")
    rest = text[end:]
    if is_a_word(text, match["sign"], start, end) or rejected_after(rest) or _ROMAN.match(rest):
        return None
    if rest.lstrip().startswith("?") or _CORRECTION.occurs(rest):
        return None
    line_end = text.find("\n", match.end())
    mentions = find_mentions(text[: line_end if line_end >= 0 else len(text)])
    chain = [match["sign"]]
    for mention in mentions[1:]:
        if not mention.linked or mention.stance == "rejected":
            break
        chain.append(mention.label)
    return Claim(tuple(dict.fromkeys(chain)), span=(start, end))


def read_prose(text: str, index: Mapping[str, int]) -> Claim | None:
    """Take the last letter that the prose picks, confirms or leads to, and does not reject later."""
    mentions = find_mentions(text)
    referred = _read_referred(text, mentions, index)
    if referred is not None:
        return referred
    rejected: set[str] = set()
    for place in range(len(mentions) - 1, -1, -1):
        mention = mentions[place]
        if mention.stance == "rejected":
            rejected.add(mention.label)
        if mention.label in rejected or mention.label not in index:
            continue
        if mention.stance == "picked" or (mention.stance == "implied" and _ends_clause(text, mention)):
            chain = chain_before(mentions, place)
            rivals = _rivals(text, mentions[: place + 1 - len(chain)], mention)
            named = dict.fromkeys(m.label for m in (*rivals, *chain) if m.stance != "rejected")
            return Claim(tuple(named), span=(chain[0].start, mention.end))
    return None


def _read_referred(text: str, mentions: list[Mention], index: Mapping[str, int]) -> Claim | None:
    """Take the last letter, if its sentence has no other and ends by pointing back at it.

    What the sentence denies of that option is then why it is chosen, and no rejection.
    """
    if not mentions or mentions[-1].label not in index:
        return None
    last = mentions[-1]
    points = _REFERS.search(text, last.end)
    if points is None or _SENTENCE_END.search(text, last.end, points.start()):
        return None
    start = max((end.end() for end in _SENTENCE_END.finditer(text, 0, last.start)), default=0)
    if any(one.start >= start and one.label != last.label for one in mentions):
        return None
    if _SUPPOSED.occurs(text[start : points.start()]):
        return None
    return Claim((last.label,), span=(last.start, points.end()))


def _rivals(text: str, before: list[Mention], chosen: Mention) -> list[Mention]:
    """Return the mention before, if it was confirmed just like the chosen one and is not taken back."""
    if not before or before[-1].stance != chosen.stance:
        return []
    if chosen.label in {mention.label for mention in chain_before(before, len(before) - 1)}:
        return []
    between = text[before[-1].end : chosen.start]
    calm = len(between) <= RIVAL_REACH and not _CORRECTION.occurs(between) and not _TURNS.occurs(between)
    return [before[-1]] if calm else []


def read_small_letter(text: str) -> Claim | None:
    """Take a lower-case letter that a reply ends with behind "it's" or "i'd say"."""
    place = len(text.rstrip(" .!\n")) - 1
    match = _SMALL.fullmatch(text, place - 1, place + 1) if place > 0 else None
    before = text[max(0, place - SMALL_REACH) : max(0, place)].rstrip(" :,-\n")
    if match is None or not _LEADS_TO_SMALL.occurs(before):
        return None
    return Claim((match["sign"].upper(),), span=match.span("sign"))


def _ends_clause(text: str, mention: Mention) -> bool:
    return _CLAUSE_END.match(text, mention.end) is not None
