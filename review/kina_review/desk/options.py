"""What the commands of the desk are told: who reviews what, out to the desk and back, and agreement."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kina_build.options import Role, argument, dry_run, option, pool, seed

REVIEWS_IN = "Reviews that are in: reviews.jsonl."


def reviewers_file() -> Any:
    """Declare --reviewers."""
    return option(
        help="CSV or JSONL: reviewer_id, and where known payee_id, affiliation, fields, conflicts, "
        "account, capacity (several values joined by ';').",
        role=Role.input,
    )


def assignments_file() -> Any:
    """Declare the assignments as an argument."""
    return argument("assignments.jsonl, or what `kina review graders` wrote.")


def server_url() -> Any:
    """Declare --url."""
    return option(
        None,
        help="Label Studio server; its token comes from LABEL_STUDIO_API_KEY.",
        role=Role.manner,
    )


@dataclass(frozen=True, kw_only=True)
class AssignOptions:
    """Options of `kina review assign`."""

    pool: Path = pool()
    reviewers: Path = reviewers_file()
    output: Path = option(Path("assignments.jsonl"), "-o", help="Assignments to write.", role=Role.output)
    only: Path | None = option(
        None, help="Items to assign: selection.json, or rows of item_id; default: all.", role=Role.input
    )
    earlier: Path | None = option(
        None, help="Assignments made before; their pairs are kept.", role=Role.input
    )
    reviews: Path | None = option(None, help=REVIEWS_IN, role=Role.input)
    reassign: bool = option(
        False, "--reassign", help="Give slots of --earlier without a review to somebody else."
    )
    open_cap: int | None = option(None, help="Most unfinished items a reviewer; 0: no cap.", min=0)
    load_cap: int | None = option(None, help="Most items a reviewer in all.", min=1)
    by_affiliation: bool = option(False, "--by-affiliation", help="Keep people of one affiliation apart.")
    seed: int = seed()


@dataclass(frozen=True, kw_only=True)
class ReopenOptions:
    """Options of `kina review reopen`."""

    decisions: Path = argument("decisions.jsonl of `kina review settle`, or a table of item_id, decision.")
    pool: Path = option(help="Items, in which the revised ones keep their item_id.", role=Role.input)
    reviewers: Path = reviewers_file()
    earlier: Path = option(
        help="All assignments so far: nobody reviews an item a second time.", role=Role.input
    )
    output: Path = option(
        Path("reopened.jsonl"), "-o", help="Assignments of the next round to write.", role=Role.output
    )
    load_cap: int | None = option(None, help="Most items a reviewer in this round.", min=1)
    by_affiliation: bool = option(False, "--by-affiliation", help="Keep people of one affiliation apart.")
    seed: int = seed()


@dataclass(frozen=True, kw_only=True)
class GradersOptions:
    """Options of `kina review graders`."""

    reviews: Path = argument("Reviews to grade: reviews.jsonl.")
    graders: Path = option(help="Adjudicators, in the form of a reviewers' file.", role=Role.input)
    output: Path = option(Path("grading.jsonl"), "-o", help="Grading assignments to write.", role=Role.output)
    appeals: Path | None = option(
        None,
        help="CSV or JSONL of item_id, reviewer_id, made_at: only their items are graded anew.",
        role=Role.input,
    )
    earlier: Path | None = option(
        None,
        help="With --appeals: the grading so far, whose adjudicators are not asked.",
        role=Role.input,
    )
    until: str | None = option(None, help="With --appeals: last instant (UTC) of an appeal.")
    seed: int = seed()


@dataclass(frozen=True, kw_only=True)
class HandbookOptions:
    """Options of `kina review handbook`."""

    output: Path = option(
        Path("handbook.md"), "-o", help="handbook.md or handbook.html: the suffix decides.", role=Role.output
    )
    manual: Literal["reviewer", "author"] = option("reviewer", help="Whose manual to write.")


@dataclass(frozen=True, kw_only=True)
class ExamDrawOptions:
    """Options of `kina review exam draw`."""

    pool: Path = pool()
    seeded_bad: Path = option(
        help="CSV or JSONL of item_id, flaw: the items of the pool that are bad on purpose.",
        role=Role.input,
    )
    output: Path = option(Path("exam"), "-o", help="Folder for the exam and its key.", role=Role.folder)
    seed: int = seed()


@dataclass(frozen=True, kw_only=True)
class ExamMarkOptions:
    """Options of `kina review exam mark`."""

    answers: tuple[Path, ...] = argument("CSV or JSONL: candidate_id, round, number, answer; several.")
    key: Path = option(help="key.jsonl that `kina review exam draw` wrote.", role=Role.input)


@dataclass(frozen=True, kw_only=True)
class StatusOptions:
    """Options of `kina review status`."""

    assignments: Path = assignments_file()
    reviews: Path | None = option(None, help=REVIEWS_IN, role=Role.input)


@dataclass(frozen=True, kw_only=True)
class PushOptions:
    """Options of `kina review push`."""

    pool: Path = pool()
    assignments: Path = assignments_file()
    reviewers: Path = reviewers_file()
    url: str | None = server_url()
    folder: Path | None = option(None, help="Folder of CSV worksheets instead of a server.", role=Role.folder)
    batch: str = option("1", help="Name of the batch, part of the projects' titles.")
    reviews: Path | None = option(
        None, help="The reviews to grade, where the assignments are of grading.", role=Role.input
    )
    output: Path = option(
        Path("desk.json"), "-o", help="Local map of who has what; keep it.", role=Role.output
    )
    dry_run: bool = dry_run()


@dataclass(frozen=True, kw_only=True)
class PullOptions:
    """Options of `kina review pull`."""

    desk: Path = argument("The map that `kina review push` wrote.")
    reviewers: Path = reviewers_file()
    url: str | None = server_url()
    folder: Path | None = option(None, help="Folder of CSV worksheets instead of a server.", role=Role.input)
    snapshot: str | None = option(
        None, help="Deadline (UTC): the last text from before it counts, as pulls kept it."
    )
    handed_in: str | None = option(
        None, help="Instant (UTC) at which the worksheets came in, where they say none themselves."
    )
    output: Path | None = option(
        None, "-o", help="Default: reviews.jsonl, or grades.jsonl.", role=Role.output
    )
    quarantine: Path = option(
        Path("quarantine.jsonl"), help="What is not believed, each with its reason.", role=Role.output
    )


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """Options of `kina review import`."""

    files: tuple[Path, ...] = argument(
        "Exports of Label Studio, Argilla, doccano or Prodigy, or tables: CSV, JSON, Parquet."
    )
    output: Path = option(Path("reviews.jsonl"), "-o", help="Reviews to write.", role=Role.output)
    column: tuple[str, ...] = option((), help="THEIRS=OURS: what a column is called there; repeatable.")
    delimiter: str | None = option(None, help="Of CSV; default: the one that cuts the header most.")
    decimal: Literal[".", ","] | None = option(None, help="What stands before a number's decimals.")
    dates: str | None = option(
        None, help="Form of submitted_at, such as '%d.%m.%Y %H:%M'; excel: day numbers of a sheet."
    )
    zone: str | None = option(None, help="Time zone of those dates, such as Europe/Berlin.")
    encoding: str | None = option(None, help="Such as windows-1252; default: detected.")
    snapshot: str | None = option(
        None,
        help="Deadline (UTC): of Prodigy's edits the last one from before it counts, and of Label Studio "
        "nothing that was changed later.",
    )
    lowest_rating: int | None = option(
        None,
        help="Least step of the tool's ratings, which have five: 1 turns 1 to 5 into marks 0 to 4. "
        "Without it ratings of another tool are left out.",
    )


@dataclass(frozen=True, kw_only=True)
class AgreementOptions:
    """Options of `kina review agreement`."""

    reviews: tuple[Path, ...] = argument(
        "Reviews: reviews.jsonl, CSV, or an export of another desk; several."
    )
    seeded_bad: Path | None = option(
        None, help="CSV or JSONL of item_id: items planted with a known flaw.", role=Role.input
    )
    output: Path | None = option(
        None, "-o", help="Write the figures, without reviewers, for `kina export`.", role=Role.output
    )
    seed: int = seed()
