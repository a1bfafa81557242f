"""`kina taxonomy`: is a taxonomy sound, and does a pool cover it?"""

from __future__ import annotations

from typing import Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.run import Run
from kina_build.errors import SHOWN_FAULTS
from kina_build.items.options import TaxonomyOptions


def taxonomy(run: Run, options: TaxonomyOptions) -> None:
    """Check a taxonomy, count a pool in its leaves, and write their counts as quotas.

    A leaf has three levels and a code. Codes and leaves stand once, dotted codes follow the levels,
    no level is spelled in two ways; every item stands in a leaf, and every leaf has the items it needs
    or says in its column `uncovered` why it has none. Leaves with 1, and without quotas, where not.
    """
    stage = run.start("taxonomy", options, show=_show)
    if stage.up_to_date():
        return
    from kina_build.items.taxonomy import review_taxonomy

    found = review_taxonomy(options)
    if found.faults:
        run.report(found.report, _show, exit_code=1)
        return
    if options.output:
        found.write_quotas(options.output)
    stage.finish(found.report)


def _show(report: dict[str, Any], console: Console) -> None:
    covered = "" if report["covered"] is None else f", {report['covered']} covered"
    listed = report["listed_uncovered"]
    console.line(
        f"{report['leaves']} leaves{covered}" + (f", {listed} listed as uncovered" if listed else "")
    )
    rows = [
        [name, one["leaves"], *([] if report["covered"] is None else [one["covered"], one["items"]])]
        for name, one in report["disciplines"].items()
    ]
    columns = ["discipline", "leaves", *([] if report["covered"] is None else ["covered", "items"])]
    console.table("disciplines", columns, rows)
    faults = report["faults"]
    if faults:
        shown = [[one["rule"], one["place"], one["message"]] for one in faults[:SHOWN_FAULTS]]
        console.table(f"faults (first {len(shown)} of {len(faults)})", ["fault", "where", "what"], shown)


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    command(app, "taxonomy", example="kina taxonomy taxonomy.csv --pool pool.jsonl -o quotas.csv")(taxonomy)
