"""kina review import: reviews from other desks' exports and from spreadsheets' tables, as reviews.jsonl."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.cli.review_assign import need_instant
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kina_review.instants import DateForm


def import_reviews(
    run: Run,
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Exports of Label Studio, Argilla, doccano or Prodigy, or tables: CSV, JSON, Parquet."
        ),
    ],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Reviews to write.")] = Path("reviews.jsonl"),
    column: Annotated[
        list[str] | None,
        typer.Option("--column", help="THEIRS=OURS: what a column is called there; repeatable."),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", help="Of CSV; default: the one that cuts the header most.")
    ] = None,
    decimal: Annotated[
        Literal[".", ","] | None, typer.Option("--decimal", help="What stands before a number's decimals.")
    ] = None,
    dates: Annotated[
        str | None,
        typer.Option(
            "--dates", help="Form of submitted_at, such as '%d.%m.%Y %H:%M'; excel: day numbers of a sheet."
        ),
    ] = None,
    zone: Annotated[
        str | None, typer.Option("--zone", help="Time zone of those dates, such as Europe/Berlin.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Such as windows-1252; default: detected.")
    ] = None,
    snapshot: Annotated[
        str | None,
        typer.Option(
            "--snapshot",
            help="Deadline (UTC): of Prodigy's edits the last one from before it counts, and of Label Studio "
            "nothing that was changed later.",
        ),
    ] = None,
    lowest_rating: Annotated[
        int | None,
        typer.Option(
            "--lowest-rating",
            help="Least step of the tool's ratings, which have five: 1 turns 1 to 5 into marks 0 to 4. "
            "Without it ratings of another tool are left out.",
        ),
    ] = None,
) -> None:
    """Read reviews that another tool or a spreadsheet keeps, and write them as reviews.jsonl.

    `kina review settle` and `kina review agreement` read exports and plain tables themselves;
    this is for what must be stated: local dates, a decimal comma, other names of columns.
    """
    from kina_build.jsonl import write_records
    from kina_review.intake import read_reviews
    from kina_review.tableforms import TableForm

    if delimiter is not None and len(delimiter) != 1:
        raise UsageError("--delimiter is one character")
    form = TableForm(
        encoding=encoding or "",
        delimiter=delimiter or "",
        decimal=decimal or "",
        dates=_date_form(dates, zone),
        columns=_columns(column or ()),
        snapshot=need_instant(snapshot, "--snapshot") if snapshot else None,
        lowest_rating=lowest_rating,
    )
    stage = run.stage(
        "review import",
        inputs=files,
        outputs=[output],
        params={
            "columns": dict(form.columns),
            "delimiter": form.delimiter,
            "decimal": form.decimal,
            "encoding": form.encoding,
            "dates": dates,
            "zone": zone,
            "snapshot": snapshot,
            "lowest_rating": lowest_rating,
        },
        show=_show,
    )
    if stage.up_to_date():
        return
    table = read_reviews(files, form)
    if table.ignored:
        run.console.warn(f"not read: {', '.join(table.ignored)}")
    write_records(output, table.records)
    states = Counter(review.status for review in table.records)
    stage.finish(
        {
            "reviews": len(table.records),
            "states": dict(sorted(states.items())),
            "undated": sum(r.status == "submitted" and r.submitted_at is None for r in table.records),
            "ignored": list(table.ignored),
            "file": output.name,
        }
    )


def _columns(pairs: Sequence[str]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        theirs, equals, ours = pair.rpartition("=")
        if not equals or not theirs or not ours:
            raise UsageError(
                f"--column {pair!r} is not THEIRS=OURS", hint="such as --column Punkte=review_score"
            )
        if theirs in found or ours in found.values():
            raise UsageError(f"--column {pair!r} names a column a second time")
        found[theirs] = ours
    return found


def _date_form(dates: str | None, zone: str | None) -> DateForm | None:
    from kina_review.instants import DateForm, find_zone

    if dates is None and zone is None:
        return None
    if dates is None or (zone is None and "%z" not in dates):
        raise UsageError(
            "dates need their form and their zone",
            hint="such as --dates '%d.%m.%Y %H:%M' --zone Europe/Berlin",
        )
    try:
        return DateForm(dates, find_zone(zone or "UTC"))
    except ValueError as error:
        raise UsageError(f"--zone: {error}") from None


def _show(report: dict[str, Any], console: Console) -> None:
    states = ", ".join(f"{count} {state}" for state, count in report["states"].items())
    console.line(f"{report['file']}: {report['reviews']} reviews ({states})")
    if report["undated"]:
        console.line(
            f"{report['undated']} say nowhere when they were handed in: no deadline can be held to them"
        )


def register(app: typer.Typer) -> None:
    """Add `kina review import`."""
    command(
        app,
        "import",
        example="kina review import table.csv --column Punkte=review_score --dates excel --zone Asia/Tokyo",
    )(import_reviews)
