"""kina report and kina desk: the folder of a flow as pages for people, written or served."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.run import Run
from kina_build.desk.options import DeskOptions
from kina_build.errors import Refusal
from kina_build.options import parameters
from kina_build.report.options import ReportOptions

if TYPE_CHECKING:
    from kina_build.report.rows import Payout


def report(run: Run, options: ReportOptions) -> None:
    """Write static, self-contained pages about everything that a folder holds.

    Finds the flow's files by what they hold, under whatever name: pool, findings, duplicates,
    doubtful keys, anchors, support, selection, certificate, reviews (no reviewer is named),
    decisions, contests, ledger (totals only), release, scores, leaderboard, item analysis.
    Says what it left out. Answers of a private split are never shown.
    """
    from kina_build.project.funnel import funnel_files, funnel_rows
    from kina_build.report.artefacts import read_artefacts
    from kina_build.report.find import find_files
    from kina_build.report.folder import check_target, write_report

    found = find_files(options.folder)
    ledger = found.files.get("ledger")
    inputs = list(found.files.values())
    behind = funnel_files(options.folder)
    if not inputs:
        raise Refusal(
            f"{options.folder}: none of the flow's files is there", hint="kina report --help lists them"
        )
    check_target(options.output)
    stage = run.stage(
        "report",
        inputs=[*inputs, *behind],
        outputs=[options.output],
        params=parameters(options) | {"left_out": sorted(found.left_out)},
        show=_show,
        folders=[options.output],
    )
    if stage.up_to_date():
        return
    artefacts = read_artefacts(found.files, _totals(ledger) if ledger else None)
    if behind:
        artefacts = replace(artefacts, funnel=funnel_rows(options.folder))
    written = write_report(options.output, artefacts, title=options.title, hide_keys=options.hide_keys)
    told = written.report | {"read": [path.name for path in inputs], "left_out": dict(found.left_out)}
    stage.finish(told, packages=["jinja2", "latex2mathml"])


def desk(run: Run, options: DeskOptions) -> None:
    """Look at a flow, search it and decide what waits, in a browser on this machine.

    Serves the report's pages on 127.0.0.1 with full-text search, everything that is known
    of an item, and queues that are worked through by keyboard: keys at odds, near-copies
    side by side, doubtful keys, findings. Each decision is written at once to
    decisions/KIND-WHO.jsonl in the folder; `kina build` and `kina dedup --overrides` follow
    it. Nothing leaves this machine. Stop it with Ctrl-C.
    """
    from kina_build.desk.serve import open_desk, serve

    def tell(address: str) -> None:
        run.report(
            {"address": address, "folder": options.folder.name},
            lambda told, console: console.line(told["address"]),
        )
        run.console.say("open this address in a browser; Ctrl-C ends the server")

    with run.console.progress("reading", elapsed=True):
        opened = open_desk(options.folder, title=options.title, who=options.who, read_only=options.read_only)
    serve(opened, port=options.port, on_ready=tell)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    command(app, "report", example="kina report . -o report --title 'My benchmark'")(report)
    command(app, "desk", example="kina desk . --who ann")(desk)


def _totals(ledger: Path) -> Payout:
    """Sum the ledger by kind of line: no person and no item leaves it."""
    from collections import Counter

    from kina_build.report.rows import Payout, PayoutLine
    from kina_review.money import format_amount
    from kina_review.pay.book.opening import open_ledger

    amounts: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    with open_ledger(ledger) as book:
        for entry in book.entries("base", "bonus", "penalty", "grading", "payment"):
            amounts[entry.kind] += entry.amount_minor
            lines[entry.kind] += 1
        amounts["owed now"] = sum(amounts.values())
        lines["owed now"] = sum(lines.values())
        totals = tuple(
            PayoutLine(kind=kind, lines=lines[kind], amount=format_amount(amount, book.currency))
            for kind, amount in amounts.items()
        )
        return Payout(currency=book.currency, totals=totals, head=str(book.head()))


def _show(result: dict[str, Any], console: Console) -> None:
    size = f"{result['bytes'] / 1e6:.1f} MB" if result["bytes"] >= 1e5 else f"{result['bytes']:,} bytes"
    console.line(f"{len(result['pages'])} pages, {size}, from {', '.join(result['read'])}")
    left: dict[str, list[str]] = {}
    for name, why in result["left_out"].items():
        left.setdefault(why, []).append(name)
    for why, names in left.items():
        console.line(f"left out {', '.join(names)}: {why}")
    console.line("open index.html in a browser; the pages need no network")
