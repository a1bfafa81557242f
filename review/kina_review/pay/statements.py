"""Statements that a reviewer can read: every line with its reason, and what is still owed."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kina_build.errors import Refusal
from kina_review.money import format_amount
from kina_review.pay.book.opening import open_ledger
from kina_review.pay.book.seal import Head
from kina_review.pay.payments import read_step
from kina_review.pay.sentences import rule_sentence, sentence
from kina_review.payrecords import LedgerEntry
from kina_review.rubric import ReviewRules
from kina_review.tournament.evidence import read_evidence

MOVES_MONEY = ("base", "bonus", "penalty", "grading", "payment")


@dataclass(frozen=True)
class Notice:
    """Who owes what a statement says, and how to object to it."""

    payer: str
    contact: str
    days: int
    """Days within which an objection is looked at."""


@dataclass(frozen=True)
class Facts:
    """What an item's pay rests on, as a reviewer should see it."""

    handed_in: Mapping[str, str] = field(default_factory=dict)
    """Reviewer id to the instant of the review that counts."""
    scores: Mapping[str, str] = field(default_factory=dict)
    """Reviewer id to the score of their review."""


@dataclass(frozen=True)
class StatementLine:
    """One line of the ledger for its payee's eyes."""

    seq: int
    what: str
    """Kind of line, or the payment's id."""
    item_id: str
    round: str
    reviewer_id: str
    amount: str
    reason: str
    why: str
    """The reason as a sentence."""
    balance: str
    """Owed after this line."""
    rule: str = ""
    """Version of the pay rule."""
    handed_in: str = ""
    """Instant of the review; empty where it is not known."""
    score: str = ""
    """Of the review, as the adjudicators gave it; empty where it is not known."""
    bar: str = ""
    """Score that a bonus needs under the rule."""


@dataclass(frozen=True)
class Statement:
    """All that one payee earned and was paid."""

    payee_ref: str
    reviewers: tuple[str, ...]
    """The payee's accounts."""
    currency: str
    lines: tuple[StatementLine, ...]
    earned: str
    paid: str
    """Planned, in flight, unknown or confirmed."""
    owed: str
    ledger_head: str
    """Anchor: `kina review ledger verify --against` holds the ledger to it."""
    rules: tuple[str, ...] = ()
    """The pay rules that its lines name, each as a sentence."""
    notice: Notice | None = None


def facts_of(entries: Iterable[LedgerEntry]) -> dict[tuple[str, str], Facts]:
    """Read from the evidence in a ledger when each review came in and what it scored."""
    known = read_evidence(entry for entry in entries if entry.kind == "evidence")
    return {
        place: Facts(
            handed_in={
                who: min(times)
                for who, rows in evidence.reviews.items()
                if (times := [row.at for row in rows if row.status == "submitted" and row.at])
            },
            scores={who: ", ".join(scores.values()) for who, scores in evidence.scores.items()},
        )
        for place, evidence in known.items()
    }


def notice_of(rules: ReviewRules = ReviewRules()) -> Notice:
    """Return who pays and how to object, as the [review] page says."""
    return Notice(rules.payer, rules.objections_to, rules.objection_days)


def build_statements(
    entries: Iterable[LedgerEntry],
    currency: str,
    head: Head,
    *,
    facts: Mapping[tuple[str, str], Facts] | None = None,
    notice: Notice | None = None,
) -> list[Statement]:
    """Build one statement a payee, in the order of their first reviewer's id.

    Args:
        entries: the ledger's lines.
        currency: of the ledger.
        head: of the ledger.
        facts: by item and round, when each review came in and what it scored.
        notice: who pays and how to object; None: as the [review] page says by default.
    """
    lines = list(entries)
    terms = {entry.rule: _terms(entry.reason) for entry in lines if entry.kind == "rule"}
    by_payee: dict[str, list[LedgerEntry]] = defaultdict(list)
    for entry in lines:
        if entry.kind in MOVES_MONEY:
            by_payee[entry.payee_ref].append(entry)
    told = Told(currency, head, terms, facts or {}, notice or notice_of())
    statements = [_build(ref, own, told) for ref, own in by_payee.items()]
    return sorted(statements, key=lambda statement: (statement.reviewers, statement.payee_ref))


@dataclass(frozen=True)
class Told:
    """What all statements of a ledger share."""

    currency: str
    head: Head
    terms: Mapping[str, Mapping[str, Any]]
    """Rule version to its terms."""
    facts: Mapping[tuple[str, str], Facts]
    notice: Notice


def _terms(text: str) -> Mapping[str, Any]:
    """Return the terms that a rule's line holds; nothing where another version wrote them otherwise."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _build(ref: str, entries: list[LedgerEntry], told: Told) -> Statement:
    lines: list[StatementLine] = []
    currency = told.currency
    earned = paid = 0
    for entry in entries:
        if entry.kind == "payment":
            paid -= entry.amount_minor
        else:
            earned += entry.amount_minor
        facts = told.facts.get((entry.item_id, entry.round), Facts())
        lines.append(
            StatementLine(
                seq=entry.seq,
                what=entry.payment_id or entry.kind,
                item_id=entry.item_id,
                round=entry.round,
                reviewer_id=entry.reviewer_id,
                amount=format_amount(entry.amount_minor, currency),
                reason=read_step(entry.reason)[0] if entry.kind == "payment" else entry.reason,
                why=sentence(entry),
                balance=format_amount(earned - paid, currency),
                rule=entry.rule,
                handed_in=facts.handed_in.get(entry.reviewer_id, ""),
                score=facts.scores.get(entry.reviewer_id, ""),
                bar=str(told.terms.get(entry.rule, {}).get("bar", "")) if entry.rule else "",
            )
        )
    used = sorted({entry.rule for entry in entries} & told.terms.keys())
    return Statement(
        payee_ref=ref,
        reviewers=tuple(sorted({entry.reviewer_id for entry in entries} - {""})),
        currency=currency,
        lines=tuple(lines),
        earned=format_amount(earned, currency),
        paid=format_amount(paid, currency),
        owed=format_amount(earned - paid, currency),
        ledger_head=str(told.head),
        rules=tuple(rule_sentence(version, told.terms[version], currency) for version in used),
        notice=told.notice,
    )


def read_statements(
    ledger: Path, reviewer: str | None = None, rules: ReviewRules = ReviewRules()
) -> list[Statement]:
    """Build the statements of a ledger: one a payee, or only that of one reviewer's payee.

    Raises:
        InputError: no such ledger.
        Refusal: it was changed, or has no line of the reviewer.
    """
    with open_ledger(ledger) as book:
        entries = list(book.entries())
        statements = build_statements(
            entries, book.currency, book.head(), facts=facts_of(entries), notice=notice_of(rules)
        )
    if reviewer is None:
        return statements
    own = [one for one in statements if reviewer in one.reviewers]
    if not own:
        raise Refusal(f"{ledger}: no line of reviewer {reviewer!r}")
    return own
