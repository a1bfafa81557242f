"""Reviews that another tool or a spreadsheet keeps, read as somebody states they are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kina_build.errors import UsageError
from kina_review.desk.options import ImportOptions
from kina_review.instants import DateForm, find_zone, read_end
from kina_review.intake import read_reviews
from kina_review.records import Review
from kina_review.tableforms import TableForm


@dataclass(frozen=True)
class Imported:
    """Reviews that were read, and what was not."""

    records: list[Review]
    ignored: tuple[str, ...]
    """Columns, and what else no field takes."""

    @property
    def report(self) -> dict[str, Any]:
        """Return counts by state, and how many reviews say nowhere when they were handed in."""
        return {
            "reviews": len(self.records),
            "states": dict(sorted(Counter(review.status for review in self.records).items())),
            "undated": sum(r.status == "submitted" and r.submitted_at is None for r in self.records),
            "ignored": list(self.ignored),
        }


def import_reviews(files: Path | Sequence[Path], form: TableForm) -> Imported:
    """Read reviews of other tools and tables in a stated form.

    Raises:
        InputError: as read_reviews.
        RowErrors: rows that are no reviews.
    """
    table = read_reviews(files, form)
    return Imported(table.records, table.ignored)


def form_of(options: ImportOptions) -> TableForm:
    """Return how tables are written, as the options state it.

    Raises:
        UsageError: a delimiter of several characters, a date without zone, or a column named twice.
    """
    if options.delimiter is not None and len(options.delimiter) != 1:
        raise UsageError("--delimiter is one character")
    return TableForm(
        encoding=options.encoding or "",
        delimiter=options.delimiter or "",
        decimal=options.decimal or "",
        dates=_date_form(options.dates, options.zone),
        columns=read_columns(options.column),
        snapshot=read_end(options.snapshot, "--snapshot") if options.snapshot else None,
        lowest_rating=options.lowest_rating,
    )


def read_columns(pairs: Sequence[str]) -> Mapping[str, str]:
    """Read THEIRS=OURS pairs: what a column is called there, to what it is called here.

    Raises:
        UsageError: no such pair, or a column named a second time.
    """
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
