"""What two items share and how they differ: the evidence a verdict rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kina_build.config import DedupRules
from kina_build.dedup.compare.answers import compare_gold, contradicting, frames_agree, worded_alike
from kina_build.dedup.compare.boilerplate import Common
from kina_build.dedup.compare.changes import Change, classify_change, differing_tokens
from kina_build.dedup.compare.lexical import Reading
from kina_build.dedup.compare.meanings import is_negation
from kina_build.dedup.compare.tokens import jaccard, tokens
from kina_build.dedup.records import Gold, Passage

Stems = Literal["same", "form", "spelling", "part", "other"]
"""same: equal after folding; form: but for blanks, hyphens, markup and numbering; spelling: but for
typing errors; part: one is the beginning or the end of the other."""


SPELT_SHARE = 0.8
"""Share of the tokens that must be equal for stems to be one but for typing errors."""


PART_WORDS = 6
"""Words told ("which of the following" apart) from which a stem is known within another one."""

ADDED_WORDS = 10
"""Words that must have been added for a negation among them not to turn what stands beside them."""


SHOWN_CHANGES = 12


@dataclass(frozen=True)
class Evidence:
    """Two readings side by side."""

    cosine: float | None
    same_raw: bool
    stems: Stems
    risky_fold: bool
    """Whether the stems are equal only once short words lose case or raised digits come down."""
    same_options: bool
    loosely_same_options: bool
    stem_overlap: float
    option_overlap: float
    options_alike: float
    """The overlap, or that of the options in one form, without labels and frames, if it is larger."""
    contradicting: bool
    """Whether the two keys cannot both be right, if the question is one."""
    token_share: float
    gold: Gold
    passage: Passage
    change: Change
    changed: tuple[str, ...]
    telling: int
    """Shared option texts that are not formulas and not common in the corpus."""
    telling_gold: bool
    worded_alike: bool
    """Whether the right answers share most of what they say, in other words."""
    generic_stem: bool
    specific: bool
    """Whether the stems tell enough for equal ones to ask one question."""
    boilerplate: bool
    """Whether both stems hold sentences that many items share; the overlaps are of the rest."""
    cross_discipline: bool


def compare(
    left: Reading, right: Reading, cosine: float | None, common: Common, rules: DedupRules = DedupRules()
) -> Evidence:
    """Set two readings side by side."""
    shared = set(left.options) & set(right.options)
    same_options = left.options == right.options
    loosely = same_options or _loosely_same(left, right)
    minus, plus = differing_tokens(left, right)
    total = len(left.tokens) + len(right.tokens)
    share = 1 - (len(minus) + len(plus)) / total if total else 1.0
    changed = [*(f"-{token}" for token in minus), *(f"+{token}" for token in plus)]
    change = classify_change(left, right, minus, plus)
    overlap = 1.0 if loosely and left.options else round(_overlap(left.options, right.options), 4)
    return Evidence(
        cosine=cosine,
        same_raw=left.raw == right.raw,
        stems=compare_stems(left, right, change, share),
        risky_fold=left.stem == right.stem and _risky(left.strict_stem, right.strict_stem),
        same_options=same_options,
        loosely_same_options=loosely,
        stem_overlap=round(jaccard(left.grams, right.grams), 4),
        option_overlap=overlap,
        options_alike=max(overlap, _alike(left, right)),
        contradicting=contradicting(left, right),
        token_share=share,
        gold=compare_gold(left, right, loosely and not same_options),
        passage=compare_passages(left, right, rules),
        change=change,
        changed=tuple(changed[:SHOWN_CHANGES]),
        telling=sum(common.tells(option) for option in shared),
        telling_gold=any(common.tells(text) for text in left.gold) and any(map(common.tells, right.gold)),
        worded_alike=worded_alike(left, right),
        generic_stem=common.generic_stem(left.stem),
        specific=not common.generic_stem(left.stem) and min(left.told, right.told) >= rules.specific_words,
        boilerplate=left.content != left.stem and right.content != right.stem,
        cross_discipline=left.path != right.path,
    )


def compare_stems(left: Reading, right: Reading, change: Change, share: float) -> Stems:
    """Tell how near two stems are to being one."""
    if left.stem == right.stem:
        return "same"
    if left.stem_form == right.stem_form:
        return "form"
    if change == "spelling" and share >= SPELT_SHARE:
        return "spelling"
    return "part" if _is_part(left, right) else "other"


def _alike(left: Reading, right: Reading) -> float:
    """Return the overlap of the options in one form, without frames where that may be left out."""
    if not left.answers or not right.answers:
        return 0.0
    forms = _overlap(left.forms, right.forms)
    framed = _overlap(left.framed[0], right.framed[0]) if frames_agree(left, right) else 0.0
    return round(max(forms, framed), 4)


def _is_part(left: Reading, right: Reading) -> bool:
    """Tell whether one stem stands whole at the beginning or the end of the other."""
    short, long = sorted((left, right), key=lambda reading: len(reading.stem_form))
    if short.told < PART_WORDS or len(short.stem_form) == len(long.stem_form):
        return False
    if not long.stem_form.startswith(short.stem_form) and not long.stem_form.endswith(short.stem_form):
        return False
    _, added = differing_tokens(short, long)
    return len(added) >= ADDED_WORDS or not any(map(is_negation, added))


def compare_passages(left: Reading, right: Reading, rules: DedupRules = DedupRules()) -> Passage:
    """Tell whether two items are about the same passage, given apart or within the stems."""
    if not left.material and not right.material:
        return "same" if _shared_context(left, right, rules) else "none"
    if not left.material or not right.material:
        return "one_missing"
    if left.material == right.material:
        return "same"
    overlap = jaccard(left.material_grams, right.material_grams)
    return "same" if overlap >= rules.passage_overlap else "different"


def _shared_context(left: Reading, right: Reading, rules: DedupRules) -> bool:
    """Tell whether two stems share whole sentences, long together, and then ask different things."""
    shared = set(left.segments) & set(right.segments)
    if not shared or left.stem == right.stem:
        return False
    if shared.issuperset(left.segments) or shared.issuperset(right.segments):
        return False  # one of the two asks nothing else
    length = sum(len(tokens(segment)) for segment in shared if segment in left.content)
    if length < rules.context_tokens:
        return False
    asked = [
        Counter(tokens(" ".join(segment for segment in reading.segments if segment not in shared)))
        for reading in (left, right)
    ]
    total = asked[0].total() + asked[1].total()
    return 2 * (asked[0] & asked[1]).total() < rules.template_share * total


def _overlap(left: Sequence[str], right: Sequence[str]) -> float:
    return jaccard(frozenset(left), frozenset(right))


def _loosely_same(left: Reading, right: Reading) -> bool:
    """Tell whether the options agree but for case and form, and stay as many when folded so."""
    merged = len(left.loose_options) < len(set(left.options)) or len(right.loose_options) < len(
        set(right.options)
    )
    return (
        not merged and len(left.options) == len(right.options) and left.loose_options == right.loose_options
    )


def _risky(left: str, right: str) -> bool:
    """Tell whether folded stems differ, unfolded, in short words only ("Gg" and "GG", x² and x2)."""
    first, second = left.split(), right.split()
    differing = [pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]]
    return bool(differing) and all(max(map(len, pair)) <= 3 for pair in differing)
