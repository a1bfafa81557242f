"""Statements that a reviewer can read: every line with its reason, and what is still owed."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kina_build.escapes import in_markdown
from kina_review.money import format_amount
from kina_review.pay.payments import read_step
from kina_review.pay.seal import Head
from kina_review.records import LedgerEntry
from kina_review.rubric import ReviewRules
from kina_review.tournament.evidence import read_evidence

SENTENCES: Mapping[str, str] = {
    "complete": "a complete review",
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
MOVES_MONEY = ("base", "bonus", "penalty", "payment")
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


def sentence(entry: LedgerEntry) -> str:
    """Return a line's reason in words."""
    if entry.kind != "payment":
        return SENTENCES.get(entry.reason, entry.reason)
    state, step = read_step(entry.reason)
    if step.why:
        return f"adjusted to what was paid: {step.why}"
    return PAYMENT_SENTENCES.get(state, state)


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
        rules=tuple(_rule_sentence(version, told.terms[version], currency) for version in used),
        notice=told.notice,
    )


def _rule_sentence(version: str, terms: Mapping[str, Any], currency: str) -> str:
    base, bonus = terms.get("base_minor"), terms.get("bonus_minor")
    if not isinstance(base, int) or not isinstance(bonus, int):
        return f"Rule {version}."
    tie = TIE_SENTENCES.get(str(terms.get("tie")), "equal scores need a rule of their own")
    since = f" From {terms['valid_from']} on." if terms.get("valid_from") else ""
    return (
        f"Rule {version}: {format_amount(base, currency)} {currency} for a complete review in time, and "
        f"{format_amount(bonus, currency)} more for the better of an item's two reviews if its score is "
        f"{terms.get('bar')} or more; {tie}.{since}"
    )


COLUMNS = ("line", "what", "item", "round", "handed in", "score", "bar", "rule", "amount", "why", "owed then")
RIGHT = {"line", "score", "bar", "amount", "owed then"}


def render(statement: Statement) -> str:
    """Write a statement as Markdown."""
    rows = [
        f"| {' | '.join(COLUMNS)} |",
        f"|{'|'.join('---:' if name in RIGHT else '---' for name in COLUMNS)}|",
    ]
    for line in statement.lines:
        cells = (str(line.seq), line.what, line.item_id, line.round, line.handed_in, line.score, line.bar,
                 line.rule, line.amount, line.why, line.balance)  # fmt: skip
        rows.append("| " + " | ".join(map(in_markdown, cells)) + " |")
    return "\n".join(
        [
            f"# Statement for {', '.join(map(in_markdown, statement.reviewers))}",
            "",
            *_owed(statement),
            "",
            *rows,
            "",
            *(f"- {in_markdown(rule)}" for rule in statement.rules),
            "",
            *_objection(statement),
            "Keep this line: it proves later that the ledger was not changed.",
            "",
            f"    {statement.ledger_head}",
            "",
        ]
    )


def _owed(statement: Statement) -> list[str]:
    payer = in_markdown(statement.notice.payer) if statement.notice else "the payer"
    back = statement.owed.startswith("-")
    amount = f"**{statement.owed.removeprefix('-')} {statement.currency}**"
    who = f"You owe {payer} {amount}" if back else f"{payer} owes you {amount}"
    later = "; it is kept from later earnings, nobody will ask you for it" if back else ""
    return [
        f"{who[0].upper()}{who[1:]}{later}",
        f"(earned {statement.earned}, paid or under way {statement.paid}).",
    ]


def _objection(statement: Statement) -> list[str]:
    if statement.notice is None:
        return []
    contact, days = in_markdown(statement.notice.contact), statement.notice.days
    return [
        f"If a line is wrong, write to {contact} within {days} days: name the line, the item and why.",
        "A second adjudicator, who sees neither name nor the first grade, then grades both reviews of the",
        "item again; the mean of both grades counts, and what it changes is posted as a line of its own.",
        "",
    ]


def file_name(statement: Statement) -> str:
    """Return a file name that is safe everywhere and different for every payee."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in statement.reviewers[0])
    return f"{name[:40]}-{statement.payee_ref[:8]}.md"
