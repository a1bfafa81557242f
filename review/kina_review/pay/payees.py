"""Who is paid: the private file that turns the ledger's references into payees.

The ledger holds HMAC references only, so that it can be shown around. The key and the
payee ids lie in a file beside it that only its owner can read.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from kina_build.errors import InputError, Refusal
from kina_build.rows.jsonl import canonical, dump_document, read_document, writing
from kina_build.rows.outputs import open_part, sweep
from kina_review.payrecords import Payment
from kina_review.records import Id, Record
from kina_review.spelling import check_spelling

REF_HEX_DIGITS = 32
OTHERS = 0o077
"""Permission bits of everybody but the owner."""


class Account(Record):
    """How a provider knows one payee."""

    payee_id: Id
    account: Id
    assignment_id: str = ""
    """MTurk only: an assignment that the worker did."""


class PayeeBook(Record):
    """Payee ids and accounts by reference, and the key that makes references."""

    key: Annotated[str, StringConstraints(pattern=r"^([0-9a-fA-F]{2})+$")]
    """Hexadecimal digits."""
    payees: dict[str, str] = Field(default_factory=dict)
    """Reference to payee id."""
    accounts: dict[str, Account] = Field(default_factory=dict)
    """Reference to the account that a payment was planned for."""

    def ref(self, payee_id: str) -> str:
        """Return the reference of a payee."""
        return _hmac(self.key, f"payee|{payee_id}")

    def account_ref(self, account: Account) -> str:
        """Return the reference of an account."""
        return _hmac(self.key, canonical(["account", account.account, account.assignment_id]))

    @property
    def check(self) -> str:
        """Return the proof that a ledger was begun with this key."""
        return _hmac(self.key, "check")

    def with_payees(self, payee_ids: Iterable[str]) -> PayeeBook:
        """Return the book with more payees in it."""
        more = {self.ref(payee_id): payee_id for payee_id in payee_ids}
        return self.model_copy(update={"payees": dict(sorted((self.payees | more).items()))})

    def with_accounts(self, accounts: Iterable[Account]) -> PayeeBook:
        """Return the book with more accounts in it."""
        more = {self.account_ref(account): account for account in accounts}
        return self.model_copy(update={"accounts": dict(sorted((self.accounts | more).items()))})


def book_path(ledger: Path) -> Path:
    """Return where a ledger's payee book lies: pay.db -> pay.db.payees.json."""
    return ledger.with_name(ledger.name + ".payees.json")


def begin_book(path: Path) -> PayeeBook:
    """Read the book at a path, or begin one there with a fresh key; safe for two processes at once.

    Raises:
        InputError: the file cannot be made, or is something else.
        Refusal: it was changed, or others on this machine may read it.
    """
    try:
        sweep(path)
        if not path.exists():
            _begin(path)
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror or error}") from None
    return read_book(path)


def _begin(path: Path) -> None:
    handle, part = open_part(path)
    with os.fdopen(handle, "wb") as out:
        out.write(dump_document(PayeeBook(key=secrets.token_hex(32))).encode())
        out.flush()
        os.fsync(out.fileno())
        try:
            # a link is made whole or not at all, and never over a file of another process
            path.hardlink_to(part)
        except FileExistsError:
            pass
        except OSError as error:
            raise InputError(f"{path}: cannot write: {error.strerror or error}") from None
        finally:
            part.unlink()


def read_book(path: Path) -> PayeeBook:
    """Read a payee book.

    Raises:
        InputError: malformed.
        Refusal: it is missing or was changed, or others on this machine may read it.
    """
    if not path.exists():
        raise Refusal(
            f"{path}: is missing, and without it nobody can tell who is paid",
            hint="restore the .payees.json file that was beside the ledger",
        )
    book = read_document(path, PayeeBook)
    if path.stat().st_mode & OTHERS:
        raise Refusal(f"{path}: others may read it", hint=f"chmod 600 {path.name}")
    _check_refs(path, book)
    return book


def _check_refs(path: Path, book: PayeeBook) -> None:
    """Refuse a book in which a reference stands for somebody else than it was made of."""
    wrong = [name for ref, name in book.payees.items() if book.ref(name) != ref]
    wrong += [one.account for ref, one in book.accounts.items() if book.account_ref(one) != ref]
    if wrong:
        raise Refusal(
            f"{path}: {wrong[0]!r} stands under a reference that is not theirs: the file was changed",
            hint="restore the .payees.json file that was beside the ledger",
        )


