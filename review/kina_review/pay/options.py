"""What the commands of money are told: payments, the ledger, statements."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kina_build.options import Role, dry_run, limit, option
from kina_review.tournament.options import batch_file, items_file, scarcity_file


def ledger() -> Any:
    """Declare --ledger."""
    return option(help="Ledger that `kina review settle` posts to.", role=Role.kept)


def ledger_or_batch() -> Any:
    """Declare --ledger of a command that a batch file can tell it."""
    return option(None, help="Ledger that `kina review settle` posts to.", role=Role.kept)


def payees() -> Any:
    """Declare --payees."""
    return option(
        (),
        help="Accounts at the provider: payee_id, account, assignment_id (MTurk); repeatable.",
        role=Role.kept,
    )


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """Options of `kina review pay plan`."""

    batch_file: Path | None = batch_file()
    ledger: Path | None = ledger_or_batch()
    output: Path | None = option(None, "-o", help="Payment file; with a number if several.", role=Role.output)
    provider: Literal["prolific", "mturk", "csv"] | None = option(
        None, help="Whose payment file to write; csv if not given."
    )
    payees: tuple[Path, ...] = payees()
    cap: str | None = option(None, help="Most that one payee may get in the period.")
    paid_before: Path | None = option(
        None, help="Had in the period already: payee_id, amount.", role=Role.kept
    )
    since: str | None = option(
        None, help="Begin of the period of --cap (UTC); else all that the ledger ever paid counts."
    )
    dry_run: bool = dry_run()


@dataclass(frozen=True, kw_only=True)
class MarkOptions:
    """Options of `kina review pay mark`."""

    ledger: Path = ledger()
    batch: str = option(help="Batch of payments, such as b0001.")
    state: Literal["in_flight", "unknown", "cancelled"] = option(
        help="in_flight before you send it; unknown when the answer never came; cancelled if never sent.",
    )
    sent: bool = option(
        False,
        "--sent",
        help="With in_flight: its file was sent before what is owed changed; reconcile it then.",
    )


@dataclass(frozen=True, kw_only=True)
class ReconcileOptions:
    """Options of `kina review pay reconcile`."""

    batch_file: Path | None = batch_file()
    ledger: Path | None = ledger_or_batch()
    batch: str | None = option(
        None, help="Batch of payments, such as b0001; the one under way, if there is one, when not given."
    )
    provider_list: Path = option(
        help="The provider's list of this batch: JSON of Prolific, MTurk, PayPal or Wise as their API gives "
        "it, or a table of payee_id, amount, status.",
        role=Role.input,
    )
    column: tuple[str, ...] = option(
        (), help="THEIRS=OURS: what a column of the list is called there; repeatable."
    )
    payees: tuple[Path, ...] = payees()
    complete: bool = option(False, "--complete", help="The list is final: what is not on it was not paid.")
    dry_run: bool = dry_run()


@dataclass(frozen=True, kw_only=True)
class AdjustOptions:
    """Options of `kina review pay adjust`."""

    ledger: Path = ledger()
    payment: str = option(help="A payment, such as b0001-00001.")
    paid: str = option(help="What it really paid in all, such as 11.49.")
    reason: str = option(help="Why the amount differs.")
    by: str = option(help="Who books it.")
    approved_by: str = option(help="The second person who stands by it.")
    transaction: str = option("", help="The provider's id of the transfer.")


@dataclass(frozen=True, kw_only=True)
class LedgerOptions:
    """Options of a command that only reads a ledger."""

    ledger: Path = ledger()


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """Options of `kina review ledger verify`."""

    ledger: Path = ledger()
    against: tuple[Path, ...] = option(
        (), help="An earlier statement or payment manifest; may be repeated.", role=Role.input
    )


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """Options of `kina review ledger audit`."""

    batch_file: Path | None = batch_file()
    ledger: Path | None = ledger_or_batch()
    reviews: tuple[Path, ...] = option(
        (), help="All reviews that the ledger was settled by; repeatable.", role=Role.input
    )
    scores: tuple[Path, ...] = option(
        (), help="Their scores, as `settle` had them; repeatable.", role=Role.input
    )
    findings: tuple[Path, ...] = option(
        (), help="All audit findings that it had; repeatable.", role=Role.input
    )
    scarcity: Path | None = scarcity_file()
    items: Path | None = items_file()


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """Options of `kina review ledger show`."""

    ledger: Path = ledger()
    limit: int | None = limit()


@dataclass(frozen=True, kw_only=True)
class StatementOptions:
    """Options of `kina review statement`."""

    ledger: Path = option(help="Ledger that `kina review settle` posts to.", role=Role.input)
    reviewer: str | None = option(None, help="Only this reviewer's payee.")
    output: Path | None = option(
        None, "-o", help="Folder for one Markdown statement a payee.", role=Role.folder
    )
