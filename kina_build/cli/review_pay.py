"""kina review pay: plan payments, send them once, and settle them by the provider's list."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, Stage, command
from kina_build.cli.console import Console
from kina_build.cli.review_page import read_instant, review_rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from kina_review.pay.ledger import Ledger
    from kina_review.pay.payees import Account, PayeeBook
    from kina_review.pay.plans import Limits, Plan
    from kina_review.pay.providers import Provider as ProviderName
    from kina_review.pay.seal import Head
    from kina_review.records import Step

LedgerFile = Annotated[Path, typer.Option("--ledger", help="Ledger that `kina review settle` posts to.")]
Provider = Annotated[
    Literal["prolific", "mturk", "csv"], typer.Option("--provider", help="Whose payment file to write.")
]
Payees = Annotated[
    list[Path] | None,
    typer.Option(
        "--payees", help="Accounts at the provider: payee_id, account, assignment_id (MTurk); repeatable."
    ),
]
Limit = Annotated[str | None, typer.Option("--cap", help="Most that one payee may get in the period.")]
PaidBeforeFile = Annotated[
    Path | None, typer.Option("--paid-before", help="Had in the period already: payee_id, amount.")
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since", help="Begin of the period of --cap (UTC); else all that the ledger ever paid counts."
    ),
]
PaymentFile = Annotated[Path, typer.Option("--output", "-o", help="Payment file; with a number if several.")]
Batch = Annotated[str, typer.Option("--batch", help="Batch of payments, such as b0001.")]
State = Annotated[
    Literal["in_flight", "unknown", "cancelled"],
    typer.Option(
        "--state",
        help="in_flight before you send it; unknown when the answer never came; cancelled if never sent.",
    ),
]
ProviderList = Annotated[
    Path, typer.Option("--provider-list", help="The provider's list of this batch: payee_id, amount, status.")
]
PaymentId = Annotated[str, typer.Option("--payment", help="A payment, such as b0001-00001.")]
PaidAmount = Annotated[str, typer.Option("--paid", help="What it really paid in all, such as 11.49.")]
Why = Annotated[str, typer.Option("--reason", help="Why the amount differs.")]
By = Annotated[str, typer.Option("--by", help="Who books it.")]
ApprovedBy = Annotated[str, typer.Option("--approved-by", help="The second person who stands by it.")]
TransactionId = Annotated[str, typer.Option("--transaction", help="The provider's id of the transfer.")]
Complete = Annotated[
    bool, typer.Option("--complete", help="The list is final: what is not on it was not paid.")
]


def plan(
    run: Run,
    *,
    ledger: LedgerFile,
    output: PaymentFile,
    provider: Provider = "csv",
    payees: Payees = None,
    cap: Limit = None,
    paid_before: PaidBeforeFile = None,
    since: Since = None,
    dry_run: options.DryRun = False,
) -> None:
    """Plan the payment of all that is owed and write the provider's file.

    Run again before anything was sent, it writes the same file. A payee whose payment is in
    flight or unknown waits until it is reconciled; the others are planned.
    """
    from kina_build.jsonl import write_text
    from kina_review.pay.ledger import open_ledger
    from kina_review.pay.payees import read_book
    from kina_review.pay.plans import next_plan, plan_into

    size = review_rules(run.settings).per_request
    read = _read(ledger, *(payees or ()), *([paid_before] if paid_before else []))
    _stage(run, [output], read)
    with open_ledger(ledger, _seen_before(output, ledger)) as money:
        book = read_book(read[1])
        limits = _limits(money, book, cap, paid_before, since)
        # the file is made before anything is planned: what no provider takes is never planned
        batch = next_plan(money, book.payees, limits)
        accounts = _accounts(book, money, batch, provider, payees)
        texts = _texts(money, batch, accounts, provider, size)
        stage = _stage(run, _names(output, len(texts)), read)
        if not dry_run and batch.payments:
            steps = _steps(money, read[1], accounts, provider, limits)
            batch = plan_into(money, book.payees, limits, steps)
            texts = _texts(money, batch, accounts, provider, size)
        report = _plan_report(money, batch, accounts, _names(output, len(texts)))
    if dry_run or not texts:
        run.report(report | {"dry_run": dry_run}, _show_plan)
        return
    for path, text in zip(stage.job.outputs, texts, strict=True):
        write_text(path, text, private=True)
    stage.finish(report | {"dry_run": False}, private=True)


def _read(ledger: Path, *more: Path) -> list[Path]:
    """List what no output may be: the ledger, the private files beside it, and other inputs."""
    from kina_review.pay.payees import book_path
    from kina_review.pay.seal import key_path, mark_path

    return [ledger, book_path(ledger), key_path(ledger), mark_path(ledger), *more]


def _seen_before(output: Path, ledger: Path) -> list[Head]:
    """Return the heads that manifests of this ledger's earlier payment files saw."""
    from kina_build.errors import InputError
    from kina_build.jsonl import canonical, read_document
    from kina_build.manifest import Manifest, sidecar
    from kina_review.pay.seal import find_anchors

    found: list[Head] = []
    for path in (sidecar(output), sidecar(_names(output, 2)[0])):
        if not path.is_file():
            continue
        try:
            past = read_document(path, Manifest)
        except InputError:
            continue  # not ours: the check of places says so
        if past.params.get("ledger") == ledger.name:
            found += find_anchors(canonical(past.report))
    return found


