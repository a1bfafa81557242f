"""What a trace of an item in another text comes to: is the question out, or does it only look so?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from kina_build.config import DedupRules
from kina_build.dedup.compare.canonical import plain, unlabelled
from kina_build.dedup.compare.changes import MEANING, Change, classify_change
from kina_build.dedup.compare.lexical import Reading, read_item
from kina_build.dedup.compare.tokens import dense, tokens
from kina_build.dedup.compare.verdict import CHANGES
from kina_build.dedup.contamination.letters import letters
from kina_build.dedup.contamination.records import Finding, Hit
from kina_build.dedup.contamination.traces import Trace
from kina_build.items.model import Item
from kina_build.items.text import fold_stem, squeeze

NEARBY_CHARS = 3000
"""Characters before and after a trace in which the item's other texts are looked for."""

MARK = "\x1f"
"""Parts tokens where runs of them are looked for."""

BRACKETS = frozenset("[]()<>{}*#`|")
"""Signs that markup sets around words."""

SPELT = 8
"""Letters of an option from which it is also found where its words are cut."""

SHOWN_TEXT = 300
WORST: dict[str, int] = {"contaminated": 0, "review": 1, "template_sibling": 2, "same_passage": 3}


@dataclass(frozen=True)
class Leak:
    """One item and one place where it, or something like it, stands."""

    row: int
    finding: Finding
    rule: str
    reason: str
    share: float
    place: str
    shared: str


def judge_traces(
    traces: Iterable[Trace], readings: Sequence[Reading], rules: DedupRules = DedupRules()
) -> list[Leak]:
    """Judge what was found in one corpus; at most rules.trace_shown places of an item are kept.

    Runs that stand in many texts are boilerplate and tell nothing; whole stems do.
    """
    whole: dict[tuple[int, Finding], dict[str, Leak]] = defaultdict(dict)
    partly: dict[int, dict[str, Leak]] = defaultdict(dict)
    places: dict[int, set[str]] = defaultdict(set)
    for trace in traces:
        leak = _judge(trace, readings[trace.unit.row], rules)
        if leak is None:
            continue
        kept = whole[leak.row, leak.finding] if leak.rule == "verbatim" else partly[leak.row]
        if leak.rule != "verbatim":
            places[leak.row].add(leak.place)
        if len(kept) < rules.trace_shown:
            kept.setdefault(leak.place, leak)
    leaks = [leak for kept in whole.values() for leak in kept.values()]
    known = {leak.row for leak in leaks if WORST[leak.finding] < WORST["template_sibling"]}
    for row, kept in partly.items():
        if row not in known and len(places[row]) < rules.common_limit:
            leaks += kept.values()
    return sorted(leaks, key=lambda leak: (leak.row, WORST[leak.finding], leak.place))


def write_leak(leak: Leak, reading: Reading, corpus: str) -> Hit:
    """Write a leak as a hit."""
    return Hit(
        item_id=reading.item_id,
        corpus=corpus,
        other_id=leak.place,
        finding=leak.finding,
        rule=leak.rule,
        reason=leak.reason,
        cosine=None,
        stem_overlap=leak.share,
        option_overlap=0.0,
        gold="unknown",
        passage="none",
        ngram_share=leak.share,
        shared_text=squeeze(leak.shared)[:SHOWN_TEXT],
    )


def _judge(trace: Trace, reading: Reading, rules: DedupRules) -> Leak | None:
    judged = _JUDGES[trace.unit.kind](trace, reading, rules)
    if judged is None:
        return None
    finding, rule, reason = judged
    text = trace.text.text
    shared = text[trace.start : trace.end]
    return Leak(trace.unit.row, finding, rule, reason, trace.share, trace.text.at(trace.start), shared)


Judged = tuple[Finding, str, str] | None


def _judge_stem(trace: Trace, reading: Reading, rules: DedupRules) -> Judged:
    there = _read(trace.text.text[trace.start : trace.end])
    return (
        _judge_whole(trace, reading, there, rules)
        if trace.whole
        else _judge_part(trace, reading, there, rules)
    )


