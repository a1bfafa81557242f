"""Audits: a random draw of approved items that nobody could foresee or bend afterwards.

The seed stays secret until the draw; its sha256 is published before the batch opens.
Items are drawn by HMAC-SHA256(seed, item_id), so that whoever learns the seed later can
repeat the draw, and whoever did not know it could not aim at it.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from kina_build.errors import InputError, Refusal
from kina_build.rows.jsonl import canonical
from kina_review.pay.book.ledger import Ledger
from kina_review.pay.book.opening import open_ledger
from kina_review.payrecords import LedgerEntry
from kina_review.records import Audit, Decision, Finding
from kina_review.rubric import LEAST_SEED_LENGTH

COVERS_ALL = "all:"
"""Begin of a commitment that covers more than the seed."""
RULE = "ceil(rate * N) of the approved items in the order of HMAC-SHA256(seed, item_id)"


def commit(seed: str) -> str:
    """Return the commitment to publish before the batch opens: sha256 of the seed.

    Raises:
        InputError: a seed so short that it could be guessed.
    """
    if len(seed) < LEAST_SEED_LENGTH:
        raise InputError(
            f"the audit seed has {len(seed)} characters; fewer than {LEAST_SEED_LENGTH} could be guessed",
            hint="python3 -c 'import secrets; print(secrets.token_hex(32))' makes a good one",
        )
    return hashlib.sha256(seed.encode()).hexdigest()


def commit_all(seed: str, rate: Decimal, item_ids: Iterable[str]) -> str:
    """Return a commitment to all that decides a draw: seed, rate, the items of the batch, the rule.

    Raises:
        InputError: as commit.
    """
    commit(seed)
    told = {"items": sorted(set(item_ids)), "rate": str(rate.normalize()), "rule": RULE, "seed": seed}
    return COVERS_ALL + hashlib.sha256(canonical(told).encode()).hexdigest()


def check_commitment(
    commitment: str, seed: str, rate: Decimal, approved: Sequence[str], batch: Sequence[str]
) -> bool:
    """Hold a draw against what was committed to; return whether that covers rate, list and rule too.

    Raises:
        InputError: the commitment covers the list of the batch, and none is given.
        Refusal: the seed, the rate or the list is not the one committed to.
    """
    given = commitment.strip().lower()
    if not given.startswith(COVERS_ALL):
        if commit(seed) != given:
            raise Refusal("the seed is not the one that was committed to: this draw would prove nothing")
        return False
    if not batch:
        raise InputError("the commitment covers the items of the batch", hint="give the same list by --items")
    if commit_all(seed, rate, batch) != given:
        raise Refusal(
            "seed, rate or list of items is not what was committed to: this draw would prove nothing",
            hint="give the --rate and the --items of `kina review audit commit`",
        )
    strangers = sorted(set(approved) - set(batch))
    if strangers:
        raise Refusal(f"item {strangers[0]!r} was approved, and is not of the batch that was committed to")
    return True


def draw(
    approved: Sequence[str], seed: str, rate: Decimal, commitment: str, batch: Sequence[str] = ()
) -> Audit:
    """Draw ceil(rate * N) of the approved items.

    Args:
        approved: item ids, each once, in any order.
        seed: the secret seed.
        rate: share to audit, in [0, 1].
        commitment: what was published.
        batch: all items of the batch, where the commitment covers them.

    Raises:
        InputError: an item twice, or an unusable rate or seed.
        Refusal: the seed, or what else was committed to, is another.
    """
    check_commitment(commitment, seed, rate, approved, batch)
    if len(set(approved)) != len(approved):
        raise InputError("an approved item stands more than once in the draw")
    if not 0 <= rate <= 1:
        raise InputError(f"the audit rate must lie in [0, 1], and is {rate}")
    ordered = sorted(approved, key=lambda item_id: (_lot(seed, item_id), item_id))
    size = math.ceil(Fraction(rate) * len(approved))
    told = commitment.strip().lower()
    return Audit(commitment=told, rate=rate, approved=len(approved), item_ids=tuple(ordered[:size]))


def check_first(audit: Audit, earlier: Iterable[Audit], approved: Sequence[str] = ()) -> None:
    """Check that a draw is the only one under its commitment, and the only one of its items.

    Args:
        audit: the draw.
        earlier: those made before.
        approved: the items that it was made from.

    Raises:
        Refusal: another draw was made under it, or under another commitment of some of these items.
    """
    for past in earlier:
        again = sorted(set(past.item_ids) & set(approved))
        if past.commitment != audit.commitment and again:
            raise Refusal(
                f"item {again[0]!r} was drawn before, under another commitment: a second draw is a choice",
                hint="audit the items drawn first; draw from the decisions of a new batch alone",
            )
        if past.commitment == audit.commitment and past != audit:
            raise Refusal(
                f"a draw of {len(past.item_ids)} items was made under this commitment: a second is a choice",
                hint="audit the items drawn first; a new batch needs a new seed and commitment",
            )


def approved_items(decisions: Sequence[Decision]) -> list[str]:
    """Return the ids of accepted items."""
    return sorted(decision.item_id for decision in decisions if decision.decision == "accept")


def _lot(seed: str, item_id: str) -> bytes:
    return hmac.new(seed.encode(), item_id.encode(), hashlib.sha256).digest()


def read_draws(ledger: Ledger) -> list[Audit]:
    """Return the draws that a ledger holds."""
    return [Audit.model_validate_json(entry.reason) for entry in ledger.entries("draw")]


def register_draw(path: Path, audit: Audit, approved: Sequence[str] = ()) -> None:
    """Write a draw into a ledger, once.

    Raises:
        InputError: no such ledger.
        Refusal: as check_first.
    """
    with open_ledger(path) as ledger, ledger.writing():
        known = read_draws(ledger)
        check_first(audit, known, approved)
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
