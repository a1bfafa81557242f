"""The command that refills a selection after review."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.selection import Wanted, run_selection
from kina_build.cli.selection_files import find_files
from kina_build.cli.selection_options import AllowShortfall, Improve, Output


def top_up(
    run: Run,
    *,
    selection: Annotated[Path, typer.Argument(help="The selection.json that was reviewed.")],
    decisions: Annotated[Path, typer.Option("--decisions", help="The reviewers' decisions.")],
    accepted_only: Annotated[
        bool,
        typer.Option("--accepted-only", help="Refill with accepted items, not with undecided ones."),
    ] = False,
    improve: Improve = False,
    allow_shortfall: AllowShortfall = False,
    seed: options.Seed = 0,
    engine: options.Engine = None,
    memory: options.Memory = None,
    output: Output = None,
) -> None:
    """Keep the items of a selection that review let stand, refill the holes, and certify anew.

    The files, K, quotas and conflicts are those that the selection names. Items that reviewers
    rejected, escalated or sent back leave and cannot return; undecided items may come in, and are
    named, as they have yet to be reviewed.
    """
    from kina_build.errors import InputError
    from kina_build.selection.inputs import read_decisions
    from kina_build.selection.reading import read_selection

    document = read_selection(selection)
    if document.eligible != "all":
        hint = "`kina top-up` takes the first selection, which was made before review"
        raise InputError(f"{selection}: was itself made with decisions", hint=hint)
    eligible: Literal["accepted", "not refused"] = "accepted" if accepted_only else "not refused"
    files = replace(
        find_files(document, selection.parent), decisions=decisions, keep=selection, eligible=eligible
    )
    decided = read_decisions(decisions)
    kinds = [decided.get(item_id, "undecided") for item_id in document.item_ids]
    kept = kinds.count("accept") + (0 if accepted_only else kinds.count("undecided"))
    size = sum(part.k for part in document.domains)
    wanted = Wanted(size, document.conflict_mode, improve, allow_shortfall, seed, engine, memory, output)
    run_selection(run, "top-up", files, wanted)
    run.console.say(f"{kept} of {len(kinds)} items stay, {len(kinds) - kept} places are refilled")


def register(app: typer.Typer) -> None:
    """Add the command to an app."""
    example = "kina top-up selection.json --decisions decisions.jsonl -o topped.json"
    command(app, "top-up", example=example)(top_up)
