"""Payments as a state machine: planned, in flight, paid, failed, unknown, returned. All of it in the ledger.

Planning takes the amount off what is owed in the same transaction, so nothing can be
planned twice; only a payment that failed or came back puts it back. A payee whose payment is
under way, or whose pay is held, waits; the others go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kina_build.errors import InputError, Refusal
from kina_build.jsonl import canonical
from kina_review.money import cap, format_amount
from kina_review.pay.holds import held_payees
from kina_review.pay.ledger import Ledger
from kina_review.records import LedgerEntry, Payment, PaymentState, Step

NEXT: Mapping[PaymentState, frozenset[PaymentState]] = {
    "planned": frozenset({"in_flight", "cancelled", "confirmed", "failed", "returned", "refunded"}),
    "in_flight": frozenset({"confirmed", "failed", "unknown", "returned", "refunded"}),
    "unknown": frozenset({"confirmed", "failed", "returned", "refunded"}),
    "confirmed": frozenset({"returned", "refunded"}),
    "failed": frozenset({"confirmed"}),
    "cancelled": frozenset({"confirmed"}),
    "returned": frozenset(),
    "refunded": frozenset(),
}
"""States that may follow a state."""
GIVEN_BACK: frozenset[PaymentState] = frozenset({"failed", "cancelled", "returned", "refunded"})
"""States in which the amount is owed again."""
UNDER_WAY: frozenset[PaymentState] = frozenset({"planned", "in_flight", "unknown"})
SENT: frozenset[PaymentState] = frozenset({"in_flight", "unknown"})
"""States in which nobody knows yet whether the payee has the money."""


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


def read_payments(entries: Iterable[LedgerEntry]) -> dict[str, Payment]:
    """Fold the ledger's payment lines into payments with their present state.

    Raises:
        Refusal: a line that does not follow from the ones before it.
    """
    found: dict[str, Payment] = {}
    for entry in entries:
        before = found.get(entry.payment_id)
        state, step = read_step(entry.reason)
        if before is None:
            payment = Payment(
                payment_id=entry.payment_id,
                batch=entry.payment_id.partition("-")[0],
                payee_ref=entry.payee_ref,
                amount_minor=-entry.amount_minor,
                state="planned",
                planned=step,
            )
        else:
            if not step.approved_by:  # an adjustment books what is, from whatever state
                _check_move(before, state)
            payment = before.model_copy(
                update={
                    "state": state,
                    "paid_out_minor": paid_out(before) - entry.amount_minor,
                    "transactions": (*before.transactions, *filter(None, [step.transaction])),
                }
            )
        found[entry.payment_id] = payment
    return found


def read_step(reason: str) -> tuple[PaymentState, Step]:
    """Return the state and the evidence that a payment's line holds; older lines hold a state only."""
    state, _, text = reason.partition(" ")
    return state, Step.model_validate_json(text) if text else Step()  # type: ignore[return-value]


def write_step(state: PaymentState, step: Step) -> str:
    """Return a line's reason: the state, and its evidence as JSON where there is any."""
    told = step.model_dump(mode="json", exclude_defaults=True)
    return f"{state} {canonical(told)}" if told else state


def paid_out(payment: Payment) -> int:
    """Return what a payment takes off what is owed, in minor units."""
    if payment.paid_out_minor is not None:
        return payment.paid_out_minor
    return 0 if payment.state in GIVEN_BACK else payment.amount_minor


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


def move(
    ledger: Ledger, states: Mapping[str, PaymentState], steps: Mapping[str, Step] | None = None
) -> list[Payment]:
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
            target = 0 if state in GIVEN_BACK else payment.amount_minor if state == "confirmed" else None
            amount = 0 if target is None else paid_out(payment) - target
            lines.append(step_line(payment, state, amount, (steps or {}).get(payment_id, Step())))
        ledger.append(lines)
        now = read_payments(ledger.entries("payment"))
    return [now[payment_id] for payment_id in sorted(states)]


def adjust(ledger: Ledger, payment_id: str, paid_minor: int, step: Step) -> Payment:
    """Book what a payment really paid, for a reason that a second person stands by.

    Raises:
        InputError: a negative amount, no reason, or no two persons.
        Refusal: no such payment, or the ledger says so already.
    """
    if paid_minor < 0:
        raise InputError("what was paid cannot be below zero")
    persons = {step.by.strip().casefold(), step.approved_by.strip().casefold()} - {""}
    if not step.why.strip() or len(persons) != 2:
        raise InputError(
            "an adjustment needs a reason and two different persons",
            hint="--reason TEXT --by NAME --approved-by ANOTHER",
        )
    with ledger.writing():
        past = read_payments(ledger.entries("payment"))
        if payment_id not in past:
            raise Refusal(
                f"{ledger.name}: no payment {payment_id!r}", hint="`kina review pay status` lists them"
            )
        payment = past[payment_id]
        state: PaymentState = "confirmed" if paid_minor else "failed"
        if state == payment.state and paid_out(payment) == paid_minor:
            raise Refusal(f"payment {payment_id} stands as {state} with that amount already")
        line = step_line(payment, state, paid_out(payment) - paid_minor, step)
        ledger.append([line])
        return read_payments(ledger.entries("payment"))[payment_id]


