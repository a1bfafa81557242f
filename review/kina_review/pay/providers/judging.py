"""What a provider's list proves of each payment of a batch, or what a person must look at.

A list is applied as a whole or not at all: while one row is unknown or does not fit, it may be
the list of another batch, and nothing it says is believed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kina_review.money import format_amount, parse_amount
from kina_review.pay.payments import NEXT, UNDER_WAY, paid_out
from kina_review.pay.providers.files import match_ids
from kina_review.pay.providers.lists import ProviderRow, moment_of
from kina_review.payrecords import Payment, PaymentState, Step


@dataclass(frozen=True)
class Reconciliation:
    """What the list settles, or what a person must look at."""

    states: dict[str, PaymentState]
    """Payment id to the state that the list proves; empty while there is a problem."""
    problems: tuple[str, ...]
    steps: dict[str, Step] = field(default_factory=dict)
    """Payment id to the evidence of its move."""


@dataclass(frozen=True)
class Proof:
    """What a list is held against."""

    currency: str
    """Of the ledger."""
    complete: bool
    """The list is final: a payment that is not on it was not made."""
    booked: Mapping[str, str] = field(default_factory=dict)
    """The provider's transaction ids that the ledger knows, to their payments."""
    list_sha256: str = ""
    assignments: Mapping[str, str] = field(default_factory=dict)
    """MTurk only: account to the assignment that its bonus was to be paid on."""


def reconcile(
    payments: Sequence[Payment], accounts: Mapping[str, str], rows: Sequence[ProviderRow], proof: Proof
) -> Reconciliation:
    """Settle the payments of one batch by the provider's list of that batch.

    Args:
        payments: the batch, one payment a payee.
        accounts: payee reference to the id that the provider knows.
        rows: the provider's list.
        proof: what the list is held against.
    """
    matched, errors = match_ids([row.payee_id for row in rows], accounts.values())
    problems = [f"{name!r} is on the list: {word}" for name, word in errors.items()]
    problems += _shared(rows)
    listed: dict[str, list[ProviderRow]] = defaultdict(list)
    for row in _without_copies(rows):
        if row.payee_id in matched:
            listed[matched[row.payee_id]].append(row)
    states: dict[str, PaymentState] = {}
    steps: dict[str, Step] = {}
    for payment in payments:
        account = accounts[payment.payee_ref]
        own = listed.pop(account, [])
        faults = [fault for row in own if (fault := _misfit(row, payment, account, proof))]
        state, problem = _judge(payment, account, own, proof.complete) if not faults else (None, "")
        problems += [*faults, *([problem] if problem else [])]
        if state is not None and state != payment.state:
            states[payment.payment_id] = state
            steps[payment.payment_id] = _step(payment, own, proof)
    problems += [f"{account!r} is on the list but not in the batch" for account in sorted(listed)]
    if problems:
        return Reconciliation({}, tuple(problems))
    return Reconciliation(states, (), steps)


def _shared(rows: Sequence[ProviderRow]) -> list[str]:
    """Name transactions that are listed for several payees: one of the rows is about somebody else."""
    payees: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        payees[row.transaction_id].add(row.payee_id.strip())
    return [
        f"transaction {transaction} is listed for {' and '.join(map(repr, sorted(names)))}"
        for transaction, names in payees.items()
        if transaction and len(names) > 1
    ]


def _without_copies(rows: Sequence[ProviderRow]) -> list[ProviderRow]:
    """Drop a row that repeats a transaction in every word; without an id it may be a second payment."""
    kept: list[ProviderRow] = []
    for row in rows:
        if not row.transaction_id or row not in kept:
            kept.append(row)
    return kept


