"""The letter a reply answers with: never a guess, never a default.

The end of the reply is read first, and only explicit declarations count. What cannot be
read as one letter gets a status that says why.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kina_build.scoring.replies import denials, prose
from kina_build.scoring.replies.claims import Claim, read_claim
from kina_build.scoring.replies.clean import drop_reasoning, is_disguised, plain, split_run_on, squeeze_blanks
from kina_build.scoring.replies.closing import read_last_clause, read_lead_in, read_own_line
from kina_build.scoring.replies.declarations import Declaration, find_declarations
from kina_build.scoring.replies.labels import label_index, labels, letter_numbers
from kina_build.scoring.replies.optiontext import (
    EDGE,
    conclude_option,
    name_contrasted,
    name_opening,
    name_option,
    unwrap_maths,
)
from kina_build.scoring.replies.outcome import Extraction, Reading, settle, tell_unread
from kina_build.scoring.replies.patterns import OPENERS, any_of
from kina_build.scoring.replies.several import read_several
from kina_build.scoring.replies.structured import read_ratings, ticked

TAIL = 300
"""Characters at the end that are read first; what is declared there need not be looked for before."""

FIRST_READ, LAST_READ = 2_000, 8_000
"""Characters read at the start and at the end of a reply that is longer: answers stand there."""

_SAYS_SOMETHING = re.compile(r"[\w?\ue100-\ue113-]")
_REFUSED_ANSWER = re.compile(
    rf"[\s{OPENERS}]*(?:{any_of(denials.REFUSALS)}|[?？]|[-–—]+\s*$|null\b|nil\b|no\b)", re.IGNORECASE
)
_BETWEEN = re.compile(
    r"(?:[\W_]|\b(?:the|my|so|and|final|correct|best|right|true|answer|option|is|also|therefore|thus|hence|la|le|bonne|"
    r"réponse|respuesta|die|richtige|antwort)\b)*",
    re.IGNORECASE,
)
"""What two declarations have between them where nothing is reasoned there."""


def extract_letter(
    response: str,
    n_options: int,
    options: Sequence[str] | None = None,
    reasoning: str = "",
    finish_reason: str | None = None,
    *,
    several: bool = False,
) -> Extraction:
    """Read the letter a reply answers with.

    Args:
        response: the reply as the model wrote it.
        n_options: options of the item; its labels are A to Z, then 1, 2, ...
        options: their texts in the order shown, to read answers given in words.
        reasoning: what the server returned apart from the reply; never read as an answer.
        finish_reason: what the endpoint says of the end; "length" means that the reply was cut off.
        several: more than one option is right: all letters that are declared together are the answer.
    """
    text, had_reasoning, unclosed = drop_reasoning(squeeze_blanks(response))
    text = squeeze_blanks(text) if had_reasoning else text  # what is dropped leaves lines behind
    index = label_index(n_options)
    head, cut = split_run_on(text)
    reading = Reading(_cleaned(head, n_options), index, options, is_disguised(response), several)
    if not _SAYS_SOMETHING.search(reading.text) and not _SAYS_SOMETHING.search(text):
        if unclosed:
            return Extraction(None, "truncated", "reasoning")
        thought = had_reasoning or bool(reasoning.strip())
        return Extraction(None, "reasoning_only" if thought else "empty", "")
    result = _read(reading, cut_off=finish_reason == "length")
    if cut and result.status in ("unreadable", "truncated", "refused"):
        # what was cut may be the question restated before an answer
        whole = _read(replace(reading, text=_cleaned(text, n_options)), cut_off=finish_reason == "length")
        return whole if whole.status == "ok" else result
    return result


def _cleaned(text: str, n_options: int) -> str:
    if len(text) > FIRST_READ + LAST_READ:
        text = f"{text[:FIRST_READ]}\n\n{text[-LAST_READ:]}"
    return letter_numbers(squeeze_blanks(plain(unwrap_maths(text))), n_options)


def _read(reading: Reading, *, cut_off: bool) -> Extraction:
    """Try the rules from the most to the least explicit; a mere letter counts in a finished reply only."""
    return (
        (_together(reading, cut_off=cut_off) if reading.several else None)
        or _at_the_end(reading)
        or _rated(reading)
        or _declared(reading, find_declarations(reading.text))
        or _own_line(reading, cut_off=cut_off)
        or _leading(reading, cut_off=cut_off)
        or (None if cut_off else _last_clause(reading))
        or (None if cut_off else _in_prose(reading))
        or (None if cut_off else _in_words_at_the_end(reading))
        or tell_unread(reading.text, cut_off=cut_off)
    )


def _together(reading: Reading, *, cut_off: bool) -> Extraction | None:
    """Read all letters that are declared together; what a cut-off reply ends on may go on."""
    claim = read_several(reading.text, reading.index, reading.options)
    if claim is None:
        return None
    if cut_off and claim.span[1] >= len(reading.text.rstrip()) - 1:
        return Extraction(None, "truncated", "together")
    return settle(reading, claim.labels, "together", claim.span)


def _at_the_end(reading: Reading) -> Extraction | None:
    """Read the last declaration or the last option under a lead-in, whichever stands later."""
    text = reading.text
    lead = read_lead_in(text, reading.index)
    tail = text.find("\n", len(text) - TAIL) + 1 if len(text) > 2 * TAIL else 0
    found = _declared(reading, find_declarations(text, tail)) if tail or lead else None
    if lead is None:
        return found
    if found is not None and found.span is not None and found.span[0] > lead.span[0]:
        return found
    return settle(reading, lead.labels, "lead-in", lead.span)


def _rated(reading: Reading) -> Extraction | None:
    """Read a block that rates every option, unless something is declared behind it."""
    rated = read_ratings(reading.text, reading.index)
    if rated is None:
        return ticked(reading)
    claim, (_, end) = rated
    declared = _declared(reading, find_declarations(reading.text)) or _in_prose(reading, end)
    if declared is not None and declared.rule != "refusal":
        return declared
    if not claim.labels:
        return Extraction(None, "unreadable", "ratings")
    return settle(reading, claim.labels, "ratings", claim.span)


def _declared(reading: Reading, declarations: Sequence[Declaration]) -> Extraction | None:
    """Follow the last declaration that names something, unless it is taken back later."""
    rejected: set[str] = set()
    for place in range(len(declarations) - 1, -1, -1):
        declaration = declarations[place]
        if declaration.supposed:
            continue
        found = _in_words(reading, declaration)
        if found is not None:
            return found
        claim = read_claim(declaration, reading.index)
        if claim is None or not claim.labels:
            rejected |= claim.rejected if claim else set()
            continue
        placeholder = claim.labels == ("X",) and len(declarations) > 1
        if (
            placeholder
            or rejected & set(claim.labels)
            or (claim.doubted and not _is_last(reading.text, claim))
        ):
            continue
        if _contradicted(reading, declarations[:place], declaration, claim):
            return Extraction(None, "conflict", "cue", claim.span)
        return _corrected(reading, claim) or settle(
            reading, claim.labels, "boxed" if declaration.boxed else "cue", claim.span
        )
    return None


def _is_last(text: str, claim: Claim) -> bool:
    return not re.search(r"\w", text[claim.span[1] :])


def _contradicted(reading: Reading, before: Sequence[Declaration], last: Declaration, claim: Claim) -> bool:
    """Tell whether another letter was declared right before, with no reasoning between."""
    for declaration in reversed(before):
        earlier = None if declaration.supposed else read_claim(declaration, reading.index)
        if earlier is None or len(earlier.labels) != 1 or earlier.labels[0] not in reading.index:
            continue
        if earlier.labels == claim.labels and earlier.span == claim.span:
            continue
        if earlier.labels == claim.labels or earlier.doubted or earlier.span[1] > last.start:
            return False
        return _BETWEEN.fullmatch(reading.text[earlier.span[1] : last.start]) is not None
    return False


def _in_words(reading: Reading, declaration: Declaration) -> Extraction | None:
    """Read an option's text, or a refusal, behind a cue; a mere letter is a label first."""
    lettered = declaration.window.strip(EDGE).upper() in reading.index
    place = name_option(declaration.window, reading.options) if reading.options and not lettered else None
    if place is not None:
        span = (declaration.offset, declaration.offset + len(declaration.window))
        return Extraction(labels(len(reading.index))[place], "ok", "option text", span)
    if not declaration.strict and _REFUSED_ANSWER.match(declaration.window):
        return Extraction(None, "refused", "refusal")
    return None