def _limits(
    money: Ledger, book: PayeeBook, cap: str | None, paid_before: Path | None, since: str | None
) -> Limits:
    from kina_review.money import parse_pay
    from kina_review.pay.plans import Limits

    return Limits(
        cap_minor=None if cap is None else parse_pay(cap, money.currency, "--cap"),
        paid_before=_paid_before(paid_before, book, money.currency),
        since="" if since is None else _moment(since),
    )


def _moment(text: str) -> str:
    return _written(read_instant(text, "--since"))


def _written(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _steps(
    money: Ledger, book_file: Path, accounts: Mapping[str, Account], provider: str, limits: Limits
) -> dict[str, Step]:
    """Keep the accounts in the payee book, and return what each payment is planned with."""
    from datetime import UTC, datetime

    from kina_review.pay.payees import read_book, write_book
    from kina_review.records import Step

    with money.writing():
        known = read_book(book_file)
        book = known.with_accounts(accounts.values())
        if book != known:
            write_book(book_file, book)
    at = _written(datetime.now(UTC))
    return {
        ref: Step(provider=provider, account=book.account_ref(account), at=at, cap_minor=limits.cap_minor)
        for ref, account in accounts.items()
    }


def _stage(run: Run, files: Sequence[Path], read: Sequence[Path]) -> Stage:
    # the ledger changes with every plan: as an input it would make no two manifests alike
    return run.stage(
        "review pay plan",
        inputs=[],
        outputs=files,
        params={"ledger": read[0].name},
        show=_show_plan,
        kept=read,
    )


def _names(output: Path, files: int) -> list[Path]:
    """Name the files of a batch: a provider takes so many payments a request."""
    stem = output.with_suffix("")
    return [output] if files == 1 else [Path(f"{stem}-{n}{output.suffix}") for n in range(1, files + 1)]


def _texts(
    money: Ledger, batch: Plan, accounts: Mapping[str, Account], provider: ProviderName, size: int
) -> list[str]:
    from kina_review.pay.providers import Transfer, token_of, write_files

    transfers = [
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
    return write_files(transfers, provider, size)


def _accounts(
    book: PayeeBook, money: Ledger, batch: Plan, provider: str, paths: list[Path] | None
) -> dict[str, Account]:
    from kina_build.errors import Refusal
    from kina_review.pay.payees import check_book, check_kept, payment_accounts

    check_book(book, money.key_check)
    listed = _listed(paths)
    accounts = payment_accounts(book, batch.payments, listed)
    others = {payment.planned.provider for payment in batch.payments} - {"", provider}
    if others:
        raise Refusal(
            f"batch {batch.batch} was planned for {others.pop()}, not {provider}",
            hint="two files of a batch would pay twice: cancel it if its file was never sent, and plan anew",
        )
    check_kept(accounts.values(), listed)
    return accounts


def _listed(paths: list[Path] | None) -> list[Account]:
    from kina_build.tables import read_typed
    from kina_review.pay.payees import Account

    return read_typed(paths, Account) if paths else []


def _paid_before(path: Path | None, book: PayeeBook, currency: str) -> dict[str, int]:
    from collections import Counter

    from kina_build.tables import read_typed
    from kina_review.money import parse_pay
    from kina_review.pay.payees import PaidBefore

    had: Counter[str] = Counter()
    for row in read_typed(path, PaidBefore) if path else ():
        had[book.ref(row.payee_id)] += parse_pay(row.amount, currency, "an amount in --paid-before")
    return dict(had)


def _plan_report(
    money: Ledger, batch: Plan, accounts: Mapping[str, Account], files: Sequence[Path]
) -> dict[str, Any]:
    from kina_review.money import format_amount

    return {
        "batch": batch.batch,
        "total": format_amount(batch.total_minor, money.currency),
        "currency": money.currency,
        "payments": [
            {
                "payment_id": payment.payment_id,
                "account": accounts[payment.payee_ref].account,
                "amount": format_amount(payment.amount_minor, money.currency),
                "state": payment.state,
            }
            for payment in batch.payments
        ],
        "carried": [
            {
                "payee_ref": c.payee_ref,
                "amount": format_amount(c.amount_minor, money.currency),
                "why": c.reason,
            }
            for c in batch.carried
        ],
        "files": [str(path) for path in files],
        "ledger_head": str(money.head()),
    }


def _show_plan(report: dict[str, Any], console: Console) -> None:
    if not report["payments"]:
        console.line("nothing is owed")
    else:
        console.line(f"{report['total']} {report['currency']} to {len(report['payments'])} payees")
        console.line(f"batch {report['batch']}: {', '.join(report['files'])}")
        rows = [[x["payment_id"], x["account"], x["amount"], x["state"]] for x in report["payments"]]
        console.table("payments", ["payment", "account", "amount", "state"], rows)
    if report["carried"]:
        rows = [[x["payee_ref"], x["amount"], x["why"]] for x in report["carried"]]
        console.table("carried over", ["payee reference", "amount", "why"], rows)
    if report["payments"] and not report["dry_run"]:
        console.say(f"next: `kina review pay mark --batch {report['batch']} --state in_flight`, then send it")


def mark(run: Run, ledger: LedgerFile, batch: Batch, state: State) -> None:
    """Say what happened to a batch: in flight, unknown, or cancelled before it was sent."""
    from datetime import UTC, datetime

    from kina_review.pay.ledger import open_ledger
    from kina_review.pay.payments import move_batch
    from kina_review.records import Step

    with open_ledger(ledger) as money:
        moved = move_batch(money, batch, state, Step(at=_written(datetime.now(UTC))))
        report = {"batch": batch, "moved": len(moved), "state": state, "ledger_head": str(money.head())}
    run.report(report, _show_moved)


def _show_moved(report: dict[str, Any], console: Console) -> None:
    console.line(f"batch {report['batch']}: {report['moved']} payments are {report['state']}")


def reconcile(
    run: Run,
    *,
    ledger: LedgerFile,
    batch: Batch,
    provider_list: ProviderList,
    payees: Payees = None,
    complete: Complete = False,
    dry_run: options.DryRun = False,
) -> None:
    """Settle a batch that is in flight or unknown by the provider's own list of it.

    Leaves with exit code 1 when a person must look: amounts differ, somebody was paid
    twice, or an id is unknown.
    """
    from kina_build.rows.source import open_source
    from kina_build.tables import read_typed
    from kina_review.pay.ledger import open_ledger
    from kina_review.pay.payees import book_path, check_book, other_names, payment_accounts, read_book
    from kina_review.pay.payments import UNDER_WAY, batch_payments, move, read_payments
    from kina_review.pay.reconcile import Proof, ProviderRow
    from kina_review.pay.reconcile import reconcile as settle_list

    rows = read_typed(provider_list, ProviderRow)
    with open_ledger(ledger) as money:
        book = read_book(book_path(ledger))
        check_book(book, money.key_check)
        payments = batch_payments(money, batch)
        accounts = payment_accounts(book, payments, _listed(payees))
        names = other_names(book, accounts, _listed(payees))
        rows = [
            row.model_copy(update={"payee_id": names.get(row.payee_id.strip(), row.payee_id)}) for row in rows
        ]
        booked = {
            transaction: payment.payment_id
            for payment in read_payments(money.entries("payment")).values()
            for transaction in payment.transactions
        }
        proof = Proof(
            money.currency,
            complete=complete,
            booked=booked,
            list_sha256=hashlib.sha256(open_source(provider_list).data).hexdigest(),
        )
        result = settle_list(payments, {ref: one.account for ref, one in accounts.items()}, rows, proof)
        if not dry_run and result.states:
            move(money, result.states, result.steps)
        report = {
            "batch": batch,
            "states": result.states,
            "problems": list(result.problems),
            "open": [
                p.payment_id for p in payments if p.state in UNDER_WAY and p.payment_id not in result.states
            ],
            "dry_run": dry_run,
            "ledger_head": str(money.head()),
        }
    run.report(report, _show_reconciled, exit_code=1 if result.problems else 0)


def _show_reconciled(report: dict[str, Any], console: Console) -> None:
    from collections import Counter

    counts = Counter(report["states"].values())
    settled = ", ".join(f"{n} {state}" for state, n in sorted(counts.items())) or "nothing settled"
    console.line(f"batch {report['batch']}: {settled}, {len(report['open'])} still open")
    for problem in report["problems"]:
        console.line(f"look at: {problem}")
    if report["problems"]:
        console.line(
            "nothing of the list was applied: mend it, or book what differs by `kina review pay adjust`"
        )


def adjust(
    run: Run,
    *,
    ledger: LedgerFile,
    payment: PaymentId,
    paid: PaidAmount,
    reason: Why,
    by: By,
    approved_by: ApprovedBy,
    transaction: TransactionId = "",
) -> None:
    """Book what a payment really paid: too much, too little, in parts, or together with another.

    The difference is owed, or carried as overpaid. It stands in the ledger with its reason and
    the names of two persons.
    """
    from kina_review.money import format_amount, parse_pay
    from kina_review.pay.ledger import open_ledger
    from kina_review.pay.payments import adjust as book_amount
    from kina_review.pay.payments import paid_out
    from kina_review.records import Step

    step = Step(why=reason, by=by, approved_by=approved_by, transaction=transaction)
    with open_ledger(ledger) as money:
        amount = parse_pay(paid, money.currency, "--paid")
        done = book_amount(money, payment, amount, step)
        report = {
            "payment": payment,
            "state": done.state,
            "planned": format_amount(done.amount_minor, money.currency),
            "paid": format_amount(paid_out(done), money.currency),
            "currency": money.currency,
            "ledger_head": str(money.head()),
        }
    run.report(report, _show_adjusted)


def _show_adjusted(report: dict[str, Any], console: Console) -> None:
    console.line(
        f"payment {report['payment']}: {report['paid']} {report['currency']} paid, "
        f"{report['planned']} planned"
    )


def status(run: Run, ledger: LedgerFile) -> None:
    """Show what is owed, and the state of every batch."""
    from kina_review.money import format_amount
    from kina_review.pay.ledger import open_ledger
    from kina_review.pay.payments import UNDER_WAY, read_payments, sum_states
    from kina_review.pay.plans import held_payees

    with open_ledger(ledger) as money:
        payments = read_payments(money.entries("payment"))
        balances = money.balances()
        report = {
            "currency": money.currency,
            "owed": format_amount(sum(v for v in balances.values() if v > 0), money.currency),
            "overpaid": format_amount(-sum(v for v in balances.values() if v < 0), money.currency),
            "batches": [
                {
                    "batch": batch,
                    "state": state,
                    "payments": count,
                    "amount": format_amount(sum_, money.currency),
                }
                for (batch, state), (count, sum_) in sum_states(payments.values()).items()
            ],
            "held": len(held_payees(money)),
            "under_way": [
                {
                    "payment_id": payment.payment_id,
                    "state": payment.state,
                    "amount": format_amount(payment.amount_minor, money.currency),
                }
                for payment in payments.values()
                if payment.state in UNDER_WAY
            ],
            "ledger_head": str(money.head()),
        }
    run.report(report, _show_status)


def _show_status(report: dict[str, Any], console: Console) -> None:
    console.line(f"owed {report['owed']} {report['currency']}, overpaid {report['overpaid']}")
    if report["held"]:
        console.line(
            f"held: {report['held']} payees, whose evidence was contradicted in a `settle` that stopped"
        )
    rows = [[x["batch"], x["state"], x["payments"], x["amount"]] for x in report["batches"]]
    console.table("batches", ["batch", "state", "payments", "amount"], rows)


def register(group: typer.Typer) -> None:
    """Add `pay` to `kina review`."""
    pay = typer.Typer(
        name="pay", help="Plan, track and reconcile payments.", no_args_is_help=True, rich_markup_mode=None
    )
    at = "--ledger pay.db"
    command(pay, "plan", example=f"kina review pay plan {at} -o payments.csv")(plan)
    command(pay, "mark", example=f"kina review pay mark {at} --batch b0001 --state in_flight")(mark)
    command(
        pay, "reconcile", example=f"kina review pay reconcile {at} --batch b0001 --provider-list list.csv"
    )(reconcile)
    command(
        pay,
        "adjust",
        example=f"kina review pay adjust {at} --payment b0001-00001 --paid 11.49 --reason 'fee taken off' "
        "--by ann --approved-by bob",
    )(adjust)
    command(pay, "status", example=f"kina review pay status {at}")(status)
    group.add_typer(pay)
