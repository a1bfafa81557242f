"""Payments as a state machine: planned, in flight, paid, failed, unknown, returned. All of it in the ledger.

Planning takes the amount off what is owed in the same transaction, so nothing can be
planned twice; only a payment that failed or came back puts it back. A payee whose payment is
under way, or whose pay is held, waits; the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kina_build.errors import InputError, Refusal
from kina_build.rows.jsonl import canonical
from kina_review.pay.book.ledger import Ledger
from kina_review.payrecords import LedgerEntry, Payment, PaymentState, Step
from kina_review.spelling import fold

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


Check = Callable[[Ledger, Sequence[Payment]], None]
"""Refuses to move payments of a ledger; called while nobody else can write to it."""


def move(
    ledger: Ledger,
    states: Mapping[str, PaymentState],
    steps: Mapping[str, Step] | None = None,
    check: Check | None = None,
) -> list[Payment]:
    """Move payments to new states in one transaction; return them as they are then.

    Raises:
        Refusal: no such payment, or the state cannot follow, or as check.
    """
    with ledger.writing():
        past = read_payments(ledger.entries("payment"))
        if check is not None:
            check(ledger, [past[name] for name in states if name in past])
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
    persons = {fold(step.by), fold(step.approved_by)} - {""}
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


def move_batch(
    ledger: Ledger, batch: str, state: PaymentState, step: Step | None = None, check: Check | None = None
) -> list[Payment]:
    """Move all payments of a batch that can get to a state.

    Raises:
        Refusal: no such batch, or none of its payments can, or as check.
    """
    payments = batch_payments(ledger, batch)
    able = [payment for payment in payments if state in NEXT[payment.state]]
    if not able:
        states = ", ".join(sorted({payment.state for payment in payments}))
        raise Refusal(f"batch {batch} is {states}: it cannot become {state}", hint=unsettled_hint(payments))
    moved = {payment.payment_id: state for payment in able}
    return move(ledger, moved, dict.fromkeys(moved, step or Step()), check)


def sum_states(payments: Iterable[Payment]) -> dict[tuple[str, PaymentState], tuple[int, int]]:
    """Return, by batch and state, how many payments there are and their sum in minor units."""
    sums: dict[tuple[str, PaymentState], tuple[int, int]] = {}
    for payment in payments:
        count, amount = sums.get((payment.batch, payment.state), (0, 0))
        own = paid_out(payment) if payment.state == "confirmed" else payment.amount_minor
        sums[payment.batch, payment.state] = (count + 1, amount + own)
    return dict(sorted(sums.items()))


def unsettled_hint(payments: Sequence[Payment]) -> str:
    """Return what to do about payments of which nobody knows yet whether they arrived."""
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


HELD, FREED = "held", "freed"


HoldKey = tuple[str, str, str, str]
"""item_id, round, reviewer_id, payee_ref."""


def open_holds(entries: Iterable[LedgerEntry]) -> set[HoldKey]:
    """Return the holds that no later line freed."""
    found: set[HoldKey] = set()
    for entry in entries:
        key = (entry.item_id, entry.round, entry.reviewer_id, entry.payee_ref)
        if entry.reason == HELD:
            found.add(key)
        else:
            found.discard(key)
    return found


def held_payees(ledger: Ledger) -> set[str]:
    """Return the payees who wait until a contradiction is cleared up."""
    return {key[3] for key in open_holds(ledger.entries("hold"))}


def hold_line(key: HoldKey, word: str) -> LedgerEntry:
    """Return the line that holds a reviewer's pay of an item, or frees it."""
    item_id, round_, reviewer_id, ref = key
    return LedgerEntry(
        seq=0, kind="hold", item_id=item_id, round=round_, reviewer_id=reviewer_id, payee_ref=ref, reason=word
    )
