"""What the provider says it paid, held against what we sent: the only way out of "unknown"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator

from review.money import parse_amount
from review.payments import UNDER_WAY
from review.providers import match_ids
from review.records import Id, Payment, PaymentState, Record
from review.words import read_word

Paid = Literal["paid", "failed", "pending"]
PAID_ALIASES: Mapping[str, Paid] = {
    "approved": "paid",
    "complete": "paid",
    "completed": "paid",
    "confirmed": "paid",
    "succeeded": "paid",
    "success": "paid",
    "sent": "paid",
    "rejected": "failed",
    "cancelled": "failed",
    "canceled": "failed",
    "returned": "failed",
    "error": "failed",
    "processing": "pending",
    "in_flight": "pending",
}


class ProviderRow(Record):
    """One line of the provider's list of a batch."""

    payee_id: Id
    amount: Decimal
    """In major units."""
    status: Annotated[Paid, BeforeValidator(lambda word: read_word(word, get_args(Paid), PAID_ALIASES))] = (
        "paid"
    )


@dataclass(frozen=True)
class Reconciliation:
    """What the list settles, and what a person must look at."""

    states: dict[str, PaymentState]
    """Payment id to the state that the list proves."""
    problems: tuple[str, ...]


def reconcile(
    payments: Sequence[Payment],
    accounts: Mapping[str, str],
    rows: Sequence[ProviderRow],
    currency: str,
    *,
    complete: bool,
) -> Reconciliation:
    """Settle the payments of one batch by the provider's list of that batch.

    Args:
        payments: the batch, one payment a payee.
        accounts: payee reference to the id that the provider knows.
        rows: the provider's list.
        currency: of the ledger.
        complete: the list is final: a payment that is not on it was not made.
    """
    matched, errors = match_ids([row.payee_id for row in rows], accounts.values())
    problems = [f"{name!r} is on the list: {word}" for name, word in errors.items()]
    listed: dict[str, list[ProviderRow]] = defaultdict(list)
    for row in rows:
        if row.payee_id in matched:
            listed[matched[row.payee_id]].append(row)
    states: dict[str, PaymentState] = {}
    for payment in payments:
        account = accounts[payment.payee_ref]
        state, problem = _judge(payment, account, listed.pop(account, []), currency, complete)
        if state is not None and payment.state in UNDER_WAY:
            states[payment.payment_id] = state
        if problem:
            problems.append(problem)
    problems += [f"{account!r} is on the list but not in the batch" for account in sorted(listed)]
    return Reconciliation(states, tuple(problems))


def _judge(
    payment: Payment, account: str, rows: list[ProviderRow], currency: str, complete: bool
) -> tuple[PaymentState | None, str]:
    paid = [parse_amount(row.amount, currency) for row in rows if row.status == "paid"]
    if payment.state == "failed" and paid:
        return None, f"{account!r} was paid, but payment {payment.payment_id} stands as failed"
    if paid == [payment.amount_minor]:
        return "confirmed", ""
    if len(paid) > 1:
        return None, f"{account!r} was paid {len(paid)} times in batch {payment.batch}"
    if paid:
        return None, f"{account!r} was paid another amount than payment {payment.payment_id}"
    if any(row.status == "pending" for row in rows):
        return None, ""
    return ("failed", "") if rows or complete else (None, "")
