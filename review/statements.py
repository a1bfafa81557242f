"""Statements that a reviewer can read: every line with its reason, and what is still owed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kina_build.escapes import in_markdown
from review.chain import Head
from review.money import format_amount
from review.payments import read_step
from review.records import LedgerEntry

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


def sentence(entry: LedgerEntry) -> str:
    """Return a line's reason in words."""
    if entry.kind != "payment":
        return SENTENCES.get(entry.reason, entry.reason)
    state, step = read_step(entry.reason)
    if step.why:
        return f"adjusted to what was paid: {step.why}"
    return PAYMENT_SENTENCES.get(state, state)


def build_statements(entries: Iterable[LedgerEntry], currency: str, head: Head) -> list[Statement]:
    """Build one statement a payee, in the order of their first reviewer's id."""
    by_payee: dict[str, list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        if entry.kind in MOVES_MONEY:
            by_payee[entry.payee_ref].append(entry)
    statements = [_build(ref, lines, currency, head) for ref, lines in by_payee.items()]
    return sorted(statements, key=lambda statement: (statement.reviewers, statement.payee_ref))


def _build(ref: str, entries: list[LedgerEntry], currency: str, head: Head) -> Statement:
    lines: list[StatementLine] = []
    earned = paid = 0
    for entry in entries:
        if entry.kind == "payment":
            paid -= entry.amount_minor
        else:
            earned += entry.amount_minor
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
            )
        )
    return Statement(
        payee_ref=ref,
        reviewers=tuple(sorted({entry.reviewer_id for entry in entries} - {""})),
        currency=currency,
        lines=tuple(lines),
        earned=format_amount(earned, currency),
        paid=format_amount(paid, currency),
        owed=format_amount(earned - paid, currency),
        ledger_head=str(head),
    )


def render(statement: Statement) -> str:
    """Write a statement as Markdown."""
    rows = [
        "| line | what | item | round | amount | why | owed then |",
        "|---:|---|---|---|---:|---|---:|",
    ]
    for line in statement.lines:
        cells = (str(line.seq), line.what, line.item_id, line.round, line.amount, line.why, line.balance)
        rows.append("| " + " | ".join(map(in_markdown, cells)) + " |")
    return "\n".join(
        [
            f"# Statement for {', '.join(map(in_markdown, statement.reviewers))}",
            "",
            f"Owed: **{statement.owed} {statement.currency}**",
            f"(earned {statement.earned}, paid or under way {statement.paid}).",
            "",
            *rows,
            "",
            "Keep this line: it proves later that the ledger was not changed.",
            "",
            f"    {statement.ledger_head}",
            "",
        ]
    )


def file_name(statement: Statement) -> str:
    """Return a file name that is safe everywhere and different for every payee."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in statement.reviewers[0])
    return f"{name[:40]}-{statement.payee_ref[:8]}.md"
