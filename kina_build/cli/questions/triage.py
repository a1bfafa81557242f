"""`kina triage` and `kina panel`: what models' answers say of keys and of difficulty."""

from __future__ import annotations

from typing import Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.run import Run
from kina_build.repair.options import PanelOptions, TriageOptions

SHOWN_SUSPICIONS = 20
"""Rows of the queue shown on a terminal; --json and -o have all."""


def triage(run: Run, options: TriageOptions) -> None:
    """Rank the items whose keys strong models contradict, for reviewers to look at.

    RESPONSES has rows {item_id, model, response}, rows {item_id, model, letter}, or rows
    {model, answers} with one letter an item in the order of --letters-of. No key is changed.

    A letter means the option that stood there when it was given. Replies of `kina run` say
    which order that was; give --release beside --pool for those made on a release, or
    --release alone to doubt the keys of the release itself.
    """
    rules = run.settings.items
    stage = run.start("triage", options, params={"items": rules.shaping}, show=_show_triage)
    if stage.up_to_date():
        return
    from kina_build.repair import votes

    result = votes.triage(options, rules)
    if options.output:
        result.write(options.output)
    stage.finish(result.report)


def panel(run: Run, options: PanelOptions) -> None:
    """Admit the items that most models of a panel answer wrongly: at least 3 of 5.

    The panel's names and dates go into each admitted item's metadata, so that a
    leaderboard can mark those models. Replies made on a release need --release beside
    --pool: their letters follow its order.
    """
    rules = run.settings.items
    stage = run.start("panel", options, params={"items": rules.shaping}, show=_show_panel)
    if stage.up_to_date():
        return
    from kina_build.repair import votes

    result = votes.panel(options, rules)
    result.write(options.output)
    stage.finish(result.report)


def _show_triage(report: dict[str, Any], console: Console) -> None:
    queue, counts, total = report["queue"], report["flagged"], report["items"]
    flagged = counts.get("agreed_rival", 0)
    _show_order(report, console)
    console.line(f"{flagged} of {total} keys contradicted by the strong models ({flagged / total:.1%})")
    for flag in sorted(counts.keys() - {"agreed_rival"}):
        console.line(f"{counts[flag]} items with {flag.replace('_', ' ')}")
    strong = [f"{one['model']} {one['accuracy']:.1%}" for one in report["strong"]]
    console.line(f"strong models: {', '.join(strong)}")
    columns = ["rank", "item", "key", "rival", "votes", "for key", "share right", "discrimination"]
    rows = [_row(one) for one in queue[:SHOWN_SUSPICIONS]]
    console.table(f"queue (first {len(rows)} of {len(queue)})", columns, rows)


def _show_order(report: dict[str, Any], console: Console) -> None:
    if report.get("letters"):
        console.line(f"letters: {report['letters']}")


def _row(one: dict[str, Any]) -> list[Any]:
    votes = f"{one['rival_votes']}/{one['voters']}"
    share = f"{one['p_value']:.2f} [{one['p_low']:.2f}, {one['p_high']:.2f}]"
    known = [one[name] for name in ("rank", "item_id", "key", "rival")]
    return [*known, votes, one["key_votes"], share, one["discrimination"]]


def _show_panel(report: dict[str, Any], console: Console) -> None:
    _show_order(report, console)
    low, high = report["interval"]
    console.line(f"{report['admitted']} of {report['items']} items admitted (D in [{low}, {high}])")
    rows = [list(pair) for pair in report["by_difficulty"].items()]
    console.table("items by share of the panel that is wrong", ["D", "items"], rows)


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    triage_example = "kina triage responses.jsonl --pool pool.jsonl -o queue.jsonl"
    command(app, "triage", example=triage_example)(triage)
    panel_example = "kina panel responses.jsonl --pool pool.jsonl --model m1@2026-05 --model m2 -o hard.jsonl"
    command(app, "panel", example=panel_example)(panel)
