"""`kina repair`: what is wrong with doubtful items, and what could be done."""

from __future__ import annotations

from typing import Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.run import Run
from kina_build.repair.options import RepairOptions

SHOWN = 20
"""Diagnoses shown on a terminal; --json and -o have all."""


def repair(run: Run, options: RepairOptions) -> None:
    """Diagnose doubtful items by findings and models' answers, and propose patches.

    Each diagnosis names its kinds (wrong key, several keys, none, unclear, missing context,
    outdated, flawed distractor, source), the evidence, and the only fields a repair may touch.
    A patch is proposed where it follows from the evidence alone: a key that strong models agree
    on and the explanation does not deny, a text that mends itself. The share of the models that
    are right stands beside it, before and after: a repair must not make an item easier unseen.

    Judges (--judge, best three models) say which options they hold right and what else is wrong;
    only what two of three say counts. Their replies are kept, and not paid for twice.

    Nothing is changed: `kina fix --accept` takes a proposal over in a person's name.
    """
    rules = run.settings.items
    stage = run.start("repair", options, params={"items": rules.shaping}, show=_show)
    if stage.up_to_date():
        return
    from kina_build.repair import mend

    ask = mend.asking(options, run.settings.chat, fresh=run.force) if options.judge else None
    with run.console.progress("checking") as progress:
        found = mend.repair(options, rules, progress, ask)
    found.write(options.output)
    stage.finish(found.report)


def _show(report: dict[str, Any], console: Console) -> None:
    if report.get("letters"):
        console.line(f"letters: {report['letters']}")
    console.line(f"{report['doubtful']} of {report['items']} items doubtful, {report['proposals']} proposals")
    if "judges" in report:
        calls = ", ".join(f"{status} {n}" for status, n in report["judges"]["calls"].items())
        console.line(
            f"judges: {calls or 'nothing to ask'}; replies that are no opinion {report['judges']['unread']}"
        )
    if report["by_kind"]:
        console.table("issues", ["kind", "items"], [list(pair) for pair in report["by_kind"].items()])
    rows = [_row(one) for one in report["diagnoses"][:SHOWN]]
    if rows:
        columns = ["rank", "item", "kinds", "first evidence", "proposal", "right now", "after"]
        console.table(f"diagnoses (first {len(rows)} of {report['doubtful']})", columns, rows)


def _row(one: dict[str, Any]) -> list[Any]:
    kinds = ", ".join(issue["kind"] for issue in one["issues"])
    fields = ", ".join(change["field"] for change in one.get("proposal", {}).get("changes", ()))
    first = one["issues"][0]["evidence"][0]["message"]
    return [
        one["rank"],
        one["item_id"],
        kinds,
        first,
        fields,
        *map(one.get, ("share_right", "share_right_after")),
    ]


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    example = "kina repair pool.jsonl --responses responses.jsonl -o diagnoses.jsonl"
    command(app, "repair", example=example)(repair)
