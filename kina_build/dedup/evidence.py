"""What two items share and how they differ: the evidence a verdict rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from kina_build.config import DedupRules
from kina_build.dedup.lexical import Common, Reading, jaccard, tokens
from kina_build.dedup.records import Gold, Passage
from kina_build.items.text import fold_stem

Change = Literal["none", "number", "polarity", "name", "sign", "order", "spelling", "word"]
"""The most telling way in which two stems differ."""

MEANING = frozenset({"number", "polarity", "name", "sign"})
"""Changes that make another question, whatever else agrees."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS = _words(
    "not no never none nor neither without except cannot false incorrect wrong least untrue"
    " 不 非 无 無 没 未 错 誤 误 否 除"
)
"""Words that turn a question round wherever they are added or taken away."""

OPPOSITES = _words(
    "true correct right most more less fewer greater smaller larger higher lower highest lowest increase"
    " decrease increases decreases increased decreased maximum minimum max min before after above below"
    " strong weak positive negative first last left always sometimes best worst acid base gain loss"
    " largest smallest greatest longest shortest earliest latest all some any must may good bad early late"
    " 强 弱 強 大 小 多 少 增 减 減 升 降 前 后 後 左 右 高 低 正 负 負 上 下 内 外 加 长 短 快 慢 最"
)
"""Words that turn a question round when one stands in place of another word."""

NEGATING_PREFIXES = ("un", "in", "im", "ir", "il", "non", "dis", "a", "anti")

SHORT_WORD = 3
"""Letters up to which a prefix says nothing ("a" and "are", "in" and "into")."""

MARKUP = frozenset("$\\{}^*#`&~|")
"""Signs that set type; their coming and going changes no meaning."""

SPELLING_RATIO = 0.8
"""Similarity (matching characters) from which two words count as spellings of one."""

SHOWN_CHANGES = 12


@dataclass(frozen=True)
class Evidence:
    """Two readings side by side."""

    cosine: float | None
    same_raw: bool
    same_stem: bool
    risky_fold: bool
    """Whether the stems are equal only once short words lose case or raised digits come down."""
    same_options: bool
    loosely_same_options: bool
    stem_overlap: float
    option_overlap: float
    token_share: float
    gold: Gold
    passage: Passage
    change: Change
    changed: tuple[str, ...]
    telling: int
    """Shared option texts that are not formulas and not common in the corpus."""
    telling_gold: bool
    generic_stem: bool
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
    changed = [*(f"-{token}" for token in minus), *(f"+{token}" for token in plus)]
    return Evidence(
        cosine=cosine,
        same_raw=left.raw == right.raw,
        same_stem=left.stem == right.stem,
        risky_fold=left.stem == right.stem and _risky(left.strict_stem, right.strict_stem),
        same_options=same_options,
        loosely_same_options=loosely,
        stem_overlap=round(jaccard(left.grams, right.grams), 4),
        option_overlap=1.0 if loosely and left.options else round(_overlap(left.options, right.options), 4),
        token_share=1 - (len(minus) + len(plus)) / total if total else 1.0,
        gold=compare_gold(left, right, loosely and not same_options),
        passage=compare_passages(left, right, rules),
        change=classify_change(left, right, minus, plus),
        changed=tuple(changed[:SHOWN_CHANGES]),
        telling=sum(common.tells(option) for option in shared),
        telling_gold=any(common.tells(text) for text in left.gold & right.gold),
        generic_stem=common.generic_stem(left.stem),
        boilerplate=left.content != left.stem and right.content != right.stem,
        cross_discipline=left.path != right.path,
    )


def compare_gold(left: Reading, right: Reading, loosely: bool) -> Gold:
    """Tell whether two keys name the same text; loosely folded where the options agree only so."""
    if not left.gold or not right.gold:
        return "unknown"
    if left.gold == right.gold:
        return "same"
    if loosely and set(map(fold_stem, left.gold)) == set(map(fold_stem, right.gold)):
        return "same"
    return "different"


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
    length = sum(len(tokens(segment)) for segment in shared if segment in left.content)
    if length < rules.context_tokens:
        return False
    asked = [
        Counter(tokens(" ".join(segment for segment in reading.segments if segment not in shared)))
        for reading in (left, right)
    ]
    total = asked[0].total() + asked[1].total()
    return 2 * (asked[0] & asked[1]).total() < rules.template_share * total


def differing_tokens(left: Reading, right: Reading) -> tuple[list[str], list[str]]:
    """List the tokens of each stem that the other lacks, sorted, repeats included."""
    return sorted((left.counts - right.counts).elements()), sorted((right.counts - left.counts).elements())


def classify_change(left: Reading, right: Reading, minus: Sequence[str], plus: Sequence[str]) -> Change:
    """Name the most telling way in which two stems differ, given the tokens that do."""
    if not minus and not plus:
        return "none" if left.tokens == right.tokens else "order"
    return _meaning(left, right, minus, plus) or ("spelling" if _respelled(minus, plus) else "word")


def _meaning(left: Reading, right: Reading, minus: Sequence[str], plus: Sequence[str]) -> Change | None:
    """Name the change that makes another question, if there is one."""
    if _numeric(minus) and _numeric(plus):
        return "number"
    if _turned(minus, plus):
        return "polarity"
    if left.entities.intersection(minus) and right.entities.intersection(plus):
        return "name"
    if _signs(minus) != _signs(plus) and (not _worded(minus) and not _worded(plus)):
        return "sign"
    return None


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


def _numeric(words: Sequence[str]) -> bool:
    return any(word[0].isdigit() for word in words)


def _worded(words: Sequence[str]) -> bool:
    return any(word[0].isalnum() for word in words)


def _signs(words: Sequence[str]) -> list[str]:
    return [word for word in words if not word[0].isalnum() and word not in MARKUP]


def _turned(minus: Sequence[str], plus: Sequence[str]) -> bool:
    """Tell whether a negation came or went, or a word gave way to an opposite."""
    negations = [
        sum(word in NEGATIONS or word.endswith(("n't", "n’t")) for word in words) for words in (minus, plus)
    ]
    if negations[0] != negations[1]:
        return True
    if OPPOSITES.intersection(minus) and OPPOSITES.intersection(plus):
        return True
    both = {*minus, *plus}
    prefixed = [word for word in both if word.startswith(NEGATING_PREFIXES)]
    return any(
        word[len(prefix) :] in both
        for word in prefixed
        for prefix in NEGATING_PREFIXES
        if word.startswith(prefix) and len(word) > len(prefix) + SHORT_WORD
    )


def _respelled(minus: Sequence[str], plus: Sequence[str]) -> bool:
    """Tell whether the words that differ are, in order of the alphabet, spellings of one another."""
    return len(minus) == len(plus) and all(
        SequenceMatcher(None, old, new, autojunk=False).ratio() >= SPELLING_RATIO
        for old, new in zip(minus, plus, strict=True)
    )
