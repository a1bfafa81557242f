"""`kina consensus`: what judges say of the items of a field, as constraints of a selection."""

from __future__ import annotations

from typing import Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.run import Run
from kina_build.repair.options import ConsensusOptions


def consensus(run: Run, options: ConsensusOptions) -> None:
    """Let judges describe and vote on items, and turn their consensus into constraints of `kina select`.

    Each judge names the piece of knowledge that an item tests, features, a level of difficulty, its
    power to tell models apart and why models fail it, and votes to keep or leave it. An item is kept
    when two of three judges keep it. --write-quota, --write-conflicts and --write-exclude are then
    "exactly n of a field", "the same piece of knowledge never twice" and "only what is kept".

    A judge that votes as the others do by chance only stops the command (support.agreement_floor), and
    so do calls that fail. Replies are kept, and not paid for twice.
    """
    rules = run.settings.support
    floor = {"agreement_floor": rules.agreement_floor, "agreement_pairs": rules.agreement_pairs}
    stage = run.start("consensus", options, params=floor, show=_show)
    if stage.up_to_date():
        return
    from kina_build.repair import mend
    from kina_build.repair.consensus import seek_consensus

    ask = mend.asking(options, run.settings.chat, fresh=run.force)
    found = seek_consensus(options, ask, rules)
    found.write(options)
    for name in found.report["short"]:
        run.console.warn(f"{name}: fewer than {options.each} pieces of knowledge are kept; no selection fits")
    stage.finish(found.report)


def _show(report: dict[str, Any], console: Console) -> None:
    if report.get("letters"):
        console.line(f"letters: {report['letters']}")
    left_out = ", ".join(f"{why} {count}" for why, count in report["left_out"].items())
    console.line(f"{report['kept']} of {report['items']} items kept; left out: {left_out or 'none'}")
    rows = [[name, one["kept"], one["points"], report["each"]] for name, one in report["strata"].items()]
    console.table("fields", ["field", "kept", "pieces of knowledge", "wanted"], rows)
    console.line(f"pairs on one piece of knowledge: {report['conflicts']}")
    if report["failures"]:
        console.line("why models fail: " + ", ".join(f"{name} {n}" for name, n in report["failures"].items()))
    for pair in report["agreement"]:
        console.line(
            f"{' and '.join(pair['judges'])}: equal votes {pair['exact']}, kappa {pair['kappa']}, "
            f"at least {pair['kappa_low']} ({pair['pairs']} items)"
        )
    console.line(f"for kina select: -k {report['k']}")


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    example = "kina consensus pool.jsonl --judge a --judge b --judge c -n 3 --write-quota quota.jsonl"
    command(app, "consensus", example=example)(consensus)
