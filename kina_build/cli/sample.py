"""The command that draws a random sample where there are no anchors."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.cli.selection_files import levels
from kina_build.cli.selection_options import By, DecisionFile, ExcludeFile, Output


def sample(
    run: Run,
    *,
    pool: options.Pool,
    total: Annotated[int, typer.Option("--total", "-n", min=1, help="Items to draw.")],
    by: By = "subfield",
    exclude: ExcludeFile = None,
    decisions: DecisionFile = None,
    seed: options.Seed = 0,
    output: Output = None,
) -> None:
    """Draw items at random, each stratum in proportion to its items: no anchors, no certificate.

    Shares are rounded by largest remainder, ties by name. The file goes to `kina export
    --selection` like a selection; it carries no bound and no guarantee, and says so.
    """
    from dataclasses import asdict

    from kina_build.jsonl import write_document
    from kina_build.selection.budget import STATEMENT, draw_sample
    from kina_build.selection.inputs import read_decisions, read_ids
    from kina_build.selection.labels import read_labels

    stage = run.stage(
        "sample",
        inputs=[pool, *(exclude or ()), *([] if decisions is None else [decisions])],
        outputs=[] if output is None else [output],
        params={"total": total, "by": by, "seed": seed, "decisions": decisions is not None},
        show=_show,
    )
    if stage.up_to_date():
        return
    strata = read_labels(pool, *levels("stratum", by))
    closed = set(read_ids(exclude)) if exclude else set()
    if decisions is not None:
        decided = read_decisions(decisions)
        undecided = sum(item_id not in decided for item_id in strata)
        run.console.say(f"only accepted items are drawn; {undecided} of {len(strata)} are undecided")
        closed |= {item_id for item_id in strata if decided.get(item_id) != "accept"}
    found = draw_sample(strata, total, seed, closed)
    report: dict[str, Any] = {"kind": "sample", "statement": STATEMENT} | asdict(found)
    report["certificate"] = {"guarantee": {"theorem": STATEMENT, "statement": STATEMENT}}
    if output is not None:
        write_document(output, report)
    stage.finish(report, packages=("numpy",))


def register(app: typer.Typer) -> None:
    """Add the command to an app."""
    command(app, "sample", example="kina sample pool.jsonl -n 200 --seed 7 -o sample.json")(sample)


def _show(report: dict[str, Any], console: Console) -> None:
    """Print what was drawn, and that nothing vouches for it."""
    console.line(f"{len(report['item_ids'])} items drawn with seed {report['seed']}")
    console.line(report["statement"])
    columns = ["stratum", "eligible", "selected"]
    console.table("strata", columns, [[row[column] for column in columns] for row in report["strata"]])
