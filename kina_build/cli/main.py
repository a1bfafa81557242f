"""Compose `kina` from its command groups: the only place that knows both packages."""

from __future__ import annotations

import io
import sys
from typing import Annotated, Any

import typer

from kina_build import __version__
from kina_build.cli import supervised
from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.contents import Contents, help_width
from kina_build.cli.models import ranking, scoring
from kina_build.cli.projects import build, demo, report
from kina_build.cli.questions import consensus, dedup, items, repair, taxonomy, triage
from kina_build.cli.releasing import release
from kina_build.cli.reviewing import group as review
from kina_build.cli.run import Run
from kina_build.cli.selecting import anchors, fidelity, selection, support

app = typer.Typer(
    name="kina",
    cls=Contents,
    help="Build, certify, review, release and score knowledge benchmarks.",
    no_args_is_help=True,
    rich_markup_mode=None,  # importing rich costs more than all the rest of kina --help
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": help_width()},
    epilog="`kina help COMMAND` says all about one. `kina demo` shows the whole flow in a minute.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"kina-build {__version__}")
        raise typer.Exit


@app.callback()
def kina(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Build, certify, review, release and score knowledge benchmarks."""


@command(app, "config", example="kina config --json")
def config(run: Run) -> None:
    """Print every number that shapes the results, with its value and meaning."""
    from kina_build.config import explain
    from kina_review.rubric import rules_of

    rules = rules_of(run.settings)

    def show(report: dict[str, Any], console: Console) -> None:
        known = [row for row in explain(run.settings) if row[0] not in ("review", "project")]
        rows = [[key, str(value), meaning] for key, value, meaning in known + explain(rules, "review.")]
        console.table("settings", ["key", "value", "meaning"], rows)

    run.report(run.settings.model_dump(mode="json") | {"review": rules.model_dump(mode="json")}, show)


GROUPS = (
    build,
    demo,
    items,
    triage,
    repair,
    consensus,
    taxonomy,
    dedup,
    anchors,
    support,
    selection,
    review,
    release,
    scoring,
    ranking,
    fidelity,
    report,
)
"""In the order of the flow."""

for group in GROUPS:
    group.register(app)
for info in app.registered_groups:
    info.cls = Contents


def run() -> None:
    """Start the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what its encoding lacks is shown as an escape
            stream.reconfigure(errors="backslashreplace")
    supervised.command_line = sys.argv[1:]
    app(prog_name="kina")


if __name__ == "__main__":
    run()
