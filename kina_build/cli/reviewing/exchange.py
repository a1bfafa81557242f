"""kina review: out to the desk, back from it or from tables, and how far the reviews agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.reviewing.desk import show_loads
from kina_build.cli.run import Run
from kina_review.desk.options import (
    AgreementOptions,
    ImportOptions,
    PullOptions,
    PushOptions,
    StatusOptions,
)


def status(run: Run, options: StatusOptions) -> None:
    """Show who has done how much, and which items wait for a review."""
    from kina_review.desk.planning import report_status

    run.report(report_status(options.assignments, options.reviews), _show_status)


def _show_status(report: dict[str, Any], console: Console) -> None:
    items = report["items"]
    console.line(
        f"items with both reviews {items['both']}, with one {items['one']}, with none {items['none']}"
    )
    states = sorted({state for person in report["reviewers"].values() for state in person} - {"assigned"})
    rows = [
        [name, person["assigned"], *(person.get(state, 0) for state in states)]
        for name, person in report["reviewers"].items()
    ]
    console.table("reviewers", ["reviewer", "assigned", *states], rows)


def push(run: Run, options: PushOptions) -> None:
    """Put assignments on the review desk: a Label Studio server, or CSV worksheets.

    Repeating a push adds only what is not there yet; keep the map, which knows the tasks
    that were pushed. Label Studio's Community edition lets every user open every project:
    that is weak blindness, and `pull` verifies authorship. The key shows there once the
    reviewer has given an answer of their own; a worksheet shows it at once.
    """
    from kina_review.desk.exchange import check_desk, pack, push_tasks, write_sheets
    from kina_review.rubric import rules_of

    check_desk(options.url, options.folder)
    shown = _show_written if options.folder else _show_pushed
    stage = run.start("review push", options, show=shown)
    parcel = pack(options)
    if options.dry_run:
        run.report(parcel.report, show_loads)
    elif options.folder:
        stage.finish(write_sheets(parcel, options.folder, options))
    else:
        with run.console.progress("pushing") as progress:
            report = push_tasks(parcel, options, rules_of(run.settings), progress)
        stage.finish(report)


def _show_written(report: dict[str, Any], console: Console) -> None:
    sheets = "1 worksheet" if len(report["worksheets"]) == 1 else f"{len(report['worksheets'])} worksheets"
    console.line(f"{report['assignments']} assignments in {sheets}")


def _show_pushed(report: dict[str, Any], console: Console) -> None:
    console.line(
        f"{report['tasks_added']} tasks added, {report['tasks_there']} were there; "
        f"{report['projects']} projects, {report['projects_created']} of them new"
    )


def pull(run: Run, options: PullOptions) -> None:
    """Fetch reviews (or grades) and verify every one; what is not believed goes to quarantine.

    A review counts only on the task that was pushed for its reviewer, and if the server saw
    that reviewer write it. Every text that a pull sees is kept beside the map (MAP.texts.jsonl):
    after --snapshot the last text from before it counts, whoever edits later. Of two
    annotations of one person the first complete one counts.
    """
    from dataclasses import replace
    from pathlib import Path

    from kina_build.rows.jsonl import read_document, write_records
    from kina_review.desk.deskmap import DeskMap
    from kina_review.desk.exchange import check_desk, fetch, texts_path

    check_desk(options.url, options.folder)
    plan = read_document(options.desk, DeskMap)
    target = options.output or Path("grades.jsonl" if plan.purpose == "grading" else "reviews.jsonl")
    options = replace(options, output=target)
    kept = [] if options.folder else [texts_path(options.desk)]
    stage = run.start("review pull", options, show=_show_pulled, kept=kept)
    with run.console.progress("pulling") as progress:
        pulled = fetch(options, plan, progress)
    if pulled.undated:
        run.console.warn(
            f"{pulled.undated} rows say in no handed_in_at when they came in, so no deadline can be held "
            "against them: give --handed-in"
        )
    write_records(target, pulled.found.results)
    write_records(options.quarantine, pulled.found.quarantine)
    stage.finish(pulled.report | {"files": [target.name, options.quarantine.name]})


def _show_pulled(report: dict[str, Any], console: Console) -> None:
    rows = [[state, count] for state, count in report["results"].items()]
    rows += [[f"quarantined: {reason}", count] for reason, count in report["quarantined"].items()]
    console.table(f"{report['annotations']} annotations", ["what", "count"], rows)


def import_reviews(run: Run, options: ImportOptions) -> None:
    """Read reviews that another tool or a spreadsheet keeps, and write them as reviews.jsonl.

    `kina review settle` and `kina review agreement` read exports and plain tables themselves;
    this is for what must be stated: local dates, a decimal comma, other names of columns.
    """
    from kina_build.rows.jsonl import write_records
    from kina_review.desk.importing import form_of, import_reviews

    form = form_of(options)
    stage = run.start("review import", options, show=_show_imported)
    if stage.up_to_date():
        return
    table = import_reviews(options.files, form)
    if table.ignored:
        run.console.warn(f"not read: {', '.join(table.ignored)}")
    write_records(options.output, table.records)
    stage.finish(table.report | {"file": options.output.name})


def _show_imported(report: dict[str, Any], console: Console) -> None:
    states = ", ".join(f"{count} {state}" for state, count in report["states"].items())
    console.line(f"{report['file']}: {report['reviews']} reviews ({states})")
    if report["undated"]:
        console.line(
            f"{report['undated']} say nowhere when they were handed in: no deadline can be held to them"
        )


def agreement(run: Run, options: AgreementOptions) -> None:
    """Measure agreement on verdicts and ratings, and show each reviewer beside their peers.

    Flags are reasons for a person to look; none blocks pay.
    """
    from kina_build.rows.jsonl import write_document
    from kina_review.desk.profiles import measure_agreement
    from kina_review.rubric import rules_of

    rules = rules_of(run.settings)
    params = {"rules": rules.model_dump(mode="json")}
    stage = run.start("review agreement", options, show=_show_agreement, params=params)
    if stage.up_to_date():
        return
    report = measure_agreement(options.reviews, options.seeded_bad, rules, options.seed)
    if options.output:
        write_document(options.output, {name: report[name] for name in ("reviews", "agreement")})
    stage.finish(report)


def _show_agreement(report: dict[str, Any], console: Console) -> None:
    rows = []
    for name, found in report["agreement"].items():
        value = "undefined" if found["value"] is None else f"{found['value']:.3f}"
        interval = (
            f"[{found['low']:.3f}, {found['high']:.3f}]" if found["low"] is not None else found["reason"]
        )
        same = "" if found["percent_agreement"] is None else f"{found['percent_agreement']:.0%}"
        rows.append([name, value, interval, same, found["units"]])
    title = f"agreement over {report['reviews']} reviews"
    console.table(title, ["of", "value", "95 % interval", "equal", "items"], rows)
    people = [
        [p["reviewer_id"], p["reviews"], p["accepts"], p["rejects"], p["median_lead_time_s"],
         p["partner_agreement"], ", ".join(p["flags"])]
        for p in report["profiles"]
    ]  # fmt: skip
    console.table(
        "reviewers (flags are for a person to look at; none blocks pay)",
        ["reviewer", "reviews", "accept", "reject", "median s", "agrees", "flags"],
        people,
    )


EXAMPLES: Mapping[str, tuple[Callable[..., None], str]] = {
    "status": (status, "status assignments.jsonl --reviews reviews.jsonl"),
    "push": (push, "push pool.jsonl assignments.jsonl --reviewers reviewers.csv --folder worksheets"),
    "pull": (pull, "pull desk.json --reviewers reviewers.csv --folder worksheets"),
    "import": (
        import_reviews,
        "import table.csv --column Punkte=review_score --dates excel --zone Asia/Tokyo",
    ),
    "agreement": (agreement, "agreement reviews.jsonl"),
}
"""Each command about reviews that were asked for, with a line that works on the demo's files."""


def register(app: typer.Typer) -> None:
    """Add the commands of the exchange to `kina review`."""
    for name, (function, example) in EXAMPLES.items():
        command(app, name, example=f"kina review {example}")(function)
