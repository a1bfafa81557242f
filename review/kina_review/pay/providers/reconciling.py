"""A provider's list held against a batch of a ledger: the only way out of "unknown"."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from kina_build.errors import Refusal
from kina_build.rows.source import open_source
from kina_build.rows.tables import read_typed
from kina_review.pay.book.opening import open_ledger
from kina_review.pay.payees import Account, book_path, check_book, other_names, payment_accounts, read_book
from kina_review.pay.payments import UNDER_WAY, batch_payments, move, read_payments
from kina_review.pay.providers.files import CURRENCIES
from kina_review.pay.providers.judging import Proof, reconcile
from kina_review.pay.providers.lists import read_provider_list
from kina_review.payrecords import Payment


def reconcile_list(
    ledger: Path,
    batch: str | None,
    provider_list: Path,
    payees: Sequence[Path] = (),
    *,
    columns: Mapping[str, str] | None = None,
    complete: bool = False,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Hold a provider's list against a batch of a ledger, and book what it proves; return the report.

    Args:
        ledger: its file.
        batch: the batch's name; None is the only one under way.
        provider_list: the provider's list of this batch.
        payees: lists of other accounts of the payees.
        columns: what a column of the list is called there, to what it is called here.
        complete: what is not on the list was not paid.
        dry_run: book nothing.

    Raises:
        InputError: an unreadable file.
        Refusal: no such batch, several under way, or a ledger that was changed.
    """
    listed_there = read_provider_list(provider_list, columns)
    with open_ledger(ledger) as money:
        book = read_book(book_path(ledger))
        check_book(book, money.key_check)
        past = read_payments(money.entries("payment"))
        payments = batch_payments(money, batch or _under_way(past))
        listed = read_typed(payees, Account) if payees else []
        accounts = payment_accounts(book, payments, listed)
        names = other_names(book, accounts, listed)
        _check_provider(payments, listed_there.provider)
        if complete and listed_there.goes_on:
            raise Refusal(
                f"{provider_list}: is not complete: {listed_there.goes_on}",
                hint="fetch the rest, and give the whole list; without --complete what is on it is booked",
            )
        booked = {key: one.payment_id for one in past.values() for key in one.transactions}
        own = {payment.payment_id for payment in payments}
        rows = [
            row.model_copy(update={"payee_id": names.get(row.payee_id.strip(), row.payee_id)})
            for row in listed_there.news(booked, own, _planned_at(payments))
        ]
        proof = Proof(
            money.currency,
            complete=complete,
            booked=booked,
            assignments={one.account: one.assignment_id for one in accounts.values()},
            list_sha256=hashlib.sha256(open_source(provider_list).data).hexdigest(),
        )
        result = reconcile(payments, {ref: one.account for ref, one in accounts.items()}, rows, proof)
        if not dry_run and result.states:
            move(money, result.states, result.steps)
        return {
            "batch": payments[0].batch,
            "states": result.states,
            "problems": list(result.problems),
            "open": [
                p.payment_id for p in payments if p.state in UNDER_WAY and p.payment_id not in result.states
            ],
            "dry_run": dry_run,
            "ledger_head": str(money.head()),
        }


def _under_way(past: Mapping[str, Payment]) -> str:
    found = sorted({payment.batch for payment in past.values() if payment.state in UNDER_WAY})
    if len(found) != 1:
        told = f"batches {', '.join(found)} are under way" if found else "no batch is under way"
        raise Refusal(f"{told}: which one is the list of?", hint="name it with --batch")
    return found[0]


def _check_provider(payments: Sequence[Payment], provider: str) -> None:
    """Refuse a list of another provider than the batch was planned for."""
    planned = {payment.planned.provider for payment in payments} & CURRENCIES.keys()
    if provider and planned - {provider}:
        raise Refusal(
            f"batch {payments[0].batch} was planned for {', '.join(sorted(planned))}, and this is a list of "
            f"{provider}",
            hint="give the list of the provider that the batch's file was sent to",
        )


def _planned_at(payments: Sequence[Payment]) -> datetime | None:
    moments = [payment.planned.at for payment in payments if payment.planned.at]
    return datetime.fromisoformat(min(moments)) if moments else None
