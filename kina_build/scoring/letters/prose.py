"""Letters in replies that declare nothing: alone on a line, at the start, or in running text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kina_build.scoring.letters import cues, denials
from kina_build.scoring.letters.claims import Claim, run_of_letters
from kina_build.scoring.letters.labels import to_label
from kina_build.scoring.letters.mentions import (
    NATIVE,
    REASON,
    Mention,
    chain_before,
    find_mentions,
    is_a_word,
    rejected_after,
)
from kina_build.scoring.letters.patterns import CLOSERS, OPENERS, Cues, any_of

SHORT = 300
"""Characters up to which a reply that names one letter only is taken to answer with it."""

CORRECTION_REACH = 40
"""Characters between "no, wait" and the letter it corrects to."""

SMALL_REACH = 24
"""Characters before a lower-case letter searched for "it's"."""

_CORRECTION = Cues(denials.CORRECTIONS)
_LEADS_BACK = any_of((*cues.LEADS_TO, *cues.OPTION_NOUNS, "should", "the", "answer", "i", "choose", "pick"))
_CORRECTED_TO = Cues(
    denials.CORRECTIONS,
    tail=rf"[\s,.:;!…—–-]*(?:{_LEADS_BACK}[\s,:—–-]*){{0,5}}[{OPENERS}]*$",
)
_ALONE = re.compile(
    rf"[\s{OPENERS}$.:：=>→•–—-]*+(?:(?i:{any_of(cues.OPTION_NOUNS)})\s*[{OPENERS}]*)?"
    rf"(?:(?P<sign>[A-Za-z{NATIVE}АВСЕНІКМОРТХΑΒΕΗΙΚΜ])|(?P<run>[A-Z]{{2,5}})|(?P<number>\d{{1,3}}))"
    rf"[\s{CLOSERS}.。,:：!$-]*"
)
_LEADING = re.compile(
    rf"[\s{OPENERS}\"'•–—-]*(?:(?i:option|choice|letter|the answer|选项|選項|вариант|opción)\s*[{OPENERS}]*)?"
    rf"(?P<sign>[A-Z])[{CLOSERS}]*"
    r"(?=\s*(?:$|\n|[.,:;!?)）。，：—–]|\s-\s|\s(?:because|since|as|for|is|and|or|&|由于|因为)\b)|\s*/\s*[A-Z]\b)"
)
_HEADERS = re.compile(
    rf"^[ \t{OPENERS}•-]*(?:option\s+)?[A-Z][{CLOSERS}]*\s*[.:)]", re.MULTILINE | re.IGNORECASE
)
_CLAUSE_END = re.compile(
    rf"[\s{CLOSERS}]*(?:$|[.,;:!。，；：！\n]|[-–—]|{REASON}\b|[\u3040-\u9fff\uac00-\ud7af])"
)
_SMALL = re.compile(r"[\s:,-](?P<sign>[a-z])")
_LEADS_TO_SMALL = Cues((*cues.LEADS_TO, *cues.PICKS), tail="$")
_FINISHED = re.compile(rf"[.!。！{CLOSERS}]\s*$")


def find_correction(text: str, start: int) -> Mention | None:
    """Look behind a claim for "no, it's C"."""
    if not _CORRECTION.occurs(text[start:]):
        return None
    for mention in reversed(find_mentions(text, start)):
        before = text[max(start, mention.start - CORRECTION_REACH) : mention.start]
        if mention.stance in ("picked", "implied", "named") and _CORRECTED_TO.occurs(before):
            return mention
    return None


def read_last_line(text: str, index: Mapping[str, int]) -> Claim | None:
    """Take a last line, or a whole reply, that is nothing but a letter."""
    stripped = text.rstrip()
    match = _ALONE.fullmatch(stripped, stripped.rfind("\n") + 1)
    if match is None:
        return None
    if match["run"]:
        return run_of_letters(match["run"], match.span("run"), index)
    if match["number"]:
        return Claim((match["number"],), span=match.span("number")) if match["number"] in index else None
    return Claim((to_label(match["sign"]),), span=match.span("sign"))


def read_leading(text: str) -> Claim | None:
    """Take a letter the reply begins with, unless it lists the options or takes it back."""
    match = _LEADING.match(text)
    if match is None or len(_HEADERS.findall(text)) > 1:
        return None
    start, end = match.span("sign")
    rest = text[end:]
    if is_a_word(text, match["sign"], start, end) or rejected_after(rest):
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
    rejected: set[str] = set()
    for place in range(len(mentions) - 1, -1, -1):
        mention = mentions[place]
        if mention.stance == "rejected":
            rejected.add(mention.label)
        if mention.label in rejected or mention.label not in index:
            continue
        if mention.stance == "picked" or (mention.stance == "implied" and _ends_clause(text, mention)):
            chain = chain_before(mentions, place)
            named = dict.fromkeys(m.label for m in chain if m.stance != "rejected")
            return Claim(tuple(named), span=(chain[0].start, mention.end))
    return None


def read_small_letter(text: str) -> Claim | None:
    """Take a lower-case letter that a reply ends with behind "it's" or "i'd say"."""
    place = len(text.rstrip(" .!\n")) - 1
    match = _SMALL.fullmatch(text, place - 1, place + 1) if place > 0 else None
    before = text[max(0, place - SMALL_REACH) : max(0, place)].rstrip(" :,-\n")
    if match is None or not _LEADS_TO_SMALL.occurs(before):
        return None
    return Claim((match["sign"].upper(),), span=match.span("sign"))


def read_sole(text: str, index: Mapping[str, int]) -> Claim | None:
    """Take the only letter a short, finished reply names without rejecting it."""
    if len(text) > SHORT or not _FINISHED.search(text):
        return None
    mentions = [m for m in find_mentions(text) if m.stance in ("named", "implied") and m.label in index]
    named = {mention.label for mention in mentions}
    if len(named) != 1 or not _ends_clause(text, mentions[-1]):
        return None
    return Claim(tuple(named), span=(mentions[-1].start, mentions[-1].end))


def _ends_clause(text: str, mention: Mention) -> bool:
    return _CLAUSE_END.match(text, mention.end) is not None
