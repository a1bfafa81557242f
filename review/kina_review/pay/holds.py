"""Pay that is held: its evidence was contradicted, and nobody has said yet which version is right."""

from __future__ import annotations

from collections.abc import Iterable

from kina_review.pay.ledger import Ledger
from kina_review.records import LedgerEntry

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
