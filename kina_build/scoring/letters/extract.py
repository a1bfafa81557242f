"""The letter a reply answers with: never a guess, never a default.

Rules are tried from the most to the least explicit, and within a rule the last word
counts. What cannot be read as one letter gets a status that says why.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kina_build.scoring.letters import cues
from kina_build.scoring.letters.clean import drop_reasoning, plain, split_run_on
from kina_build.scoring.letters.declarations import Claim, Declaration, find_declarations, read_claim
from kina_build.scoring.letters.labels import label_index, labels, to_label
from kina_build.scoring.letters.mentions import (
    CLOSERS,
    NATIVE,
    OPENERS,
    REJECTED_AFTER,
    Mention,
    any_of,
    compiled,
    find_mentions,
    is_a_word,
)
from kina_build.scoring.letters.optiontext import name_option

EXTRACTOR_VERSION = "letters-1"
"""Changes whenever any reply could be read differently."""

LetterStatus = Literal[
    "ok", "multiple", "refused", "empty", "reasoning_only", "truncated", "out_of_range", "unreadable"
]

TAIL = 300
"""Characters at the end that are read first; what is declared there need not be looked for before."""

SHORT = 300
"""Characters up to which a reply that names one letter only is taken to answer with it."""


@dataclass(frozen=True)
class Extraction:
    """What was read from one reply."""

    letter: str | None
    status: LetterStatus
    rule: str
    """The rule that decided; empty where none did."""
    span: tuple[int, int] | None = None
    """Where the letter stands in the cleaned text."""
    version: str = EXTRACTOR_VERSION


def extract_letter(
    response: str, n_options: int, options: Sequence[str] | None = None, reasoning: str = ""
) -> Extraction:
    """Read the letter a reply answers with.

    Args:
        response: the reply as the model wrote it.
        n_options: options of the item; its labels are A to Z, then 1, 2, ...
        options: their texts in the order shown, to read answers given in words.
        reasoning: what the server returned apart from the reply; never read as an answer.
    """
    text, had_reasoning, unclosed = drop_reasoning(response)
    if not re.search(r"\w|\?|-", text):
        if unclosed:
            return Extraction(None, "truncated", "reasoning")
        has_thought = had_reasoning or bool(reasoning.strip())
        return Extraction(None, "reasoning_only" if has_thought else "empty", "")
    head, cut = split_run_on(text)
    result = _read(plain(head), n_options, options)
    if cut and result.status == "unreadable":
        whole = _read(plain(text), n_options, options)
        result = whole if whole.status == "ok" and text.count("\n") < 40 else result
    return result


def _read(text: str, n_options: int, options: Sequence[str] | None) -> Extraction:
    index = label_index(n_options)
    start = _tail(text)
    if start:
        found = _declared(text, find_declarations(text, start), index, options, decided_only=True)
        if found is not None:
            return found
    declarations = find_declarations(text)
    for rule in (_declared, _own_line, _leading, _confirmed, _sole):
        found = rule(text, declarations, index, options)
        if found is not None:
            return found
    return _unread(text)


def _tail(text: str) -> int:
    """Return the start of the line with which to begin: the last declaration mostly stands at the end."""
    return text.find("\n", len(text) - TAIL) + 1 if len(text) > 2 * TAIL else 0


def _declared(
    text: str,
    declarations: list[Declaration],
    index: dict[str, int],
    options: Sequence[str] | None,
    *,
    decided_only: bool = False,
) -> Extraction | None:
    """Follow the last declaration that names something, unless it is taken back later."""
    rejected: set[str] = set()
    doubtful: Extraction | None = None
    for declaration in reversed(declarations):
        claim = read_claim(declaration, index)
        if claim is None or not claim.labels:
            rejected |= claim.rejected if claim else set()
            if claim is None and not declaration.supposed:
                found = _in_words(declaration, options, len(index))
                if found is not None:
                    return found
            continue
        if _is_placeholder(claim, declarations) or set(claim.labels) & rejected:
            continue
        result = _result(claim.labels, index, "boxed" if declaration.boxed else "cue", claim.span)
        if declaration.supposed or claim.doubted:
            doubtful = doubtful or result
            continue
        return _corrected(text, claim, index) or result
    if doubtful is not None and not rejected and not decided_only:
        return _confirmed(text, declarations, index, options) or doubtful
    return None


def _in_words(declaration: Declaration, options: Sequence[str] | None, n_options: int) -> Extraction | None:
    named = name_option(declaration.window, options) if options else None
    if named is not None:
        span = (declaration.offset, declaration.offset + len(declaration.window))
        return Extraction(labels(n_options)[named], "ok", "option text", span)
    if not declaration.strict and _REFUSED_ANSWER.match(declaration.window):
        return Extraction(None, "refused", "cue")
    return None


def _is_placeholder(claim: Claim, declarations: list[Declaration]) -> bool:
    """Tell whether the letter is the X of "end with Answer: X"."""
    return claim.labels == ("X",) and len(declarations) > 1


def _corrected(text: str, claim: Claim, index: dict[str, int]) -> Extraction | None:
    """Look behind a claim for "no, it's C"."""
    if not _CORRECTION.search(text, claim.span[1]):
        return None
    for mention in reversed(find_mentions(text, claim.span[1])):
        before = text[max(claim.span[1], mention.start - 40) : mention.start]
        if mention.stance in ("picked", "implied", "named") and _CORRECTION_BEFORE.search(before):
            return _result((mention.label,), index, "correction", (mention.start, mention.end))
    return None


def _own_line(
    text: str, _declarations: list[Declaration], index: dict[str, int], _options: Sequence[str] | None
) -> Extraction | None:
    """Take a last line, or a whole reply, that is nothing but a letter."""
    stripped = text.rstrip()
    start = stripped.rfind("\n") + 1
    match = _ALONE.fullmatch(stripped, start)
    if match is None:
        return None
    sign = next(group for group in match.groups() if group)
    if sign.isdigit() and sign not in index:
        return None
    if len(sign) > 1 and not sign.isdigit():
        several = list(sign) == sorted(set(sign)) and all(letter in index for letter in sign)
        return _result(tuple(sign), index, "own line", match.span()) if several else None
    return _result((to_label(sign),), index, "own line", match.span())


def _leading(
    text: str, _declarations: list[Declaration], index: dict[str, int], options: Sequence[str] | None
) -> Extraction | None:
    """Take a letter the reply begins with, unless it lists the options or takes it back."""
    if options:
        named = name_option(text, options, whole=True)
        if named is not None:
            return Extraction(labels(len(index))[named], "ok", "option text", (0, len(text)))
    match = _LEADING.match(text)
    if match is None or len(_HEADERS.findall(text)) > 1:
        return None
    sign = match["sign"]
    rest = text[match.end("sign") :]
    if is_a_word(text, sign, match.start("sign"), match.end("sign")) or REJECTED_AFTER.match(rest):
        return None
    if _CORRECTION.search(rest) or rest.lstrip().startswith("?"):
        return None
    first = find_mentions(text[: text.find("\n", match.end()) if "\n" in text[match.end() :] else len(text)])
    chain = [sign.upper()]
    for mention in first[1:]:
        if not mention.linked or mention.stance == "rejected":
            break
        chain.append(mention.label)
    return _result(tuple(dict.fromkeys(chain)), index, "leading letter", match.span("sign"))


def _confirmed(
    text: str, _declarations: list[Declaration], index: dict[str, int], _options: Sequence[str] | None
) -> Extraction | None:
    """Take the last letter that the prose picks, confirms or leads to."""
    mentions = find_mentions(text)
    rejected: set[str] = set()
    for place in range(len(mentions) - 1, -1, -1):
        mention = mentions[place]
        if mention.stance == "rejected":
            rejected.add(mention.label)
        if mention.label in rejected or mention.label not in index:
            continue
        picked = mention.stance == "picked" or (mention.stance == "implied" and _ends_clause(text, mention))
        if picked:
            chain = [mention]
            while chain[0].linked and place > 0:
                place -= 1
                chain.insert(0, mentions[place])
            named = [m.label for m in chain if m.stance != "rejected"]
            return _result(tuple(dict.fromkeys(named)), index, "prose", (chain[0].start, mention.end))
    return None


def _sole(
    text: str, _declarations: list[Declaration], index: dict[str, int], _options: Sequence[str] | None
) -> Extraction | None:
    """Take the only letter a short, finished reply names without rejecting it."""
    if len(text) > SHORT or not _FINISHED.search(text) or _REFUSED.search(text):
        return None
    open_mentions = [m for m in find_mentions(text) if m.stance in ("named", "implied") and m.label in index]
    named = {mention.label for mention in open_mentions}
    if len(named) != 1 or not _ends_clause(text, open_mentions[-1]):
        return None
    return _result(tuple(named), index, "sole letter", (open_mentions[-1].start, open_mentions[-1].end))


def _ends_clause(text: str, mention: Mention) -> bool:
    return _CLAUSE_END.match(text, mention.end) is not None


def _unread(text: str) -> Extraction:
    if _REFUSED.search(text):
        return Extraction(None, "refused", "")
    stripped = text.rstrip()
    cut = not stripped.endswith((".", "!", "?", "。", "！", "？", "…", '"', ")", "]", "}"))
    return Extraction(None, "truncated" if cut and len(stripped.split()) > 1 else "unreadable", "")


def _result(found: tuple[str, ...], index: dict[str, int], rule: str, span: tuple[int, int]) -> Extraction:
    if len(found) > 1:
        return Extraction(None, "multiple", rule, span)
    if found[0] not in index:
        return Extraction(None, "out_of_range", rule, span)
    return Extraction(found[0], "ok", rule, span)


_REFUSED = compiled(cues.REFUSALS)
_REFUSED_ANSWER = re.compile(
    rf"[\s{OPENERS}]*(?:{any_of(cues.REFUSALS)}|[?？]|-+\s*$|–\s*$|—\s*$|null\b|nil\b|no\b)", re.I
)
_CORRECTION = compiled(cues.CORRECTIONS)
_CORRECTION_BEFORE = re.compile(
    rf"{any_of(cues.CORRECTIONS)}[\s,.:;!…—–-]*(?:{any_of((*cues.LEADS_TO, *cues.OPTION_NOUNS, 'should', 'the', 'answer', 'i', 'choose', 'pick'))}[\s,:—–-]*){{0,5}}[{OPENERS}]*$",
    re.I,
)
_ALONE = re.compile(
    rf"[\s{OPENERS}$.:：=>→•–—-]*(?:{any_of(cues.OPTION_NOUNS)}\s*[{OPENERS}]*)?"
    rf"(?:([A-Za-z{NATIVE}АВСЕНІКМОРТХΑΒΕΗΙΚΜ])|([A-Z]{{2,5}})|(\d{{1,3}}))[\s{CLOSERS}.。,:：!$-]*",
    re.I,
)
_LEADING = re.compile(
    rf"[\s{OPENERS}\"'•–—-]*(?:(?:option|choice|letter|the answer|选项|選項|вариант|opción)\s*[{OPENERS}]*)?(?P<sign>[A-Z])[{CLOSERS}]*"
    rf"(?=\s*(?:$|\n|[.,:;!?)）。，：—–]|\s-\s|\s(?:because|since|as|for|is|and|or|&|由于|因为)\b)|\s*/\s*[A-Z]\b)"
)
_HEADERS = re.compile(rf"^[ \t{OPENERS}•-]*(?:option\s+)?[A-Z][{CLOSERS}]*\s*[.:)]", re.M | re.I)
_CLAUSE_END = re.compile(
    rf"[\s{CLOSERS}]*(?:$|[.,;:!。，；：！\n]|[-–—]|(?:{'|'.join(sorted(set(cues.REASONS)))})\b|[\u3040-\u9fff\uac00-\ud7af])"
)
_FINISHED = re.compile(rf"[.!。！{CLOSERS}]\s*$")
