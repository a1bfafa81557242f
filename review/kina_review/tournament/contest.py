"""One contest: two review scores to one winner, a tie, or nobody (paper, section 3.2).

W_i = w0 + B * 1{S_i > S_-i and S_i >= tau}. Ties, which the paper's model excludes, go by
the rule's tie; at most B is paid an item whatever happens. A grade, from an adjudicator's marks and
flaw list, looks at how well a review was done, never at whether it was kind to the item.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from kina_build.errors import InputError, Refusal
from kina_review.payrecords import PayRule
from kina_review.records import NOISE, Flaw, Grade, Reason, Review, Severity
from kina_review.rubric import CRITERION_NAMES, ReviewRules, best_score, weighted

MOST_DIGITS = 12
"""Decimals after which a score is printed as a fraction."""


@dataclass(frozen=True)
class Outcome:
    """How one contest ends."""

    bonus_minor: dict[str, int]
    """Reviewer id to bonus, zero included."""
    reasons: dict[str, Reason]
    winners: tuple[str, ...] = ()
    tied: bool = False


def tie_bit(item_id: str, seed: int) -> int:
    """Return the fair bit that indexes the sorted reviewers of a tied item."""
    return hashlib.sha256(f"seed{seed}|{item_id}|tie".encode()).digest()[0] & 1


def compare(item_id: str, scores: Mapping[str, Fraction], rule: PayRule, seed: int) -> Outcome:
    """Compare two scores under a pay rule.

    Raises:
        Refusal: a tie at or above the bar under a rule without a tie rule.
    """
    first, second = sorted(scores)
    best = max(scores.values())
    if best < Fraction(rule.bar):
        return Outcome(dict.fromkeys(scores, 0), dict.fromkeys(scores, "below_bar"))
    if scores[first] != scores[second]:
        winner, loser = (first, second) if scores[first] == best else (second, first)
        return Outcome(
            {winner: rule.bonus_minor, loser: 0}, {winner: "win", loser: "loss"}, winners=(winner,)
        )
    return _break_tie((first, second), rule, tie_bit(item_id, seed))


def _break_tie(pair: tuple[str, str], rule: PayRule, bit: int) -> Outcome:
    lucky, other = pair[bit], pair[1 - bit]
    if rule.tie == "split":
        half = rule.bonus_minor // 2
        bonus = {lucky: rule.bonus_minor - half, other: half}
        return Outcome(bonus, dict.fromkeys(pair, "tie_split"), winners=pair, tied=True)
    if rule.tie == "coin":
        reasons: dict[str, Reason] = {lucky: "tie_coin_win", other: "tie_coin_loss"}
        return Outcome({lucky: rule.bonus_minor, other: 0}, reasons, winners=(lucky,), tied=True)
    if rule.tie == "strict":
        return Outcome(dict.fromkeys(pair, 0), dict.fromkeys(pair, "tie_strict"), tied=True)
    raise Refusal(
        f"tie_rule_missing: {pair[0]!r} and {pair[1]!r} tie at or above the bar, and rule {rule.name} "
        "does not say what then",
        hint="set tie to split, strict or coin",
    )


def compare_audited(
    item_id: str, scores: Mapping[str, Fraction], failed: Sequence[str], rule: PayRule, seed: int
) -> Outcome:
    """Compare scores after an audit: who failed is out, and the other moves up on reaching the bar.

    Raises:
        Refusal: as compare.
    """
    before = compare(item_id, scores, rule, seed)
    out = [reviewer for reviewer in scores if reviewer in failed]
    if not out:
        return before
    bonus = dict.fromkeys(scores, 0)
    reasons: dict[str, Reason] = dict(before.reasons) | dict.fromkeys(out, "audit_failed")
    rest = [reviewer for reviewer in scores if reviewer not in out and scores[reviewer] >= Fraction(rule.bar)]
    for reviewer in rest:
        bonus[reviewer] = rule.bonus_minor
        reasons[reviewer] = "win" if before.winners == (reviewer,) else "promoted"
    return Outcome(bonus, reasons, winners=tuple(rest), tied=False)


def print_score(score: Fraction) -> str:
    """Write a score exactly: a decimal where it ends, else a fraction such as "43/3"."""
    if 10**MOST_DIGITS % score.denominator:
        return str(score)
    return f"{(Decimal(score.numerator) / score.denominator).normalize():f}"


ReviewKey = tuple[str, str, str]
"""item_id, round, reviewer_id."""
Scores = dict[ReviewKey, Fraction]

SEVERITY_WEIGHT: Mapping[Severity, int] = {"minor": 1, "major": 2, "critical": 4}


def key_of(row: Review | Grade) -> ReviewKey:
    """Return what a review is known by."""
    return row.item_id, row.round, row.reviewer_id


def average_grades(
    reviews: Sequence[Review], grades: Sequence[Grade], rules: ReviewRules = ReviewRules()
) -> Scores:
    """Return the exact score of every review graded in a file of its own.

    Several graders of one review are averaged, exactly.

    Raises:
        InputError: a grade of no review, a grader who graded a review twice differently,
            marks for only some criteria, or a score off the declared step.
    """
    scores: Scores = {}
    for key, given in _by_grader(grades, rules).items():
        scores[key] = sum(given.values(), Fraction(0)) / len(given)
    unknown = sorted(scores.keys() - {key_of(review) for review in reviews})
    if unknown:
        item_id, round_, reviewer_id = unknown[0]
        raise InputError(
            f"a score for reviewer {reviewer_id!r} on item {item_id!r} in round {round_!r}, who has no "
            f"review there ({len(unknown)} such scores)",
            hint="ids must be equal letter for letter; leading zeros and case count",
        )
    return scores


def score_of(review: Review, grades: Scores, rules: ReviewRules = ReviewRules()) -> Fraction | None:
    """Return a review's score: from the grades, else its own; None while ungraded.

    Raises:
        InputError: a score off the declared step.
    """
    if key_of(review) in grades:
        return grades[key_of(review)]
    return None if review.review_score is None else check_step(Fraction(review.review_score), rules)


def check_step(score: Fraction, rules: ReviewRules) -> Fraction:
    """Return the score if it is a multiple of the declared step.

    Raises:
        InputError: it is not.
    """
    if rules.score_step == NOISE:
        return score  # every score was rounded to this when it was read
    if (score / Fraction(rules.score_step)).denominator != 1:
        raise InputError(
            f"review_score {float(score):g} is not a multiple of {rules.score_step}",
            hint="`review.score_step` in kina.toml declares the step of the rubric",
        )
    return score


def grade_score(grade: Grade, rules: ReviewRules = ReviewRules()) -> Fraction:
    """Return the score of one grade: as given, or the weighted sum of its marks.

    Raises:
        InputError: neither a score nor a mark on every criterion, or off the step.
    """
    if grade.review_score is not None:
        return check_step(Fraction(grade.review_score), rules)
    lacking = [name for name in CRITERION_NAMES if name not in grade.marks]
    if lacking:
        raise InputError(
            f"the grade of {grade.reviewer_id!r} on item {grade.item_id!r} lacks {', '.join(lacking)}",
            hint="give a review_score, or a mark from 0 to 4 on each of the six criteria",
        )
    return weighted(grade.marks, rules)


def flaw_recall(
    named: Sequence[Flaw], confirmed: Sequence[Flaw], rules: ReviewRules = ReviewRules()
) -> Fraction:
    """Return the severity-weighted share of confirmed flaws named, less false flags, in [0, 1].

    A flaw is found when its kind, and its option where the adjudicator names one, were
    named. Without confirmed flaws the recall is 1.
    """
    found = [flaw for flaw in confirmed if any(_same(one, flaw) for one in named)]
    false_flags = sum(not any(_same(one, flaw) for flaw in confirmed) for one in named)
    whole = sum(SEVERITY_WEIGHT[flaw.severity] for flaw in confirmed)
    recall = Fraction(sum(SEVERITY_WEIGHT[flaw.severity] for flaw in found), whole) if whole else Fraction(1)
    return max(Fraction(0), recall - false_flags * Fraction(rules.false_flag_penalty))


def combined_score(
    marks: Mapping[str, int], recall: Fraction, rules: ReviewRules = ReviewRules()
) -> Fraction:
    """Combine the six marks with the flaw recall into one review_score, on the scale of the marks."""
    share = Fraction(rules.flaw_share)
    return (1 - share) * weighted(marks, rules) + share * recall * Fraction(best_score(rules))


def _same(named: Flaw, confirmed: Flaw) -> bool:
    return named.kind == confirmed.kind and confirmed.option in (None, named.option)


def _by_grader(grades: Sequence[Grade], rules: ReviewRules) -> dict[ReviewKey, dict[str, Fraction]]:
    found: dict[ReviewKey, dict[str, Fraction]] = {}
    for grade in grades:
        if grade.review_score is None and not grade.marks:
            continue  # a blank cell: not graded yet, never a zero
        score = grade_score(grade, rules)
        if found.setdefault(key_of(grade), {}).setdefault(grade.grader_id, score) != score:
            raise InputError(
                f"grader {grade.grader_id!r} scored reviewer {grade.reviewer_id!r} on item {grade.item_id!r} "
                "twice, differently",
                hint="a second adjudicator needs a grader_id of their own",
            )
    return found