def _corrected(reading: Reading, claim: Claim) -> Extraction | None:
    correction = prose.find_correction(reading.text, claim.span[1])
    if correction is None:
        closing = read_last_clause(reading.text) if prose.takes_back(reading.text[claim.span[1] :]) else None
        if closing is None or closing.span[0] <= claim.span[1]:
            return None
        return settle(reading, closing.labels, "correction", closing.span)
    return settle(reading, (correction.label,), "correction", (correction.start, correction.end))


def _own_line(reading: Reading, *, cut_off: bool) -> Extraction | None:
    claim = read_own_line(reading.text, reading.index)
    if claim is None or (cut_off and claim.span[0] > len(reading.text) // 2):
        return None
    return _corrected(reading, claim) or settle(reading, claim.labels, "own line", claim.span)


def _last_clause(reading: Reading) -> Extraction | None:
    claim = read_last_clause(reading.text)
    return None if claim is None else settle(reading, claim.labels, "last clause", claim.span)


def _leading(reading: Reading, *, cut_off: bool) -> Extraction | None:
    if reading.options:
        place = name_option(reading.text, reading.options, whole=True)
        place = name_contrasted(reading.text, reading.options) if place is None else place
        if place is None and not prose.takes_back_later(reading.text):
            place = name_opening(reading.text, reading.options)
        if place is not None:
            return Extraction(labels(len(reading.index))[place], "ok", "option text", (0, len(reading.text)))
    claim = prose.read_leading(reading.text)
    if claim is not None and cut_off and "\n" not in reading.text[claim.span[1] :].strip():
        return None  # the line that the letter opens was not finished
    return None if claim is None else settle(reading, claim.labels, "leading letter", claim.span)


def _in_prose(reading: Reading, start: int = 0) -> Extraction | None:
    text = reading.text
    claim = prose.read_prose(text[start:], reading.index) or prose.read_small_letter(text[start:])
    if claim is None:
        return None
    return settle(reading, claim.labels, "prose", (claim.span[0] + start, claim.span[1] + start))


def _in_words_at_the_end(reading: Reading) -> Extraction | None:
    place = conclude_option(reading.text, reading.options) if reading.options else None
    if place is None:
        return None
    return Extraction(labels(len(reading.index))[place], "ok", "option text", (0, len(reading.text)))
