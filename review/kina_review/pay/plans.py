"""What is paid next: a batch from what is owed, within a cap, or the one planned and not sent yet.

Pay whose evidence was contradicted is held: it waits until somebody says which version is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kina_build.errors import InputError, Refusal
from kina_review.money import cap, format_amount
from kina_review.pay.book.ledger import Ledger
from kina_review.pay.payments import SENT, held_payees, paid_out, read_payments, step_line, unsettled_hint
from kina_review.payrecords import Payment, Step


@dataclass(frozen=True)
class Carried:
    """What a payee is owed but not paid now; negative: paid too much before."""

    payee_ref: str
    amount_minor: int
    reason: str


@dataclass(frozen=True)
class Limits:
    """What bounds a plan beside what is owed."""

    cap_minor: int | None = None
    """Most that a payee may get in the period; None is no limit."""
    paid_before: Mapping[str, int] = field(default_factory=dict)
    """Payee reference to what they had in the period elsewhere."""
    since: str = ""
    """Begin of the period, an instant in UTC; empty: all that the ledger paid counts."""


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

    Raises:
        InputError: a limit, or an amount had before, below zero.
    """
    before = paid_before or {}
    if (limit_minor or 0) < 0 or min(before.values(), default=0) < 0:
        raise InputError("a cap, or an amount had before, cannot be below zero")
    payments: list[Payment] = []
    carried: list[Carried] = []
    for ref, owed in balances.items():
        if owed < 0:
            carried.append(Carried(ref, owed, "overpaid before"))
        if owed <= 0:
            continue
        now, later = (owed, 0) if limit_minor is None else cap(owed, limit_minor, before.get(ref, 0))
        if later:
            carried.append(Carried(ref, later, "limit of the period"))
        if now:
            number = f"{batch}-{len(payments) + 1:05d}"
            payments.append(
                Payment(payment_id=number, batch=batch, payee_ref=ref, amount_minor=now, state="planned")
            )
    return Plan(batch, tuple(payments), tuple(carried))


def next_plan(ledger: Ledger, payees: Mapping[str, str], limits: Limits = Limits()) -> Plan:
    """Return the batch that would come next: a planned one not sent yet, or a fresh one.

    Args:
        ledger: an open ledger.
        payees: payee reference to payee id, which orders the payments.
        limits: cap and period.

    Raises:
        Refusal: nothing can be planned while payments are under way, or the planned batch is stale.
    """
    past = read_payments(ledger.entries("payment"))
    waiting = [payment for payment in past.values() if payment.state == "planned"]
    if waiting:
        return _resume(ledger, past, waiting, limits)
    batch = f"b{len({payment.batch for payment in past.values()}) + 1:04d}"
    balances = dict(sorted(ledger.balances().items(), key=lambda row: (payees.get(row[0], ""), row[0])))
    sent = [payment for payment in past.values() if payment.state in SENT]
    fresh = _planned(balances, batch, past.values(), held_payees(ledger), limits)
    if sent and not fresh.payments:
        raise _blocked(sent)
    return fresh


def _planned(
    balances: Mapping[str, int], batch: str, past: Iterable[Payment], held: Iterable[str], limits: Limits
) -> Plan:
    """Plan for the payees who need not wait."""
    waits = {payment.payee_ref: f"payment {payment.payment_id} is {payment.state}"
             for payment in past if payment.state in SENT}  # fmt: skip
    waits |= dict.fromkeys(held, "held: the evidence for it changed, see `kina review settle`")
    free = {ref: owed for ref, owed in balances.items() if ref not in waits}
    made = plan(
        free, batch, limit_minor=limits.cap_minor, paid_before=_had(past, limits.paid_before, limits.since)
    )
    later = [Carried(ref, owed, waits[ref]) for ref, owed in balances.items() if ref in waits and owed]
    return Plan(batch, made.payments, (*made.carried, *later))


