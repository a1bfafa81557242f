"""Payments: what is owed, planned, in flight, confirmed, failed or unknown. All of it in the ledger.

Planning takes the amount off what is owed in the same transaction, so nothing can be
planned twice; only a failed payment puts it back. While a batch is under way no other
begins, and an unknown payment waits for the provider's own list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kina_build.errors import Refusal
from review.ledger import Ledger
from review.money import cap
from review.records import LedgerEntry, Payment, PaymentState

NEXT: Mapping[PaymentState, frozenset[PaymentState]] = {
    "planned": frozenset({"in_flight", "cancelled", "confirmed", "failed"}),
    "in_flight": frozenset({"confirmed", "failed", "unknown"}),
    "unknown": frozenset({"confirmed", "failed"}),
    "confirmed": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
}
"""States that may follow a state."""
GIVEN_BACK: frozenset[PaymentState] = frozenset({"failed", "cancelled"})
"""States in which the amount is owed again."""
UNDER_WAY: frozenset[PaymentState] = frozenset({"planned", "in_flight", "unknown"})


@dataclass(frozen=True)
class Carried:
    """What a payee is owed but not paid now; negative: paid too much before."""

    payee_ref: str
    amount_minor: int
    reason: str


@dataclass(frozen=True)
class Plan:
    """A batch of payments and what stays behind."""

    batch: str
    payments: tuple[Payment, ...]
    carried: tuple[Carried, ...]
    fresh: bool = True
    """False: it stands in the ledger already, planned and not sent."""

    @property
    def total_minor(self) -> int:
        """Return the sum of the payments."""
        return sum(payment.amount_minor for payment in self.payments)


def read_payments(entries: Iterable[LedgerEntry]) -> dict[str, Payment]:
    """Fold the ledger's payment lines into payments with their present state.

    Raises:
        Refusal: a line that does not follow from the ones before it.
    """
    found: dict[str, Payment] = {}
    for entry in entries:
        before = found.get(entry.payment_id)
        if before is None:
            payment = Payment(
                payment_id=entry.payment_id,
                batch=entry.payment_id.partition("-")[0],
                payee_ref=entry.payee_ref,
                amount_minor=-entry.amount_minor,
                state="planned",
            )
        else:
            _check_move(before, entry.reason)
            payment = before.model_copy(update={"state": entry.reason})
        found[entry.payment_id] = payment
    return found


def plan(
    balances: Mapping[str, int],
    batch: str,
    *,
    limit_minor: int | None = None,
    paid_before: Mapping[str, int] | None = None,
) -> Plan:
    """Plan one payment for each payee who is owed something.

    Args:
        balances: payee reference to minor units owed; its order is the payments' order.
        batch: the batch's name.
        limit_minor: most that a payee may get in the period; None is no limit.
        paid_before: payee reference to what they had in the period already.
    """
    payments: list[Payment] = []
    carried: list[Carried] = []
    for ref, owed in balances.items():
        if owed < 0:
            carried.append(Carried(ref, owed, "overpaid before"))
        if owed <= 0:
            continue
        before = (paid_before or {}).get(ref, 0)
        now, later = (owed, 0) if limit_minor is None else cap(owed, limit_minor, before)
        if later:
            carried.append(Carried(ref, later, "limit of the period"))
        if now:
            number = f"{batch}-{len(payments) + 1:05d}"
            payments.append(
                Payment(payment_id=number, batch=batch, payee_ref=ref, amount_minor=now, state="planned")
            )
    return Plan(batch, tuple(payments), tuple(carried))


def next_plan(
    ledger: Ledger,
    payees: Mapping[str, str],
    *,
    limit_minor: int | None = None,
    paid_before: Mapping[str, int] | None = None,
) -> Plan:
    """Return the batch that would come next: a planned one not sent yet, or a fresh one.

    Args:
        ledger: an open ledger.
        payees: payee reference to payee id, which orders the payments.
        limit_minor: as plan.
        paid_before: as plan.

    Raises:
        Refusal: a batch is in flight or unknown.
    """
    past = read_payments(ledger.entries("payment"))
    waiting = [payment for payment in past.values() if payment.state in UNDER_WAY]
    if waiting:
        return _resume(waiting)
    batch = f"b{len({payment.batch for payment in past.values()}) + 1:04d}"
    balances = dict(sorted(ledger.balances().items(), key=lambda row: (payees.get(row[0], ""), row[0])))
    return plan(balances, batch, limit_minor=limit_minor, paid_before=paid_before)


def plan_into(
    ledger: Ledger,
    payees: Mapping[str, str],
    *,
    limit_minor: int | None = None,
    paid_before: Mapping[str, int] | None = None,
) -> Plan:
    """Write the next batch into the ledger, if it is a fresh one, and return it.

    Raises:
        Refusal: as next_plan.
    """
    with ledger.writing():
        batch = next_plan(ledger, payees, limit_minor=limit_minor, paid_before=paid_before)
        if batch.fresh:
            ledger.append(_line(payment, "planned", -payment.amount_minor) for payment in batch.payments)
        return batch


def move(ledger: Ledger, states: Mapping[str, PaymentState]) -> list[Payment]:
    """Move payments to new states in one transaction; return them as they are then.

    Raises:
        Refusal: no such payment, or the state cannot follow.
    """
    with ledger.writing():
        past = read_payments(ledger.entries("payment"))
        lines = []
        for payment_id, state in sorted(states.items()):
            if payment_id not in past:
                raise Refusal(f"{ledger.name}: no payment {payment_id!r}")
            payment = past[payment_id]
            _check_move(payment, state)
            lines.append(_line(payment, state, payment.amount_minor if state in GIVEN_BACK else 0))
        ledger.append(lines)
    return [
        past[payment_id].model_copy(update={"state": state}) for payment_id, state in sorted(states.items())
    ]


def batch_payments(ledger: Ledger, batch: str) -> list[Payment]:
    """Return the payments of a batch.

    Raises:
        Refusal: no such batch.
    """
    payments = [p for p in read_payments(ledger.entries("payment")).values() if p.batch == batch]
    if not payments:
        raise Refusal(f"{ledger.name}: no batch {batch!r}", hint="`kina review pay status` lists them")
    return payments


def move_batch(ledger: Ledger, batch: str, state: PaymentState) -> list[Payment]:
    """Move all payments of a batch that can get to a state.

    Raises:
        Refusal: no such batch, or none of its payments can.
    """
    payments = batch_payments(ledger, batch)
    able = [payment for payment in payments if state in NEXT[payment.state]]
    if not able:
        states = ", ".join(sorted({payment.state for payment in payments}))
        raise Refusal(f"batch {batch} is {states}: it cannot become {state}", hint=_hint(payments))
    return move(ledger, {payment.payment_id: state for payment in able})


def sum_states(payments: Iterable[Payment]) -> dict[tuple[str, PaymentState], tuple[int, int]]:
    """Return, by batch and state, how many payments there are and their sum in minor units."""
    sums: dict[tuple[str, PaymentState], tuple[int, int]] = {}
    for payment in payments:
        count, amount = sums.get((payment.batch, payment.state), (0, 0))
        sums[payment.batch, payment.state] = (count + 1, amount + payment.amount_minor)
    return dict(sorted(sums.items()))


def _resume(waiting: Sequence[Payment]) -> Plan:
    if any(payment.state != "planned" for payment in waiting):
        states = ", ".join(sorted({payment.state for payment in waiting}))
        raise Refusal(
            f"blocked_until_reconciled: batch {waiting[0].batch} is {states}, "
            "and paying again could pay twice",
            hint=_hint(waiting),
        )
    return Plan(waiting[0].batch, tuple(waiting), (), fresh=False)


def _hint(payments: Sequence[Payment]) -> str:
    return (
        f"`kina review pay reconcile --batch {payments[0].batch} --provider-list FILE` settles what was paid"
    )


def _check_move(payment: Payment, state: str) -> None:
    if state not in NEXT[payment.state]:
        raise Refusal(f"payment {payment.payment_id} is {payment.state}: it cannot become {state}")


def _line(payment: Payment, state: PaymentState, amount_minor: int) -> LedgerEntry:
    return LedgerEntry(
        seq=0,
        kind="payment",
        payee_ref=payment.payee_ref,
        amount_minor=amount_minor,
        reason=state,
        payment_id=payment.payment_id,
    )
