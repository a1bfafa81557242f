"""From what a ledger owes to payment files, and from a provider's list back to the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kina_build.errors import Refusal
from kina_build.rows.jsonl import write_text
from kina_build.rows.tables import read_typed
from kina_review.instants import read_moment
from kina_review.money import format_amount, parse_pay
from kina_review.pay.batch import need
from kina_review.pay.book.ledger import Ledger
from kina_review.pay.book.opening import open_ledger, seen_in
from kina_review.pay.options import PlanOptions
from kina_review.pay.payees import (
    Account,
    PaidBefore,
    PayeeBook,
    book_path,
    check_book,
    check_kept,
    payment_accounts,
    read_book,
    write_book,
)
from kina_review.pay.payments import UNDER_WAY, held_payees, read_payments, sum_states
from kina_review.pay.plans import Limits, Plan, next_plan, plan_into
from kina_review.pay.providers.files import Transfer, file_names, seen_before, token_of, write_files
from kina_review.payrecords import Step
from kina_review.spelling import check_spelling


@dataclass(frozen=True)
class Planned:
    """A batch of payments with the files that a provider reads."""

    batch: Plan
    accounts: Mapping[str, Account]
    """By payee reference."""
    texts: Sequence[str]
    files: Sequence[Path]
    """Where each text goes."""
    currency: str
    head: str
    ledger_id: str
    """What this ledger alone is called, wherever it lies."""

    @property
    def report(self) -> dict[str, Any]:
        """Return payments and what stays behind, in major units."""
        return {
            "batch": self.batch.batch,
            "total": self._amount(self.batch.total_minor),
            "currency": self.currency,
            "payments": [
                {
                    "payment_id": payment.payment_id,
                    "account": self.accounts[payment.payee_ref].account,
                    "amount": self._amount(payment.amount_minor),
                    "state": payment.state,
                }
                for payment in self.batch.payments
            ],
            "carried": [
                {"payee_ref": c.payee_ref, "amount": self._amount(c.amount_minor), "why": c.reason}
                for c in self.batch.carried
            ],
            "files": [str(path) for path in self.files],
            "ledger_id": self.ledger_id,
            "ledger_head": self.head,
        }

    def __str__(self) -> str:
        """Return the batch in a line."""
        due = f"{self._amount(self.batch.total_minor)} {self.currency}"
        return f"batch {self.batch.batch}: {due} to {len(self.batch.payments)} payees"

    def write(self) -> None:
        """Write the provider's files, readable by their owner only.

        Raises:
            Refusal: another file stands where one of them goes.
        """
        for path, text in zip(self.files, self.texts, strict=True):
            if path.exists() and path.read_bytes() != text.encode():
                raise Refusal(
                    f"{path}: another file stands there", hint="move it away, or name another output"
                )
        for path, text in zip(self.files, self.texts, strict=True):
            write_text(path, text, private=True)

    def _amount(self, minor: int) -> str:
        return format_amount(minor, self.currency)


def plan_payments(options: PlanOptions, per_file: int, claim: Callable[[Sequence[Path]], None]) -> Planned:
    """Plan the payment of all that is owed; the texts of the provider's files are returned.

    What no provider takes is never planned: the files are made, and their places claimed, first.

    Args:
        options: ledger, output, provider, accounts, cap; with dry_run nothing is planned.
        per_file: payments that a provider takes in one file.
        claim: told the files that will be written, and refuses a place that is not ours.

    Raises:
        InputError: an unreadable file or a bad amount.
        Refusal: as next_plan, an account is missing, or the batch was planned for another provider.
    """
    ledger, output = need(options.ledger, "ledger"), need(options.output, "output")
    provider = options.provider or "csv"
    with open_ledger(ledger, seen_before(output, ledger)) as money:
        beside = output.parent.resolve() == ledger.parent.resolve()
        others = [] if beside else seen_in(output.parent, money)
        if others:
            money.verify(beside=others)
        book = read_book(book_path(ledger))
        limits = _limits(money, book, options)
        batch = next_plan(money, book.payees, limits)
        accounts = _accounts(book, money, batch, provider, options.payees)
        texts = write_files(_transfers(money, batch, accounts), provider, per_file)
        claim(file_names(output, len(texts)))
        if not options.dry_run and batch.payments:
            steps = _steps(money, accounts, provider, limits)
            batch = plan_into(money, book.payees, limits, steps)
            texts = write_files(_transfers(money, batch, accounts), provider, per_file)
        files = file_names(output, len(texts))
        return Planned(batch, accounts, texts, files, money.currency, str(money.head()), money.public_id)


def _limits(money: Ledger, book: PayeeBook, options: PlanOptions) -> Limits:
    had: Counter[str] = Counter()
    before = read_typed(options.paid_before, PaidBefore) if options.paid_before else []
    check_spelling("payee", {*book.payees.values(), *(row.payee_id for row in before)})
    if before and not {row.payee_id for row in before} & set(book.payees.values()):
        raise Refusal(
            f"no payee of {options.paid_before} is one of this ledger, such as {before[0].payee_id!r}",
            hint="ids must be equal letter for letter: is it the list of other people?",
        )
    for row in before:
        had[book.ref(row.payee_id)] += parse_pay(row.amount, money.currency, "an amount in --paid-before")
    return Limits(
        cap_minor=None if options.cap is None else parse_pay(options.cap, money.currency, "--cap"),
        paid_before=dict(had),
        since="" if options.since is None else write_moment(read_moment(options.since, "--since")),
    )


def write_moment(moment: datetime) -> str:
    """Return an instant as lines of the ledger hold it."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _steps(money: Ledger, accounts: Mapping[str, Account], provider: str, limits: Limits) -> dict[str, Step]:
    """Keep the accounts in the payee book, and return what each payment is planned with."""
    path = book_path(money.path)
    with money.writing():
        known = read_book(path)
        book = known.with_accounts(accounts.values())
        if book != known:
            write_book(path, book)
    at = write_moment(datetime.now(UTC))
    return {
        ref: Step(provider=provider, account=book.account_ref(account), at=at, cap_minor=limits.cap_minor)
        for ref, account in accounts.items()
    }