def batch_payments(ledger: Ledger, batch: str) -> list[Payment]:
    """Return the payments of a batch.

    Raises:
        Refusal: no such batch.
    """
    payments = [p for p in read_payments(ledger.entries("payment")).values() if p.batch == batch]
    if not payments:
        raise Refusal(f"{ledger.name}: no batch {batch!r}", hint="`kina review pay status` lists them")
    return payments


def move_batch(ledger: Ledger, batch: str, state: PaymentState, step: Step | None = None) -> list[Payment]:
    """Move all payments of a batch that can get to a state.

    Raises:
        Refusal: no such batch, or none of its payments can.
    """
    payments = batch_payments(ledger, batch)
    able = [payment for payment in payments if state in NEXT[payment.state]]
    if not able:
        states = ", ".join(sorted({payment.state for payment in payments}))
        raise Refusal(f"batch {batch} is {states}: it cannot become {state}", hint=_hint(payments))
    moved = {payment.payment_id: state for payment in able}
    return move(ledger, moved, dict.fromkeys(moved, step or Step()))


def sum_states(payments: Iterable[Payment]) -> dict[tuple[str, PaymentState], tuple[int, int]]:
    """Return, by batch and state, how many payments there are and their sum in minor units."""
    sums: dict[tuple[str, PaymentState], tuple[int, int]] = {}
    for payment in payments:
        count, amount = sums.get((payment.batch, payment.state), (0, 0))
        own = paid_out(payment) if payment.state == "confirmed" else payment.amount_minor
        sums[payment.batch, payment.state] = (count + 1, amount + own)
    return dict(sorted(sums.items()))


def _resume(ledger: Ledger, past: Mapping[str, Payment], waiting: Sequence[Payment], limits: Limits) -> Plan:
    """Return a batch that was planned and not sent, if it would still be planned so.

    Raises:
        Refusal: a correction, a hold or another cap made it stale.
    """
    batch = waiting[0].batch
    balances = ledger.balances()
    for payment in waiting:
        balances[payment.payee_ref] = balances.get(payment.payee_ref, 0) + paid_out(payment)
    others = [payment for payment in past.values() if payment.state != "planned"]
    fresh = _planned(balances, batch, others, held_payees(ledger), limits)
    due = {payment.payee_ref: payment.amount_minor for payment in fresh.payments}
    stale = [payment for payment in waiting if payment.amount_minor > due.get(payment.payee_ref, 0)]
    caps = {payment.planned.cap_minor for payment in waiting if payment.planned.account}
    if stale:
        told = ", ".join(
            f"{payment.payment_id} {format_amount(payment.amount_minor, ledger.currency)}, now "
            f"{format_amount(due.get(payment.payee_ref, 0), ledger.currency)}"
            for payment in stale[:3]
        )
        raise _stale(batch, f"{len(stale)} of its payments are above what may be paid now: {told}")
    if caps and caps != {limits.cap_minor}:
        raise _stale(batch, "it was planned under another --cap")
    return Plan(batch, tuple(waiting), fresh.carried, fresh=False)


def _stale(batch: str, why: str) -> Refusal:
    return Refusal(
        f"batch {batch} is planned, and {why}",
        hint=f"if its file was never sent, `kina review pay mark --batch {batch} --state cancelled` and plan "
        "anew; if it was, mark it in_flight and reconcile",
    )


def _blocked(sent: Sequence[Payment]) -> Refusal:
    states = ", ".join(sorted({payment.state for payment in sent}))
    return Refusal(
        f"blocked_until_reconciled: batch {sent[0].batch} is {states}, and paying again could pay twice",
        hint=_hint(sent),
    )


def _hint(payments: Sequence[Payment]) -> str:
    return (
        f"`kina review pay reconcile --batch {payments[0].batch} --provider-list FILE` settles what was "
        "paid; `kina review pay adjust` books an amount that differs"
    )


def _check_move(payment: Payment, state: str) -> None:
    if state not in NEXT[payment.state]:
        raise Refusal(f"payment {payment.payment_id} is {payment.state}: it cannot become {state}")


def step_line(payment: Payment, state: PaymentState, amount_minor: int, step: Step) -> LedgerEntry:
    """Return the line of one step of a payment."""
    return LedgerEntry(
        seq=0,
        kind="payment",
        payee_ref=payment.payee_ref,
        amount_minor=amount_minor,
        reason=write_step(state, step),
        payment_id=payment.payment_id,
    )
