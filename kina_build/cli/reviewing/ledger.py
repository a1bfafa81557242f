"""kina review ledger, statement: what is owed, line by line, and proof that no line changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.contents import add_group
from kina_build.cli.run import Run
from kina_review.pay.options import AuditOptions, ShowOptions, StatementOptions, VerifyOptions


def verify(run: Run, options: VerifyOptions) -> None:
    """Walk the ledger's chain of hashes and hold it against its mark and earlier statements.

    The mark beside the ledger shows a shortened one; statements and manifests show one that was
    put back together with its mark.
    """
    from kina_review.pay.book.opening import open_ledger
    from kina_review.pay.book.seal import read_anchors
    from kina_review.pay.payments import read_payments

    anchors = read_anchors(options.against)
    with (
        run.console.progress("lines") as on_progress,
        open_ledger(options.ledger, anchors, on_progress) as book,
    ):
        head = book.head()
        payments = read_payments(book.entries("payment"))
        report = {
            "verified": True,
            "lines": head.count,
            "anchors": len(anchors),
            "payments": len(payments),
            "ledger_head": str(head),
        }
    run.report(report, _show_verified)


def _show_verified(report: dict[str, Any], console: Console) -> None:
    heads = "1 earlier head" if report["anchors"] == 1 else f"{report['anchors']} earlier heads"
    console.line(f"{report['lines']} lines, chain unbroken, {heads} found in it")
    console.line(report["ledger_head"])
    if not report["anchors"]:
        console.warn("without --against a ledger put back together with its mark cannot be noticed")


def audit(run: Run, options: AuditOptions) -> None:
    """Derive every sum of the ledger again from the files and the registered terms.

    The code is another one than that of `kina review settle`. Leaves with exit code 1 and names
    each line, sum or payment that does not follow.
    """
    from kina_review.pay.batch import fill_in
    from kina_review.pay.settling import audit_files
    from kina_review.rubric import rules_of

    report = audit_files(fill_in(options, options.batch_file), rules_of(run.settings))
    run.report(report, _show_audit, exit_code=1 if report["faults"] else 0)


def _show_audit(report: dict[str, Any], console: Console) -> None:
    for fault in report["faults"]:
        console.line(fault)
    found = f"{len(report['faults'])} that do not follow" if report["faults"] else "all follow from the files"
    console.line(f"{report['lines']} lines, {found}")


def show(run: Run, options: ShowOptions) -> None:
    """List the ledger's lines, first ones first."""
    from itertools import islice

    from kina_review.pay.book.opening import open_ledger

    with open_ledger(options.ledger) as book:
        lines = [entry.model_dump() for entry in islice(book.entries(), options.limit)]
        report = {"currency": book.currency, "lines": lines, "ledger_head": str(book.head())}
    run.report(report, _show_lines)


def _show_lines(report: dict[str, Any], console: Console) -> None:
    from kina_review.money import format_amount

    rows = [
        [
            line["seq"],
            line["payment_id"] or line["kind"],
            line["item_id"],
            line["round"],
            line["reviewer_id"],
            format_amount(line["amount_minor"], report["currency"]),
            line["reason"],
        ]
        for line in report["lines"]
    ]
    columns = ["line", "what", "item", "round", "reviewer", "amount", "why"]
    console.table(f"ledger in {report['currency']}", columns, rows)
    console.line(report["ledger_head"])


def statement(run: Run, options: StatementOptions) -> None:
    """Write what each payee earned and was paid, every line with its reason."""
    from dataclasses import asdict

    from kina_review.pay.pages import write_statements
    from kina_review.pay.statements import read_statements
    from kina_review.rubric import rules_of

    statements = read_statements(options.ledger, options.reviewer, rules_of(run.settings))
    report: dict[str, Any] = {"statements": [asdict(one) for one in statements]}
    if options.output is None:
        run.report(report, _show_statements)
        return
    stage = run.start("review statement", options, show=_show_statements)
    if not stage.up_to_date():
        write_statements(options.output, statements)
        stage.finish(report, private=True)


def _show_statements(report: dict[str, Any], console: Console) -> None:
    statements = report["statements"]
    rows = [
        [
            ", ".join(one["reviewers"]),
            len(one["lines"]),
            *(one[k] for k in ("earned", "paid", "owed", "currency")),
        ]
        for one in statements
    ]
    console.table("statements", ["reviewer", "lines", "earned", "paid", "owed", "currency"], rows)
    if len(statements) == 1:
        keys = ("seq", "what", "item_id", "amount", "why", "balance")
        lines = [[line[key] for key in keys] for line in statements[0]["lines"]]
        console.table("lines", ["line", "what", "item", "amount", "why", "owed then"], lines)
    for head in sorted({one["ledger_head"] for one in statements}):
        console.line(head)


EXAMPLES: Mapping[str, tuple[Callable[..., None], str]] = {
    "verify": (verify, "--against payments.csv.manifest.json"),
    "audit": (audit, "--reviews reviews.csv --scores scores.csv"),
    "show": (show, ""),
}


def register(group: typer.Typer) -> None:
    """Add `ledger` and `statement` to `kina review`."""
    ledger = add_group(group, "ledger", "Verify, audit and list the ledger.")
    for name, (function, rest) in EXAMPLES.items():
        command(ledger, name, example=f"kina review ledger {name} --ledger pay.db {rest}".rstrip())(function)
    command(group, "statement", example="kina review statement --ledger pay.db -o statements")(statement)
