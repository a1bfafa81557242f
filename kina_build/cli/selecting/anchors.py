"""Command that checks, merges and weighs expert anchors."""

from __future__ import annotations

from typing import Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.run import Run
from kina_build.errors import UsageError
from kina_build.support.options import AnchorsOptions

SHOWN = 12
"""Findings printed for people before the rest is only counted."""


def anchors(run: Run, options: AnchorsOptions) -> None:
    """Check and merge experts' anchor lists, weigh them, and make worksheets.

    Each file is one expert's list (or has a column `expert`). Rows with the same domain and
    statement are one anchor. The written `weight` is mu: equal mass for each domain and
    stratum, shared by the experts' weights. A worksheet that was filled in is read back by
    giving it as FILE; rows whose statement is blank are skipped.
    """
    if not options.files and not (options.pool and options.worksheet and not options.output):
        raise UsageError(
            "no anchor list given", hint="give FILE..., or start one: --pool POOL --worksheet CSV"
        )
    rules = run.settings.support
    params = {"output": bool(options.output), "rules": rules.model_dump()}
    stage = run.start("anchors", options, params=params, show=_show)
    if stage.up_to_date():
        return
    from kina_build.support.scoring import anchor_files

    stage.finish(anchor_files(options, rules))


def _show(report: dict[str, Any], console: Console) -> None:
    console.line(f"{report['anchors']} anchors in {len(report['by_domain'])} domains")
    if report["by_kind"]:
        console.line("kinds: " + ", ".join(f"{kind} {count}" for kind, count in report["by_kind"].items()))
    if len(report["experts"]) > 1:
        shared = sum(len(names) > 1 for names in report["named_by"].values())
        overlap = "undefined" if report["agreement"] is None else f"{report['agreement']:.2f}"
        console.line(f"experts: {', '.join(report['experts'])}")
        console.line(f"anchors named by more than one: {shared}; mean overlap of two lists: {overlap}")
    rows = [[f["rule"], f["subject"], f["message"]] for f in (*report["left_out"], *report["findings"])]
    if rows:
        console.table("to look at", ["rule", "subject", "what"], rows[:SHOWN])
    if len(rows) > SHOWN:
        console.line(f"... and {len(rows) - SHOWN} more (--json lists all)")


def register(app: typer.Typer) -> None:
    """Add the command to an app."""
    command(app, "anchors", example="kina anchors anchors.csv -o anchors.jsonl")(anchors)
