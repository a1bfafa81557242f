"""The payments of a ledger walked line by line: each step follows, and only what is owed is planned."""

from __future__ import annotations

import json
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kina_review.payrecords import LedgerEntry

PERSONS = 2
"""Who must stand by an adjustment."""
STEPS: Mapping[str, str] = {
    "": "planned",
    "planned": "in_flight cancelled confirmed failed returned refunded",
    "in_flight": "confirmed failed unknown returned refunded",
    "unknown": "confirmed failed returned refunded",
    "confirmed": "returned refunded",
    "failed": "confirmed",
    "cancelled": "confirmed",
}
"""State of a payment to the states that may follow it."""


@dataclass
class _Transfer:
    state: str = ""
    amount: int = 0
    out: int = 0


def walk_payments(entries: Iterable[LedgerEntry]) -> list[str]:
    """Return a sentence for each step of a payment that does not follow from the lines before it."""
    faults: list[str] = []
    owed: dict[str, int] = defaultdict(int)
    known: dict[str, _Transfer] = defaultdict(_Transfer)
    for entry in entries:
        if entry.kind == "payment":
            faults += _step(entry, known[entry.payment_id], owed[entry.payee_ref])
        owed[entry.payee_ref] += entry.amount_minor
    return faults


def _seen(name: str) -> str:
    """Return what of a name can be told apart on paper."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    return "".join(sign for sign in plain if sign.isprintable() and sign != " ")


def _step(entry: LedgerEntry, transfer: _Transfer, owed: int) -> list[str]:
    """Hold one step of a payment against the steps before it, and take it."""
    state, _, text = entry.reason.partition(" ")
    told = json.loads(text) if text else {}
    here = f"line {entry.seq}: payment {entry.payment_id}"
    faults = []
    persons = {_seen(told.get(key, "")) for key in ("by", "approved_by")} - {""}
    adjusted = "approved_by" in told
    if adjusted and len(persons) != PERSONS:
        faults.append(f"{here} is adjusted without a second person")
    if not adjusted and state not in STEPS.get(transfer.state, "").split():
        faults.append(f"{here} goes from {transfer.state or 'nothing'} to {state}")
    out = transfer.out - entry.amount_minor
    if state == "planned":
        transfer.amount = -entry.amount_minor
        if not 0 < transfer.amount <= owed:
            faults.append(f"{here} plans {transfer.amount} minor units where {owed} were owed")
    elif not adjusted:
        gone = state in ("failed", "cancelled", "returned", "refunded")
        wanted = 0 if gone else transfer.amount if state == "confirmed" else transfer.out
        if out != wanted:
            faults.append(f"{here} is {state} with {out} minor units out, not {wanted}")
    transfer.state, transfer.out = state, out
    return faults
