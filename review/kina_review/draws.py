"""Draws of audits in the ledger: one under a commitment, and findings on drawn items only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kina_build.errors import Refusal
from kina_build.jsonl import canonical
from kina_review.audit import check_first
from kina_review.ledger import Ledger, open_ledger
from kina_review.records import Audit, Finding, LedgerEntry


def read_draws(ledger: Ledger) -> list[Audit]:
    """Return the draws that a ledger holds."""
    return [Audit.model_validate_json(entry.reason) for entry in ledger.entries("draw")]


def register_draw(path: Path, audit: Audit) -> None:
    """Write a draw into a ledger, once.

    Raises:
        InputError: no such ledger.
        Refusal: another draw was made under its commitment.
    """
    with open_ledger(path) as ledger, ledger.writing():
        known = read_draws(ledger)
        check_first(audit, known)
        if audit not in known:
            reason = canonical(audit.model_dump(mode="json"))
            ledger.append([LedgerEntry(seq=0, kind="draw", reason=reason)])


def undrawn(draws: Sequence[Audit], findings: Sequence[Finding]) -> list[str]:
    """Return the items of findings that no draw shows; empty where every finding was drawn.

    Raises:
        Refusal: there are draws, and a finding is on an item that none of them drew.
    """
    drawn = {item_id for audit in draws for item_id in audit.item_ids}
    found = sorted({finding.item_id for finding in findings} - drawn)
    if draws and found:
        raise Refusal(
            f"a finding on item {found[0]!r}, which was not drawn",
            hint="only drawn items may cost anybody money",
        )
    return found