def _judge_whole(trace: Trace, reading: Reading, there: Reading, rules: DedupRules) -> Judged:
    """Judge a stem whose letters stand there one and all: what they leave out may be another question."""
    change = _another(reading, there)
    if change is not None and change != "sign":
        return "template_sibling", "template", CHANGES[change]
    found, total = _options_near(trace, reading)
    words = len(reading.tokens)
    reason = "its stem stands there word for word"
    if found:
        reason += f", with {found} of its {total} options"
    if found >= min(rules.trace_options, total) > 0:
        return "contaminated", "verbatim", reason
    if words < rules.trace_least:
        return None
    if change is not None:
        return "review", "verbatim", f"{reason}, but for signs"
    if words < rules.ngram_least or reading.told < rules.specific_words:
        return "review", "verbatim", f"{reason}, but it is short or tells little"
    return "contaminated", "verbatim", reason


def _judge_part(trace: Trace, reading: Reading, there: Reading, rules: DedupRules) -> Judged:
    """Judge a stem of which a part stands there."""
    words, others = tokens(plain(reading.stem)), tokens(plain(there.stem))
    match = SequenceMatcher(None, words, others, autojunk=False).find_longest_match()
    if match.size < rules.ngram:
        return None
    change = _another(reading, there)
    if change is not None and change != "sign":
        return "template_sibling", "template", CHANGES[change]
    reason = f"{trace.share:.0%} of its stem stands there"
    return ("contaminated" if trace.share >= rules.ngram_share else "review"), "ngram", reason


def _judge_option(trace: Trace, reading: Reading, rules: DedupRules) -> Judged:
    """Judge an option that stands there: is it beside the stem, which alone is too short to be looked for?"""
    if not trace.whole or not _stands_near(tokens(fold_stem(plain(reading.question))), trace):
        return None
    found, total = _options_near(trace, reading)
    if found < rules.trace_options:
        return None
    return (
        "contaminated",
        "verbatim",
        f"its stem stands there word for word, with {found} of its {total} options",
    )


def _judge_passage(trace: Trace, reading: Reading, rules: DedupRules) -> Judged:
    """Judge a passage that stands there; if its question does too, the stem tells."""
    if trace.share < rules.ngram_share:
        return None
    return "same_passage", "passage", f"{trace.share:.0%} of its passage stands there, not its question"


_JUDGES = {"stem": _judge_stem, "option": _judge_option, "passage": _judge_passage}


def _another(reading: Reading, there: Reading) -> Change | None:
    """Tell how what stands there asks something else, if it does; a sentence that is cut does not."""
    one, other = (_trimmed(tokens(plain(side.stem))) for side in (reading, there))
    if dense(one) == dense(other):
        return None
    gone, came = (sorted((Counter(a) - Counter(b)).elements()) for a, b in ((one, other), (other, one)))
    change = classify_change(replace(reading, content=reading.stem), there, gone, came)
    cut = change == "polarity" and not (gone and came) and len(gone) + len(came) > 1
    return change if change in MEANING and not cut and len(gone) + len(came) < len(one) else None


def _trimmed(words: list[str]) -> list[str]:
    """Leave out brackets, which markup sets, and signs at both ends: a region is cut at letters."""
    words = [word for word in words if word not in BRACKETS]
    while words and not words[0][0].isalnum():
        words = words[1:]
    while words and not words[-1][0].isalnum():
        words = words[:-1]
    return words


def _read(text: str) -> Reading:
    return read_item(Item(item_id="there", question=text, options=(), correct_answer=""))


def _options_near(trace: Trace, reading: Reading) -> tuple[int, int]:
    """Count the options that stand near a trace, and all options."""
    answers = [answer for answer in unlabelled(reading.answers) if answer]
    near = _near(trace)
    words, spelt = _marked(tokens(fold_stem(plain(near)))), letters(near)
    found = 0
    for answer in answers:
        data = letters(answer)
        stands = _marked(tokens(fold_stem(plain(answer)))) in words if data else answer in near
        found += stands or (len(data) >= SPELT and data in spelt)
    return found, len(answers)


def _stands_near(words: list[str], trace: Trace) -> bool:
    return bool(words) and _marked(words) in _marked(tokens(fold_stem(plain(_near(trace)))))


def _near(trace: Trace) -> str:
    return trace.text.text[max(0, trace.start - NEARBY_CHARS) : trace.end + NEARBY_CHARS]


def _marked(words: Sequence[str]) -> str:
    return MARK + MARK.join(words) + MARK