def _transfers(money: Ledger, batch: Plan, accounts: Mapping[str, Account]) -> list[Transfer]:
    return [
        Transfer(
            payment_id=payment.payment_id,
            account=accounts[payment.payee_ref].account,
            amount_minor=payment.amount_minor,
            currency=money.currency,
            token=token_of(money.genesis, payment.payment_id),
            assignment_id=accounts[payment.payee_ref].assignment_id,
        )
        for payment in batch.payments
    ]


def _accounts(
    book: PayeeBook, money: Ledger, batch: Plan, provider: str, paths: Sequence[Path]
) -> dict[str, Account]:
    check_book(book, money.key_check)
    listed = read_accounts(paths)
    accounts = payment_accounts(book, batch.payments, listed)
    others = {payment.planned.provider for payment in batch.payments} - {"", provider}
    if others:
        raise Refusal(
            f"batch {batch.batch} was planned for {others.pop()}, not {provider}",
            hint="two files of a batch would pay twice: cancel it if its file was never sent, and plan anew",
        )
    check_kept(accounts.values(), listed)
    return accounts


def read_accounts(paths: Sequence[Path]) -> list[Account]:
    """Read the accounts of payees at a provider.

    Raises:
        InputError: an unreadable file.
    """
    return read_typed(paths, Account) if paths else []


def report_payments(ledger: Path) -> dict[str, Any]:
    """Return what is owed, and the state of every batch.

    Raises:
        InputError: no such ledger.
        Refusal: it was changed.
    """
    with open_ledger(ledger) as money:
        payments = read_payments(money.entries("payment"))
        balances = money.balances()

        def amount(minor: int) -> str:
            return format_amount(minor, money.currency)

        return {
            "currency": money.currency,
            "owed": amount(sum(v for v in balances.values() if v > 0)),
            "overpaid": amount(-sum(v for v in balances.values() if v < 0)),
            "batches": [
                {"batch": batch, "state": state, "payments": count, "amount": amount(sum_)}
                for (batch, state), (count, sum_) in sum_states(payments.values()).items()
            ],
            "held": len(held_payees(money)),
            "under_way": [
                {
                    "payment_id": payment.payment_id,
                    "state": payment.state,
                    "amount": amount(payment.amount_minor),
                }
                for payment in payments.values()
                if payment.state in UNDER_WAY
            ],
            "ledger_head": str(money.head()),
        }
