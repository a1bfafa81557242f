"""kina review pay: plan payments, send them once, and settle them by the provider's list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.contents import add_group
from kina_build.cli.run import Run, Stage
from kina_review.pay.options import (
    AdjustOptions,
    LedgerOptions,
    MarkOptions,
    PlanOptions,
    ReconcileOptions,
)


def plan(run: Run, options: PlanOptions) -> None:
    """Plan the payment of all that is owed and write the provider's file.

    Run again before anything was sent, it writes the same file. A payee whose payment is in
    flight or unknown waits until it is reconciled; the others are planned.
    """
    from kina_build.options import Role, paths
    from kina_build.rows.jsonl import write_text
    from kina_review.pay.batch import fill_in, need
    from kina_review.pay.paying import plan_payments
    from kina_review.pay.settling import beside
    from kina_review.rubric import rules_of

    options = fill_in(options, options.batch_file)
    ledger, output = need(options.ledger, "ledger"), need(options.output, "output")
    kept = [*paths(options, Role.kept), *beside(ledger)]
    stages: list[Stage] = []

    def claim(files: Sequence[Path]) -> None:
        # the ledger changes with every plan: as an input it would make no two manifests alike
        told = {"ledger": ledger.name}
        stages.append(
            run.stage("review pay plan", inputs=[], outputs=files, params=told, show=_show_plan, kept=kept)
        )

    claim([output])
    planned = plan_payments(options, rules_of(run.settings).per_request, claim)
    report = planned.report | {"dry_run": options.dry_run}
    if options.dry_run or not planned.texts:
        run.report(report, _show_plan)
        return
    for path, text in zip(stages[-1].job.outputs, planned.texts, strict=True):
        write_text(path, text, private=True)
    stages[-1].finish(report, private=True)


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


def mark(run: Run, options: MarkOptions) -> None:
    """Say what happened to a batch: in flight, unknown, or cancelled before it was sent.

    A batch that would pay somebody more than is owed by now is not marked in flight: plan it anew.
    """
    from datetime import UTC, datetime

    from kina_review.pay.book.opening import open_ledger
    from kina_review.pay.paying import write_moment
    from kina_review.pay.payments import move_batch
    from kina_review.pay.plans import check_current
    from kina_review.payrecords import Step

    check = check_current if options.state == "in_flight" and not options.sent else None
    with open_ledger(options.ledger) as money:
        step = Step(at=write_moment(datetime.now(UTC)))
        moved = len(move_batch(money, options.batch, options.state, step, check))
        report = {"batch": options.batch, "moved": moved, "state": options.state}
        report["ledger_head"] = str(money.head())
    run.report(report, _show_moved)


def _show_moved(report: dict[str, Any], console: Console) -> None:
    console.line(f"batch {report['batch']}: {report['moved']} payments are {report['state']}")


def reconcile(run: Run, options: ReconcileOptions) -> None:
    """Settle a batch that is in flight or unknown by the provider's own list of it.

    Leaves with exit code 1 when a person must look: amounts differ, somebody was paid
    twice, or an id is unknown.
    """
    from kina_review.desk.importing import read_columns
    from kina_review.pay.batch import fill_in, need
    from kina_review.pay.providers.reconciling import reconcile_list

    options = fill_in(options, options.batch_file)
    report = reconcile_list(
        need(options.ledger, "ledger"),
        options.batch,
        options.provider_list,
        options.payees,
        columns=read_columns(options.column),
        complete=options.complete,
        dry_run=options.dry_run,
    )
    run.report(report, _show_reconciled, exit_code=1 if report["problems"] else 0)


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


def adjust(run: Run, options: AdjustOptions) -> None:
    """Book what a payment really paid: too much, too little, in parts, or together with another.

    The difference is owed, or carried as overpaid. It stands in the ledger with its reason and
    the names of two persons.
    """
    from kina_review.money import format_amount, parse_pay
    from kina_review.pay.book.opening import open_ledger
    from kina_review.pay.payments import adjust as book_amount
    from kina_review.pay.payments import paid_out
    from kina_review.payrecords import Step

    step = Step(
        why=options.reason,
        by=options.by,
        approved_by=options.approved_by,
        transaction=options.transaction,
    )
    with open_ledger(options.ledger) as money:
        amount = parse_pay(options.paid, money.currency, "--paid")
        done = book_amount(money, options.payment, amount, step)
        report = {
            "payment": options.payment,
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


def status(run: Run, options: LedgerOptions) -> None:
    """Show what is owed, and the state of every batch."""
    from kina_review.pay.paying import report_payments

    run.report(report_payments(options.ledger), _show_status)


def _show_status(report: dict[str, Any], console: Console) -> None:
    console.line(f"owed {report['owed']} {report['currency']}, overpaid {report['overpaid']}")
    if report["held"]:
        console.line(
            f"held: {report['held']} payees, whose evidence was contradicted in a `settle` that stopped"
        )
    rows = [[x["batch"], x["state"], x["payments"], x["amount"]] for x in report["batches"]]
    console.table("batches", ["batch", "state", "payments", "amount"], rows)


EXAMPLES: Mapping[str, tuple[Callable[..., None], str]] = {
    "plan": (plan, "-o payments.csv"),
    "mark": (mark, "--batch b0001 --state in_flight"),
    "reconcile": (reconcile, "--batch b0001 --provider-list list.csv"),
    "adjust": (
        adjust,
        "--payment b0001-00001 --paid 11.49 --reason 'fee taken off' --by ann --approved-by bob",
    ),
    "status": (status, ""),
}


def register(group: typer.Typer) -> None:
    """Add `pay` to `kina review`."""
    pay = add_group(group, "pay", "Plan, track and reconcile payments.")
    for name, (function, rest) in EXAMPLES.items():
        command(pay, name, example=f"kina review pay {name} --ledger pay.db {rest}".rstrip())(function)