def _misfit(row: ProviderRow, payment: Payment, account: str, proof: Proof) -> str:
    """Say why a row cannot be about a payment; empty if it can."""
    if row.payment_id and row.payment_id != payment.payment_id:
        return f"{account!r}: the list says payment {row.payment_id}, the batch has {payment.payment_id}"
    if row.currency and row.currency.strip().upper() != proof.currency:
        return f"{account!r} is listed in {row.currency}, and the ledger is in {proof.currency}"
    other = proof.booked.get(row.transaction_id, payment.payment_id) if row.transaction_id else ""
    if other and other != payment.payment_id:
        return f"{account!r}: transaction {row.transaction_id} is booked for payment {other} already"
    wanted = proof.assignments.get(account, "")
    if row.assignment_id and wanted and row.assignment_id != wanted:
        return f"{account!r} was paid on assignment {row.assignment_id}, and the batch has {wanted}"
    return _other_amount(row, payment, account, proof)


def _other_amount(row: ProviderRow, payment: Payment, account: str, proof: Proof) -> str:
    if row.status in ("failed", "pending"):
        return ""
    listed, ours = parse_amount(row.amount, proof.currency), _expected(payment)
    if listed != ours:
        return (
            f"{account!r} was paid another amount than payment {payment.payment_id}: "
            f"{format_amount(listed, proof.currency)} for {format_amount(ours, proof.currency)} "
            "(`kina review pay adjust` books it)"
        )
    return ""


def _expected(payment: Payment) -> int:
    return paid_out(payment) if payment.state == "confirmed" else payment.amount_minor


def _judge(
    payment: Payment, account: str, rows: Sequence[ProviderRow], complete: bool
) -> tuple[PaymentState | None, str]:
    doubt = _doubt(rows)
    if doubt:
        return None, f"{account!r} {doubt} in batch {payment.batch}"
    state = _proven({row.status for row in rows}, complete and payment.state in UNDER_WAY)
    if state in (None, payment.state) or (state == "failed" and payment.state == "cancelled"):
        return None, ""
    if state not in NEXT[payment.state]:
        return (
            None,
            f"{account!r} is {state} on the list, but payment {payment.payment_id} is {payment.state}",
        )
    return state, ""


def _proven(words: set[str], absent: bool) -> PaymentState | None:
    """Return the state that the words of a payee's rows prove; absent: what no row tells was not paid."""
    states: Mapping[str, PaymentState] = {"returned": "returned", "refunded": "refunded", "paid": "confirmed"}
    for word, state in states.items():
        if word in words:
            return state
    if "pending" in words:
        return None
    return "failed" if words or absent else None


def _doubt(rows: Sequence[ProviderRow]) -> str:
    """Say what in the rows of one payee leaves open how often they were paid; empty: nothing does."""
    words = [row.status for row in rows]
    times = max(words.count("paid"), words.count("returned") + words.count("refunded"))
    if times > 1:
        return f"was paid {times} times"
    return _second_transfer(rows) if "paid" in words else ""


def _second_transfer(rows: Sequence[ProviderRow]) -> str:
    """Say that a paid row may be another transfer than one beside it: then what it settles is unknown.

    A return has often an id of its own; it is about the transfer where it came after it.
    """
    (paid,) = [row for row in rows if row.status == "paid"]
    for row in rows:
        apart = row.transaction_id and paid.transaction_id and row.transaction_id != paid.transaction_id
        if not apart or row.status in ("paid", "failed"):
            continue
        if row.status == "pending":
            return f"was paid by transaction {paid.transaction_id}, and {row.transaction_id} is pending"
        first, then = moment_of(paid), moment_of(row)
        if first is None or then is None or first >= then:
            return (
                f"was paid by transaction {paid.transaction_id}, and {row.transaction_id} is {row.status}, "
                "which did not demonstrably come later (completed_at)"
            )
    return ""


def _step(payment: Payment, rows: Sequence[ProviderRow], proof: Proof) -> Step:
    fees = [parse_amount(row.fee, proof.currency) for row in rows if row.fee is not None]
    paid = [
        parse_amount(row.amount, proof.currency) for row in rows if row.status not in ("failed", "pending")
    ]
    return Step(
        provider=payment.planned.provider,
        account=payment.planned.account,
        transaction=next((row.transaction_id for row in rows[::-1] if row.transaction_id), ""),
        paid_minor=paid[-1] if paid else None,
        fee_minor=sum(fees) if fees else None,
        at=next((row.completed_at for row in rows[::-1] if row.completed_at), ""),
        list_sha256=proof.list_sha256,
    )
