"""kina review ledger, statement: what is owed, line by line, and proof that no line changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.cli.review_page import review_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kina_review.pay.seal import Head
    from kina_review.pay.statements import Statement

LedgerFile = Annotated[Path, typer.Option("--ledger", help="Ledger that `kina review settle` posts to.")]
Against = Annotated[
    list[Path] | None,
    typer.Option("--against", help="An earlier statement or payment manifest; may be repeated."),
]
Reviews = Annotated[
    list[Path], typer.Option("--reviews", help="All reviews that the ledger was settled by; repeatable.")
]
Scores = Annotated[
    list[Path] | None, typer.Option("--scores", help="Their scores, as `settle` had them; repeatable.")
]
Findings = Annotated[
    list[Path] | None, typer.Option("--findings", help="All audit findings that it had; repeatable.")
]
Reviewer = Annotated[str | None, typer.Option("--reviewer", help="Only this reviewer's payee.")]
Folder = Annotated[
    Path | None, typer.Option("--output", "-o", help="Folder for one Markdown statement a payee.")
]


def verify(run: Run, ledger: LedgerFile, against: Against = None) -> None:
    """Walk the ledger's chain of hashes and hold it against its mark and earlier statements.

    The mark beside the ledger shows a shortened one; statements and manifests show one that was
    put back together with its mark.
    """
    from kina_review.pay.ledger import open_ledger
    from kina_review.pay.payments import read_payments

    anchors = _anchors(against or [])
    with run.console.progress("lines") as on_progress, open_ledger(ledger, anchors, on_progress) as book:
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


def _anchors(paths: Sequence[Path]) -> list[Head]:
    from kina_build.errors import InputError
    from kina_build.jsonl import read_text
    from kina_review.pay.seal import find_anchors

    found: list[Head] = []
    for path in paths:
        heads = find_anchors(read_text(path))
        if not heads:
            raise InputError(f"{path}: no ledger head in it", hint="give a statement or a payment's manifest")
        found += heads
    return found


def _show_verified(report: dict[str, Any], console: Console) -> None:
    console.line(f"{report['lines']} lines, chain unbroken, {report['anchors']} earlier heads found in it")
    console.line(report["ledger_head"])
    if not report["anchors"]:
        console.warn("without --against a ledger put back together with its mark cannot be noticed")


def audit(
    run: Run, *, ledger: LedgerFile, reviews: Reviews, scores: Scores = None, findings: Findings = None
) -> None:
    """Derive every sum of the ledger again from the files and the registered terms.

    The code is another one than that of `kina review settle`. Leaves with exit code 1 and names
    each line, sum or payment that does not follow.
    """
    from kina_review.intake import read_findings, read_grades, read_reviews, settle_payees
    from kina_review.pay.auditor import Files
    from kina_review.pay.auditor import audit as audit_lines
    from kina_review.pay.ledger import open_ledger

    files = Files(
        settle_payees(read_reviews(reviews).records),
        read_grades(scores).records if scores else (),
        read_findings(findings).records if findings else (),
        review_rules(run.settings),
    )
    with open_ledger(ledger) as book:
        faults = audit_lines(book.entries(), files)
        report = {"lines": book.head().count, "faults": faults, "ledger_head": str(book.head())}
    run.report(report, _show_audit, exit_code=1 if faults else 0)


def _show_audit(report: dict[str, Any], console: Console) -> None:
    for fault in report["faults"]:
        console.line(fault)
    found = f"{len(report['faults'])} that do not follow" if report["faults"] else "all follow from the files"
    console.line(f"{report['lines']} lines, {found}")


def show(run: Run, ledger: LedgerFile, limit: options.Limit = None) -> None:
    """List the ledger's lines, first ones first."""
    from itertools import islice

    from kina_review.pay.ledger import open_ledger

    with open_ledger(ledger) as book:
        lines = [entry.model_dump() for entry in islice(book.entries(), limit)]
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
    console.table(
        f"ledger in {report['currency']}",
        ["line", "what", "item", "round", "reviewer", "amount", "why"],
        rows,
    )
    console.line(report["ledger_head"])


def statement(run: Run, ledger: LedgerFile, reviewer: Reviewer = None, output: Folder = None) -> None:
    """Write what each payee earned and was paid, every line with its reason."""
    from dataclasses import asdict

    from kina_build.errors import Refusal
    from kina_review.pay.ledger import open_ledger
    from kina_review.pay.statements import build_statements, facts_of, notice_of

    with open_ledger(ledger) as book:
        entries = list(book.entries())
        statements = build_statements(
            entries,
            book.currency,
            book.head(),
            facts=facts_of(entries),
            notice=notice_of(review_rules(run.settings)),
        )
    if reviewer is not None:
        statements = [one for one in statements if reviewer in one.reviewers]
        if not statements:
            raise Refusal(f"{ledger}: no line of reviewer {reviewer!r}")
    report: dict[str, Any] = {"statements": [asdict(one) for one in statements]}
    if output is None:
        run.report(report, _show_statements)
        return
    stage = run.stage(
        "review statement",
        inputs=[ledger],
        outputs=[output],
        params={"reviewer": reviewer},
        show=_show_statements,
        folders=[output],
    )
    if not stage.up_to_date():
        _write_statements(output, statements)
        stage.finish(report, private=True)


def _write_statements(folder: Path, statements: Sequence[Statement]) -> None:
    from kina_build.claims import make_folder
    from kina_build.jsonl import write_text
    from kina_review.pay.statements import file_name, render

    make_folder(folder)
    for one in statements:
        write_text(folder / file_name(one), render(one), private=True)


def _show_statements(report: dict[str, Any], console: Console) -> None:
    statements = report["statements"]
    rows = [
        [
            ", ".join(one["reviewers"]),
            len(one["lines"]),
            one["earned"],
            one["paid"],
            one["owed"],
            one["currency"],
        ]
        for one in statements
    ]
    console.table("statements", ["reviewer", "lines", "earned", "paid", "owed", "currency"], rows)
    if len(statements) == 1:
        lines = [
            [x["seq"], x["what"], x["item_id"], x["amount"], x["why"], x["balance"]]
            for x in statements[0]["lines"]
        ]
        console.table("lines", ["line", "what", "item", "amount", "why", "owed then"], lines)
    for head in sorted({one["ledger_head"] for one in statements}):
        console.line(head)


def register(group: typer.Typer) -> None:
    """Add `ledger` and `statement` to `kina review`."""
    ledger = typer.Typer(
        name="ledger", help="Verify, audit and list the ledger.", no_args_is_help=True, rich_markup_mode=None
    )
    command(
        ledger,
        "verify",
        example="kina review ledger verify --ledger pay.db --against payments.csv.manifest.json",
    )(verify)
    command(
        ledger,
        "audit",
        example="kina review ledger audit --ledger pay.db --reviews reviews.csv --scores scores.csv",
    )(audit)
    command(ledger, "show", example="kina review ledger show --ledger pay.db")(show)
    group.add_typer(ledger)
    command(group, "statement", example="kina review statement --ledger pay.db -o statements")(statement)
