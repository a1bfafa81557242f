"""The letter a reply answers with: never a guess, never a default.

Rules are tried from the most to the least explicit, and within a rule the last word
counts. What cannot be read as one letter gets a status that says why.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kina_build.scoring.letters import denials, prose
from kina_build.scoring.letters.claims import Claim, read_claim
from kina_build.scoring.letters.clean import drop_reasoning, plain, split_run_on
from kina_build.scoring.letters.declarations import Declaration, find_declarations
from kina_build.scoring.letters.labels import label_index, labels
from kina_build.scoring.letters.optiontext import name_option
from kina_build.scoring.letters.patterns import OPENERS, Cues, any_of

EXTRACTOR_VERSION = "letters-1"
"""Changes whenever any reply could be read differently."""

LetterStatus = Literal[
    "ok", "multiple", "refused", "empty", "reasoning_only", "truncated", "out_of_range", "unreadable"
]

TAIL = 300
"""Characters at the end that are read first; what is declared there need not be looked for before."""

_SAYS_SOMETHING = re.compile(r"[\w?-]")
_REFUSED = Cues(denials.REFUSALS)
_REFUSED_ANSWER = re.compile(
    rf"[\s{OPENERS}]*(?:{any_of(denials.REFUSALS)}|[?？]|[-–—]+\s*$|null\b|nil\b|no\b)", re.IGNORECASE
)
_FINISHED = (".", "!", "?", "。", "！", "？", "…", '"', ")", "]", "}")


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


@dataclass(frozen=True)
class Reading:
    """One cleaned reply and what its item allows."""

    text: str
    index: dict[str, int]
    """Label -> place."""
    options: Sequence[str] | None


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
    if not _SAYS_SOMETHING.search(text):
        if unclosed:
            return Extraction(None, "truncated", "reasoning")
        thought = had_reasoning or bool(reasoning.strip())
        return Extraction(None, "reasoning_only" if thought else "empty", "")
    index = label_index(n_options)
    head, cut = split_run_on(text)
    result = _read(Reading(plain(head), index, options))
    if cut and result.status == "unreadable":
        # what was cut may be the question restated before an answer
        whole = _read(Reading(plain(text), index, options))
        return whole if whole.status == "ok" else result
    return result


def _read(reading: Reading) -> Extraction:
    text = reading.text
    tail = text.find("\n", len(text) - TAIL) + 1 if len(text) > 2 * TAIL else 0
    if tail:
        found = _declared(reading, find_declarations(text, tail))
        if found is not None:
            return found
    return (
        _declared(reading, find_declarations(text))
        or _own_line(reading)
        or _leading(reading)
        or _in_prose(reading)
        or _doubted(reading)
        or _sole(reading)
        or _unread(text)
    )


def _declared(reading: Reading, declarations: list[Declaration]) -> Extraction | None:
    """Follow the last declaration that names something, unless it is taken back later."""
    rejected: set[str] = set()
    for declaration in reversed(declarations):
        claim = read_claim(declaration, reading.index)
        if claim is None and not declaration.supposed:
            found = _in_words(reading, declaration)
            if found is not None:
                return found
        if claim is None or not claim.labels:
            rejected |= claim.rejected if claim else set()
            continue
        placeholder = claim.labels == ("X",) and len(declarations) > 1
        if placeholder or declaration.supposed or claim.doubted or rejected & set(claim.labels):
            continue
        return _corrected(reading, claim) or _result(
            reading, claim.labels, "boxed" if declaration.boxed else "cue", claim.span
        )
    return None


def _doubted(reading: Reading) -> Extraction | None:
    """Follow a declaration under an "if" or with a question mark, where there is nothing better."""
    for declaration in reversed(find_declarations(reading.text)):
        claim = read_claim(declaration, reading.index)
        if claim is None:
            continue
        if claim.rejected or not claim.labels:
            return None
        return _result(reading, claim.labels, "cue", claim.span)
    return None


def _in_words(reading: Reading, declaration: Declaration) -> Extraction | None:
    """Read an option's text, or a refusal, behind a cue."""
    place = name_option(declaration.window, reading.options) if reading.options else None
    if place is not None:
        span = (declaration.offset, declaration.offset + len(declaration.window))
        return Extraction(labels(len(reading.index))[place], "ok", "option text", span)
    if not declaration.strict and _REFUSED_ANSWER.match(declaration.window):
        return Extraction(None, "refused", "cue")
    return None


def _corrected(reading: Reading, claim: Claim) -> Extraction | None:
    correction = prose.find_correction(reading.text, claim.span[1])
    if correction is None:
        return None
    return _result(reading, (correction.label,), "correction", (correction.start, correction.end))


def _own_line(reading: Reading) -> Extraction | None:
    claim = prose.read_last_line(reading.text, reading.index)
    return None if claim is None else _result(reading, claim.labels, "own line", claim.span)


def _leading(reading: Reading) -> Extraction | None:
    if reading.options:
        place = name_option(reading.text, reading.options, whole=True)
        if place is not None:
            return Extraction(labels(len(reading.index))[place], "ok", "option text", (0, len(reading.text)))
    claim = prose.read_leading(reading.text)
    return None if claim is None else _result(reading, claim.labels, "leading letter", claim.span)


def _in_prose(reading: Reading) -> Extraction | None:
    claim = prose.read_prose(reading.text, reading.index)
    return None if claim is None else _result(reading, claim.labels, "prose", claim.span)


def _sole(reading: Reading) -> Extraction | None:
    if _REFUSED.occurs(reading.text):
        return None
    claim = prose.read_small_letter(reading.text) or prose.read_sole(reading.text, reading.index)
    return None if claim is None else _result(reading, claim.labels, "sole letter", claim.span)


def _unread(text: str) -> Extraction:
    if _REFUSED.occurs(text):
        return Extraction(None, "refused", "")
    cut = not text.rstrip().endswith(_FINISHED) and len(text.split()) > 1
    return Extraction(None, "truncated" if cut else "unreadable", "")


def _result(reading: Reading, found: tuple[str, ...], rule: str, span: tuple[int, int]) -> Extraction:
    if len(found) > 1:
        return Extraction(None, "multiple", rule, span)
    if found[0] not in reading.index:
        return Extraction(None, "out_of_range", rule, span)
    return Extraction(found[0], "ok", rule, span)