def _had(past: Iterable[Payment], elsewhere: Mapping[str, int], since: str) -> dict[str, int]:
    """Add what the ledger paid in the period to what was had elsewhere."""
    had = dict(elsewhere)
    for payment in past:
        if not payment.planned.at or payment.planned.at >= since:
            had[payment.payee_ref] = had.get(payment.payee_ref, 0) + paid_out(payment)
    return had


def plan_into(
    ledger: Ledger,
    payees: Mapping[str, str],
    limits: Limits = Limits(),
    steps: Mapping[str, Step] | None = None,
) -> Plan:
    """Write the next batch into the ledger, if it is a fresh one, and return it.

    Args:
        ledger: an open ledger.
        payees: as next_plan.
        limits: as next_plan.
        steps: payee reference to the account and provider that the payment is planned with.

    Raises:
        Refusal: as next_plan, or a payee came up for whom no account was prepared.
    """
    with ledger.writing():
        batch = next_plan(ledger, payees, limits)
        if not batch.fresh:
            return batch
        lines = []
        for payment in batch.payments:
            if steps is not None and payment.payee_ref not in steps:
                raise Refusal("the ledger grew while the batch was planned", hint="run it again")
            step = steps[payment.payee_ref] if steps else Step(cap_minor=limits.cap_minor)
            lines.append(step_line(payment, "planned", -payment.amount_minor, step))
        ledger.append(lines)
        return batch


def _resume(ledger: Ledger, past: Mapping[str, Payment], waiting: Sequence[Payment], limits: Limits) -> Plan:
    """Return a batch that was planned and not sent, if it would still be planned so.

    Raises:
        Refusal: a correction, a hold or another cap made it stale.
    """
    batch = waiting[0].batch
    fresh = _current(ledger, past, waiting, limits)
    caps = {payment.planned.cap_minor for payment in waiting if payment.planned.account}
    if caps and caps != {limits.cap_minor}:
        raise _stale(batch, "it was planned under another --cap")
    return Plan(batch, tuple(waiting), fresh.carried, fresh=False)


def check_current(ledger: Ledger, payments: Sequence[Payment]) -> None:
    """Check that a batch about to be sent pays nobody more than is owed now, and nobody who is held.

    Raises:
        Refusal: a correction or a hold made it stale.
    """
    waiting = [payment for payment in payments if payment.state == "planned"]
    if waiting:
        _current(ledger, read_payments(ledger.entries("payment")), waiting, Limits())


def _current(ledger: Ledger, past: Mapping[str, Payment], waiting: Sequence[Payment], limits: Limits) -> Plan:
    """Return what would be planned now in place of a batch that waits to be sent.

    Raises:
        Refusal: one of its payments is above that.
    """
    batch = waiting[0].batch
    balances = ledger.balances()
    for payment in waiting:
        balances[payment.payee_ref] = balances.get(payment.payee_ref, 0) + paid_out(payment)
    others = [payment for payment in past.values() if payment.state != "planned"]
    fresh = _planned(balances, batch, others, held_payees(ledger), limits)
    due = {payment.payee_ref: payment.amount_minor for payment in fresh.payments}
    stale = [payment for payment in waiting if payment.amount_minor > due.get(payment.payee_ref, 0)]
    if stale:
        told = ", ".join(
            f"{payment.payment_id} {format_amount(payment.amount_minor, ledger.currency)}, now "
            f"{format_amount(due.get(payment.payee_ref, 0), ledger.currency)}"
            for payment in stale[:3]
        )
        raise _stale(batch, f"{len(stale)} of its payments are above what may be paid now: {told}")
    return fresh


def _stale(batch: str, why: str) -> Refusal:
    return Refusal(
        f"batch {batch} is planned, and {why}",
        hint=f"if its file was never sent, `kina review pay mark --batch {batch} --state cancelled` and plan "
        "anew; if it was, mark it in_flight with --sent and reconcile",
    )


def _blocked(sent: Sequence[Payment]) -> Refusal:
    states = ", ".join(sorted({payment.state for payment in sent}))
    return Refusal(
        f"blocked_until_reconciled: batch {sent[0].batch} is {states}, and paying again could pay twice",
        hint=unsettled_hint(sent),
    )
