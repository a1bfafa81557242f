"""The words of the ledger for people: reasons, states of payments, pay rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kina_review.money import format_amount
from kina_review.pay.payments import read_step
from kina_review.payrecords import LedgerEntry

SENTENCES: Mapping[str, str] = {
    "complete": "a complete review",
    "graded": "reviews of this item graded",
    "audit_penalty": "the item failed its audit",
    "win": "higher review score, at or above the bar",
    "loss": "the other review scored higher",
    "tie_split": "equal scores at or above the bar: the bonus is split",
    "tie_strict": "equal scores: under this rule nobody gets the bonus",
    "tie_coin_win": "equal scores: the seeded coin fell your way",
    "tie_coin_loss": "equal scores: the seeded coin fell the other way",
    "below_bar": "neither review reached the bar",
    "no_contest": "no second review came in time: no contest, no bonus",
    "contest_incomplete": "the contest is open: a review or a score is still to come",
    "promoted": "the other review failed its audit; this one reaches the bar",
    "audit_failed": "this review failed its audit",
    "missing": "no review arrived",
    "draft": "the review was left a draft",
    "skipped": "the item was skipped",
    "cancelled": "the review was cancelled",
    "late": "the review came after the deadline",
    "forged_author": "the review was last written by another account",
    "same_payee": "two accounts of one payee on one item: both are void",
    "surplus": "two reviews had come before this one",
    "duplicate_row": "the same row stands there already",
    "later_review": "an earlier complete review of this reviewer counts",
    "withdrawn": "the review is no longer among those settled",
}


PAYMENT_SENTENCES: Mapping[str, str] = {
    "planned": "payment planned",
    "in_flight": "payment sent to the provider",
    "confirmed": "payment confirmed by the provider",
    "failed": "payment failed: the amount is owed again",
    "cancelled": "payment cancelled before it was sent: the amount is owed again",
    "unknown": "the provider's answer is missing; being looked into",
    "returned": "payment came back: the amount is owed again",
    "refunded": "payment refunded: the amount is owed again",
}


TIE_SENTENCES: Mapping[str, str] = {
    "split": "of equal scores that reach it, each earns half",
    "strict": "of equal scores, neither earns it",
    "coin": "of equal scores that reach it, a seeded coin picks one",
}


def sentence(entry: LedgerEntry) -> str:
    """Return a line's reason in words."""
    if entry.kind != "payment":
        return SENTENCES.get(entry.reason, entry.reason)
    state, step = read_step(entry.reason)
    if step.why:
        return f"adjusted to what was paid: {step.why}"
    return PAYMENT_SENTENCES.get(state, state)


def rule_sentence(version: str, terms: Mapping[str, Any], currency: str) -> str:
    """Return what a registered rule pays, in words."""
    base, bonus = terms.get("base_minor"), terms.get("bonus_minor")
    if not isinstance(base, int) or not isinstance(bonus, int):
        return f"Rule {version}."
    tie = TIE_SENTENCES.get(str(terms.get("tie")), "equal scores need a rule of their own")
    since = f" From {terms['valid_from']} on." if terms.get("valid_from") else ""
    whose = f" of {terms['discipline']}" if terms.get("discipline") else ""
    grade = terms.get("grade_minor")
    graded = f" {format_amount(grade, currency)} {currency} for each review graded." if grade else ""
    return (
        f"Rule {version}: {format_amount(base, currency)} {currency} for a complete review{whose} in time, "
        f"and {format_amount(bonus, currency)} more for the better of an item's two reviews if its score is "
        f"{terms.get('bar')} or more; {tie}.{since}{graded}"
    )
