"""kina report: the folder of a flow as pages for people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.errors import Refusal

if TYPE_CHECKING:
    from kina_build.report.artefacts import Payout

LEDGER = "ledger.db"
"""The ledger's name in the folder of a flow."""

Folder = Annotated[
    Path, typer.Argument(help="Folder with the flow's files: pool.jsonl, leaderboard.json, ...")
]
Output = Annotated[Path, typer.Option("-o", "--output", help="Folder for the pages.")]
Title = Annotated[str, typer.Option("--title", help="Name of the benchmark, on every page.")]
HideKeys = Annotated[bool, typer.Option("--hide-keys", help="Show no right answers on item pages.")]


def report(
    run: Run,
    folder: Folder,
    *,
    output: Output = Path("report"),
    title: Title = "Knowledge benchmark",
    hide_keys: HideKeys = False,
) -> None:
    """Write static, self-contained pages about everything that a folder holds.

    Looks for pool.jsonl, findings.jsonl, duplicates.json, support.npz, selection.json,
    certificate.json, decisions.jsonl, contests.jsonl, ledger.db (totals only), release/,
    scores.jsonl, leaderboard.json and item_analysis.jsonl; each gets its page where it is
    there. Answers of a private split are never shown.
    """
    from kina_build.report.artefacts import find_files, read_artefacts
    from kina_build.report.site import check_target, render_site, write_site

    files = find_files(folder)
    ledger = folder / LEDGER
    inputs = [*files.values(), *([ledger] if ledger.exists() else [])]
    if not inputs:
        raise Refusal(f"{folder}: none of the flow's files is there", hint="kina report --help lists them")
    check_target(output)
    params = {"title": title, "hide_keys": hide_keys}
    stage = run.stage("report", inputs=inputs, outputs=[output], params=params, show=_show, folders=[output])
    if stage.up_to_date():
        return
    artefacts = read_artefacts(files, _totals(ledger) if ledger.exists() else None)
    site = render_site(artefacts, title=title, keyed=not hide_keys)
    write_site(output, site)
    stage.finish(
        {
            "pages": sorted(site),
            "read": [path.name for path in inputs],
            "bytes": sum(len(html.encode()) for html in site.values()),
        },
        packages=["jinja2", "latex2mathml"],
    )


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "report", example="kina report . -o report --title 'My benchmark'")(report)


def _totals(ledger: Path) -> Payout:
    """Sum the ledger by kind of line: no person and no item leaves it."""
    from collections import Counter

    from kina_build.report.artefacts import Payout, PayoutLine
    from review.ledger import open_ledger
    from review.money import format_amount

    amounts: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    with open_ledger(ledger) as book:
        for entry in book.entries("base", "bonus", "penalty", "payment"):
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
    console.line("open index.html in a browser; the pages need no network")