def check_book(book: PayeeBook, key_check: str) -> None:
    """Check that a book belongs to the ledger of a key check.

    Raises:
        Refusal: it does not.
    """
    if book.check != key_check:
        raise Refusal(
            "the payee book does not belong to this ledger",
            hint="restore the .payees.json file that was beside the ledger when it was begun",
        )


def write_book(path: Path, book: PayeeBook) -> None:
    """Write a payee book, readable by its owner only."""
    with writing(path, private=True) as out:
        out.write(dump_document(book).encode())


def _hmac(key: str, message: str) -> str:
    return hmac.new(bytes.fromhex(key), message.encode(), hashlib.sha256).hexdigest()[:REF_HEX_DIGITS]


class PaidBefore(Record):
    """What a payee had in the period before this ledger."""

    payee_id: Id
    amount: Decimal
    """In major units."""


def match_accounts(
    book: PayeeBook, refs: Iterable[str], accounts: Iterable[Account] = ()
) -> dict[str, Account]:
    """Return the account of each payee reference; without a list, the payee's own id.

    Raises:
        Refusal: a payee without an account, two accounts for one payee, or one for two.
    """
    listed: dict[str, Account] = {}
    accounts = list(accounts)
    if accounts:
        check_spelling("payee", {*book.payees.values(), *(one.payee_id for one in accounts)})
    for account in accounts:
        if listed.setdefault(account.payee_id, account) != account:
            raise Refusal(f"payee {account.payee_id!r} has two accounts in the --payees file")
    found: dict[str, Account] = {}
    for ref in sorted(refs):
        if ref not in book.payees:
            raise Refusal(f"the payee book does not know {ref}", hint="restore the .payees.json file")
        payee_id = book.payees[ref]
        if listed and payee_id not in listed:
            raise Refusal(
                f"payee {payee_id!r} has no account in the --payees file",
                hint="ids must be equal letter for letter; leading zeros and case count",
            )
        found[ref] = listed.get(payee_id, Account(payee_id=payee_id, account=payee_id))
    names = [account.account for account in found.values()]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Refusal(f"account {twice!r} belongs to two payees", hint="give them one payee_id")
    check_spelling("account", names)
    return found


def payment_accounts(
    book: PayeeBook, payments: Sequence[Payment], listed: Sequence[Account] = ()
) -> dict[str, Account]:
    """Return the account of each payment's payee: the one it was planned for, where the ledger tells.

    Raises:
        Refusal: as match_accounts, or the payee book lost an account.
    """
    kept: dict[str, Account] = {}
    for payment in payments:
        if payment.planned.account:
            if payment.planned.account not in book.accounts:
                raise Refusal(
                    f"the payee book does not know the account of payment {payment.payment_id}",
                    hint="restore the .payees.json file",
                )
            kept[payment.payee_ref] = book.accounts[payment.planned.account]
    rest = {payment.payee_ref for payment in payments} - kept.keys()
    return kept | (match_accounts(book, rest, listed) if rest else {})


def check_kept(kept: Iterable[Account], listed: Iterable[Account]) -> None:
    """Check that a list names no other account than a payment was planned for.

    Raises:
        Refusal: it does.
    """
    now = {account.payee_id: account for account in listed}
    for account in kept:
        if now.get(account.payee_id, account) != account:
            raise Refusal(
                f"payee {account.payee_id!r} was planned with account {account.account!r}, and the --payees "
                f"file says {now[account.payee_id].account!r}",
                hint="cancel the batch if its file was never sent, and plan anew",
            )


def other_names(book: PayeeBook, kept: Mapping[str, Account], listed: Iterable[Account]) -> dict[str, str]:
    """Return other accounts of payees in a batch, to the account that each was planned for.

    A batch may have been planned by plain ids, and paid to the accounts of a list.
    """
    taken = {account.account for account in kept.values()}
    return {
        account.account: kept[book.ref(account.payee_id)].account
        for account in listed
        if book.ref(account.payee_id) in kept and account.account not in taken
    }
