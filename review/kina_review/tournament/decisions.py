"""What becomes of an item: accept, revise, reject or escalate, from its reviewers' ratings.

Independent of pay: a harsh and a lenient reviewer earn by how well they reviewed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from kina_build.errors import InputError
from kina_review.records import Decision, Finding, Review
from kina_review.rubric import CRITERION_NAMES, REVIEWS_PER_ITEM, ReviewRules, weighted
from kina_review.words import Verdict

STRICTNESS: tuple[Verdict, ...] = ("accept", "revise", "reject")
FLAW_OPINION: Mapping[str, Verdict] = {"minor": "accept", "major": "revise", "critical": "reject"}


def form_opinion(review: Review, rules: ReviewRules = ReviewRules()) -> Verdict | None:
    """Return the strictest of what a review's verdict, ratings and flaws say; None if it has none.

    A rating of 0 on any criterion rejects, whatever the others say. Who escalates leaves the item to
    somebody else, whatever their ratings say.
    """
    if review.verdict == "escalate":
        return "escalate"
    opinions: list[Verdict] = [FLAW_OPINION[flaw.severity] for flaw in review.flaws]
    if review.verdict:
        opinions.append(review.verdict)
    if 0 in review.ratings.values():
        opinions.append("reject")
    if all(name in review.ratings for name in CRITERION_NAMES):
        opinions.append(_rate(weighted(review.ratings, rules), rules))
    elif not review.verdict and not review.flaws:
        return None
    return max(opinions, key=STRICTNESS.index)


def decide_item(
    item_id: str,
    reviews: Sequence[Review],
    finding: Finding | None = None,
    rules: ReviewRules = ReviewRules(),
) -> Decision:
    """Decide on one item from its counted reviews of one round and an audit's finding, if any."""
    opinions = {review.reviewer_id: form_opinion(review, rules) for review in reviews}
    formed = {reviewer: opinion for reviewer, opinion in sorted(opinions.items()) if opinion is not None}
    decision, reason = _combine(list(formed.values()))
    if finding is not None and finding.flawed and decision == "accept":
        decision, reason = "revise", f"audit found {finding.flaw or 'a flaw'}"
    return Decision.model_validate(
        {"item_id": item_id, "decision": decision, "reason": reason, "opinions": formed}
    )


def decide_items(
    counted: Mapping[tuple[str, str], Sequence[Review]],
    findings: Sequence[Finding] = (),
    rules: ReviewRules = ReviewRules(),
) -> list[Decision]:
    """Decide on every item from its last round, sorted by item.

    Args:
        counted: (item_id, round) to the reviews that count, as Settlement.counted.
        findings: what audits found.
        rules: the [review] page.
    """
    found = {finding.item_id: finding for finding in findings}
    last: dict[str, tuple[str, str]] = {}
    for item_id, round_ in counted:
        if item_id not in last or round_order(last[item_id][1]) < round_order(round_):
            last[item_id] = (item_id, round_)
    return [
        decide_item(item_id, counted[place], found.get(item_id), rules)
        for item_id, place in sorted(last.items())
    ]


@dataclass(frozen=True)
class ErrorRates:
    """Share of faulty items under each rule of counting votes; no number goes without its rule."""

    n: int
    any_dissent: float
    """At least one voter calls the item wrong."""
    majority: float
    """More than half do."""
    unanimous: float
    """All do."""


def error_rates(wrong_votes: Sequence[int], voters: int) -> ErrorRates:
    """Return the error rate of a set of items by decision rule.

    Args:
        wrong_votes: an item's votes for "wrong".
        voters: votes an item.

    Raises:
        InputError: no items, or more votes than voters.
    """
    if not wrong_votes or max(wrong_votes) > voters or min(wrong_votes) < 0:
        raise InputError(f"wrong votes must be 0 to {voters} on at least one item")
    n = len(wrong_votes)
    return ErrorRates(
        n=n,
        any_dissent=sum(votes > 0 for votes in wrong_votes) / n,
        majority=sum(2 * votes > voters for votes in wrong_votes) / n,
        unanimous=sum(votes == voters for votes in wrong_votes) / n,
    )


def _rate(score: Fraction, rules: ReviewRules) -> Verdict:
    if score >= Fraction(rules.accept_at):
        return "accept"
    return "reject" if score < Fraction(rules.reject_below) else "revise"


def _combine(opinions: list[Verdict]) -> tuple[str, str]:
    if len(opinions) < REVIEWS_PER_ITEM:
        return "escalate", f"{len(opinions)} of {REVIEWS_PER_ITEM} opinions"
    if "escalate" in opinions:
        return "escalate", "a reviewer escalates"
    if len(set(opinions)) == 1:
        return opinions[0], "reviewers agree"
    if "accept" in opinions and "reject" in opinions:
        return "escalate", "one accepts, one rejects"
    return "revise", "reviewers differ by one step"


def round_order(round_: str) -> tuple[int, str, str]:
    """Return what rounds are sorted by: 2 comes before 10."""
    digits = "".join(str(unicodedata.decimal(sign)) for sign in round_ if sign.isdecimal()).lstrip("0")
    return len(digits), digits, round_  # int() refuses thousands of digits
