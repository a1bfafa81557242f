"""From evidence to a verdict: an ordered list of rules, the first that applies decides.

Only equality after folding drops an item by itself. A cosine, however high, drops
nothing: on MMLU one word that turns the answer round leaves .99.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kina_build.config import DedupRules
from kina_build.dedup.compare.changes import MEANING
from kina_build.dedup.compare.evidence import Evidence
from kina_build.dedup.records import DuplicatePair, Status


@dataclass(frozen=True)
class Verdict:
    """What a pair is, the rule that says so, and the reason in words."""

    status: Status
    rule: str
    reason: str


Rule = Callable[[Evidence, DedupRules], Verdict | None]

CHANGES = {
    "number": "the stems differ in a number",
    "unit": "the stems differ in a unit",
    "polarity": "the stems differ in a word that turns the question round",
    "name": "the stems differ in a name",
    "sign": "the stems differ in a sign",
    "order": "the stems hold the same words in another order",
    "spelling": "the stems differ in a spelling",
    "word": "the stems differ in a word or more",
    "none": "the stems differ in punctuation only",
}


def judge(evidence: Evidence, rules: DedupRules = DedupRules()) -> Verdict:
    """Decide what two items are to each other."""
    for rule in RULES:
        verdict = rule(evidence, rules)
        if verdict is not None:
            return verdict
    if evidence.boilerplate:
        return Verdict("distinct", "boilerplate", "alike only by instructions that many items share")
    if evidence.cosine is not None and evidence.cosine < rules.threshold:
        return Verdict("distinct", "cosine", "the texts are not close")
    return Verdict("review", "cosine", f"the texts are close; {CHANGES[evidence.change]}")


STEMS = {
    "same": "same stem",
    "form": "same stem but for blanks, hyphens or markup",
    "spelling": "same stem but for a typing error",
}
"""How stems that ask one question are alike, in words."""


def judge_by_cosine(evidence: Evidence, rules: DedupRules = DedupRules()) -> Verdict:
    """Decide by the threshold alone, as the KINA paper does (stage 1)."""
    if evidence.cosine is not None and evidence.cosine >= rules.threshold:
        return Verdict("duplicate", "cosine", f"cosine of {rules.threshold} or more, the paper's rule")
    return Verdict("distinct", "cosine", "the texts are not close")


def _same_question(evidence: Evidence, rules: DedupRules) -> Verdict | None:
    """Judge equal stems with equal options."""
    if not (evidence.stems == "same" and evidence.loosely_same_options):
        return None
    if evidence.passage == "different":
        return _other_passage(evidence)
    if evidence.gold == "unknown":
        return Verdict("review", "key", "same stem and options, but a key names no option")
    return _other_key(evidence) if evidence.gold == "different" else _copy(evidence, rules)


def _copy(evidence: Evidence, rules: DedupRules) -> Verdict:
    if evidence.same_raw:
        return Verdict("duplicate", "exact", "equal byte for byte")
    if evidence.risky_fold or not evidence.same_options:
        return _strong(
            evidence, rules, "equal but for letter case or raised characters, which may bear meaning"
        )
    passage = ", one of them without the passage" if evidence.passage == "one_missing" else ""
    return Verdict("duplicate", "folded", f"same stem, options as a set and right answer{passage}")


def _other_passage(evidence: Evidence) -> Verdict:
    if evidence.telling and not evidence.generic_stem:
        return Verdict("review", "passage", "same stem and options on two passages")
    return Verdict("distinct", "passage", "a common stem with common options on two passages")


def _other_key(evidence: Evidence) -> Verdict:
    if evidence.generic_stem and not evidence.telling:
        return Verdict("distinct", "options", "a common stem with common options and another answer")
    if evidence.risky_fold:
        return Verdict(
            "review", "key", "stems equal but for letter case or raised characters, another answer"
        )
    return Verdict("conflict", "key", "same stem and options, but the keys name different answers")


def _same_stem(evidence: Evidence, rules: DedupRules) -> Verdict | None:
    """Judge stems that are one, at least in another form, with unequal options."""
    if evidence.stems not in STEMS:
        return None
    stem = STEMS[evidence.stems]
    if evidence.passage == "different":
        return Verdict("distinct", "passage", f"{stem} on two passages")
    if evidence.contradicting and evidence.specific and evidence.stems != "spelling":
        return Verdict("conflict", "key", f"{stem}, but the keys cannot both be right")
    return _same_answer(evidence, rules, stem) or _other_options(evidence, rules, stem)


def _same_answer(evidence: Evidence, rules: DedupRules, stem: str) -> Verdict | None:
    if evidence.gold == "same" and not evidence.generic_stem:
        if evidence.options_alike == 1 and (evidence.specific or evidence.telling_gold):
            return _strong(evidence, rules, f"{stem}; the same options and right answer")
        if evidence.telling_gold:
            return _strong(evidence, rules, f"{stem} and right answer among other options")
    return None


def _other_options(evidence: Evidence, rules: DedupRules, stem: str) -> Verdict:
    if evidence.option_overlap >= rules.strong_options and evidence.telling:
        return Verdict("review", "options", f"{stem} and most options, another right answer")
    if evidence.specific:
        answers = {"same": "the same right answer", "different": "right answers that read differently"}
        told = answers.get(evidence.gold, "a key that names no option")
        return Verdict("review", "options", f"{stem}, other options, {told}")
    if evidence.passage == "same":
        return Verdict("same_passage", "passage", f"same passage and {stem}, other options")
    return Verdict("distinct", "options", f"{stem}, other options")


def _part(evidence: Evidence, rules: DedupRules) -> Verdict | None:
    """Judge a stem that stands whole within the other, as after cutting or an added instruction."""
    told = evidence.telling_gold or evidence.telling > 1 or evidence.options_alike == 1
    if evidence.stems != "part" or evidence.gold != "same" or evidence.passage == "different" or not told:
        return None
    if evidence.options_alike < rules.strong_options:
        return None
    return _strong(evidence, rules, "one stem is a part of the other; same right answer and options")


def _same_passage(evidence: Evidence, rules: DedupRules) -> Verdict | None:
    """Judge questions about one passage: copies only if options and answer agree too."""
    if evidence.passage != "same":
        return None
    if _is_strong(evidence, rules) and evidence.change not in MEANING:
        return _strong(evidence, rules, f"same passage, options and right answer; {CHANGES[evidence.change]}")
    return Verdict("same_passage", "passage", "same passage, another question")


def _template(evidence: Evidence, rules: DedupRules) -> Verdict | None:
    """Judge stems that differ in little."""
    if evidence.token_share < rules.template_share:
        return None
    change = CHANGES[evidence.change]
    if evidence.change in MEANING and not (evidence.change == "sign" and _is_strong(evidence, rules)):
        return Verdict("template_sibling", "template", change)
    if evidence.gold == "different" and evidence.change in {"order", "word"}:
        return Verdict("template_sibling", "template", f"{change}, and the right answers differ")
    return None


def _strong_evidence(evidence: Evidence, rules: DedupRules) -> Verdict | None:
    """Judge unequal stems with the same right answer among the same options."""
    if not _is_strong(evidence, rules):
        return None
    return _strong(evidence, rules, f"same right answer and options; {CHANGES[evidence.change]}")


def _worded_alike(evidence: Evidence, rules: DedupRules) -> Verdict | None:
    """Judge close texts whose right answers say the same in other words."""
    close = evidence.cosine is not None and evidence.cosine >= rules.threshold
    if not close or not evidence.worded_alike or evidence.boilerplate or evidence.change in MEANING:
        return None
    return Verdict("review", "answer", "the texts are close, and the right answers share most of their words")


def _is_strong(evidence: Evidence, rules: DedupRules) -> bool:
    return (
        evidence.gold == "same"
        and evidence.options_alike >= rules.strong_options
        and evidence.passage != "different"
        and (evidence.cosine is None or evidence.cosine >= rules.strong_cosine)
        and (evidence.telling_gold or evidence.telling > 1)
    )


def _strong(evidence: Evidence, rules: DedupRules, reason: str) -> Verdict:
    alike = evidence.cosine is None or evidence.cosine >= rules.threshold
    dropped = rules.strong_action == "drop" and alike and not evidence.risky_fold
    return Verdict("duplicate" if dropped else "review", "strong", reason)


RULES: tuple[Rule, ...] = (
    _same_question,
    _same_stem,
    _part,
    _same_passage,
    _template,
    _strong_evidence,
    _worded_alike,
)
"""In the order they are asked."""


def write_pair(
    ids: tuple[str, str], evidence: Evidence, verdict: Verdict, chance: float | None
) -> DuplicatePair:
    """Write evidence and verdict as one record."""
    return DuplicatePair(
        item_id=ids[0],
        other_id=ids[1],
        cosine=evidence.cosine,
        stem_overlap=evidence.stem_overlap,
        option_overlap=evidence.option_overlap,
        gold=evidence.gold,
        passage=evidence.passage,
        changed=evidence.changed,
        cross_discipline=evidence.cross_discipline,
        status=verdict.status,
        rule=verdict.rule,
        reason=verdict.reason,
        probability=chance,
    )
