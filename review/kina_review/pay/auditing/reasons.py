"""Why each payable is what it is, worked out a second time for the audit of a ledger.

A sum can be right under a wrong reason: a bonus "won" that was promoted, a review "missing" that came
late. The reasons stand on statements, so they are derived as the sums are, and by code of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from kina_review.payrecords import LedgerEntry
from kina_review.records import Finding, Review

Key = tuple[str, str, str, str]
"""item_id, round, reviewer_id, kind."""

WORST_FIRST = ("forged_author", "late", "draft", "skipped", "cancelled", "missing")
"""Of several rows of one reviewer, none of which counts, the first of these is named."""
BOTH = 2


@dataclass(frozen=True)
class Case:
    """All that decides the reasons of one item in one round."""

    rows: Sequence[Review]
    counted: Sequence[Review]
    scores: Mapping[str, Fraction | None]
    """Of the reviews that count."""
    finding: Finding | None
    rule: Mapping[str, Any]
    last: datetime | None
    """Deadline of the item."""


def derive_reasons(place: tuple[str, str], case: Case) -> dict[Key, str]:
    """Return the reason of each base and bonus that an item's reviewers are due."""
    found: dict[Key, str] = {}
    present = {review.reviewer_id for review in case.counted}
    for reviewer_id in sorted({row.reviewer_id for row in case.rows}):
        if reviewer_id in present:
            found[*place, reviewer_id, "base"] = "complete"
            found[*place, reviewer_id, "bonus"] = _why_bonus(reviewer_id, place[0], case)
        else:
            found[*place, reviewer_id, "base"] = _why_absent(reviewer_id, case)
    return found


def _why_absent(reviewer_id: str, case: Case) -> str:
    own = [row for row in case.rows if row.reviewer_id == reviewer_id]
    words = [_why_not(row, case.last) for row in own]
    if "" in words:
        persons = {row.payee_id or row.reviewer_id for row in own}
        others = [row for row in case.rows if row.reviewer_id != reviewer_id and not _why_not(row, case.last)]
        shared = any((row.payee_id or row.reviewer_id) in persons for row in others)
        return "same_payee" if shared else "surplus"
    return next(word for word in WORST_FIRST if word in words)


def _why_not(row: Review, last: datetime | None) -> str:
    """Say why a row is no review; empty if it is one."""
    if row.updated_by and row.updated_by != row.reviewer_id:
        return "forged_author"
    if row.status != "submitted":
        return row.status
    if row.submitted_at is None:
        return "" if row.review_score is not None or row.ratings or row.verdict else "missing"
    return "late" if last and row.submitted_at > last else ""


def _why_bonus(who: str, item_id: str, case: Case) -> str:
    known = {name: score for name, score in case.scores.items() if score is not None}
    if len(known) < BOTH:
        return "no_contest" if len(case.counted) < BOTH and case.last else "contest_incomplete"
    failed: Collection[str] = case.finding.failed if case.finding else ()
    if who in failed:
        return "audit_failed"
    mine, other = known[who], next(score for name, score in known.items() if name != who)
    bar = Fraction(Decimal(str(case.rule["bar"])))
    before = _why_compared(mine, other, bar, str(case.rule["tie"]))
    if before == "tie_coin":
        digest = hashlib.sha256(f"seed{case.rule.get('seed', 0)}|{item_id}|tie".encode()).digest()
        before += "_win" if sorted(known)[digest[0] % BOTH] == who else "_loss"
    if set(failed) & known.keys() and mine >= bar:
        return "win" if before in ("win", "tie_coin_win") else "promoted"
    return before


def _why_compared(mine: Fraction, other: Fraction, bar: Fraction, tie: str) -> str:
    if max(mine, other) < bar:
        return "below_bar"
    if mine != other:
        return "win" if mine > other else "loss"
    return f"tie_{tie}"


def compare_reasons(
    wanted: Mapping[Key, str], lines: Mapping[Key, Sequence[LedgerEntry]], due: Mapping[Key, int]
) -> list[str]:
    """Return a sentence for each payable whose latest line gives another reason than the files do.

    Args:
        wanted: what derive_reasons found.
        lines: the ledger's lines by payable.
        due: what each payable comes to; a penalty that is due has one reason only.
    """
    faults = []
    for key, own in sorted(lines.items()):
        sure = {"penalty": "audit_penalty", "grading": "graded"}.get(key[3]) if due.get(key) else None
        reason = wanted.get(key, sure or "withdrawn")
        if own[-1].reason != reason:
            item_id, round_, who, kind = key
            faults.append(
                f"line {own[-1].seq}: {kind} of {who!r} on item {item_id!r}, round {round_!r} is said to be "
                f"{own[-1].reason!r}, and the files give {reason!r}"
            )
    return faults
