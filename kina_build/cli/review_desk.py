"""kina review: assignments out to the review desk, reviews back from it: push, pull."""

from __future__ import annotations

import os
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import options, review_import
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.cli.review_assign import Assignments, ReviewersFile, need_instant, show_loads
from kina_build.cli.review_page import review_rules
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kina_build.items.model import Item
    from kina_review.desk.authorship import Annotation
    from kina_review.desk.collection import Collected
    from kina_review.desk.deskmap import DeskMap
    from kina_review.desk.labelling import Purpose
    from kina_review.records import Assignment, Review

Url = Annotated[
    str | None, typer.Option("--url", help="Label Studio server; its token comes from LABEL_STUDIO_API_KEY.")
]
Folder = Annotated[
    Path | None, typer.Option("--folder", help="Folder of CSV worksheets instead of a server.")
]


def push(
    run: Run,
    pool: options.Pool,
    assignments: Assignments,
    *,
    reviewers: ReviewersFile,
    url: Url = None,
    folder: Folder = None,
    batch: Annotated[
        str, typer.Option("--batch", help="Name of the batch, part of the projects' titles.")
    ] = "1",
    reviews: Annotated[
        Path | None,
        typer.Option("--reviews", help="The reviews to grade, where the assignments are of grading."),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Local map of who has what; keep it.")
    ] = Path("desk.json"),
    dry_run: options.DryRun = False,
) -> None:
    """Put assignments on the review desk: a Label Studio server, or CSV worksheets.

    Repeating a push adds only what is not there yet; keep the map, which knows the tasks
    that were pushed. Label Studio's Community edition lets every user open every project:
    that is weak blindness, and `pull` verifies authorship. The key shows there once the
    reviewer has given an answer of their own; a worksheet shows it at once.
    """
    from kina_build.items.pool import read_pool
    from kina_build.jsonl import read_records, write_document
    from kina_review.desk.deskmap import DeskMap
    from kina_review.intake import read_reviewers, read_reviews
    from kina_review.records import Assignment

    _one_desk(url, folder)
    stage = run.stage(
        "review push",
        inputs=[path for path in (pool, assignments, reviewers, reviews) if path],
        outputs=[path for path in (output, folder) if path],
        params={"batch": batch},
        show=_show_written if folder else _show_pushed,
        folders=[folder] if folder else [],
    )
    slots = read_records(assignments, Assignment)
    items = {item.item_id: item for item in read_pool(pool)}
    _check_items(slots, items)
    purpose: Purpose = "grading" if any(slot.review_of for slot in slots) else "review"
    if purpose == "grading" and reviews is None:
        raise UsageError("these assignments are of grading", hint="name the reviews to grade with --reviews")
    graded = {(r.item_id, r.reviewer_id): r for r in (read_reviews(reviews).records if reviews else [])}
    _check_graded(slots, graded)
    if dry_run:
        loads = dict(Counter(slot.reviewer_id for slot in slots))
        run.report({"assignments": len(slots), "purpose": purpose, "loads": loads}, show_loads)
        return
    if folder:
        from kina_build.claims import make_folder
        from kina_review.desk.worksheets import write_worksheets

        make_folder(folder)
        files = write_worksheets(folder, purpose, slots, items, graded)
        write_document(
            output, DeskMap(batch=batch, purpose=purpose, projects=(), assignments=tuple(slots)), private=True
        )
        report = {"worksheets": [file.name for file in files], "assignments": len(slots)}
        stage.finish(report)
        return
    people = read_reviewers(reviewers).records
    from kina_review.desk.deskmap import push as push_to
    from kina_review.desk.labelling import labelling_config
    from kina_review.desk.labelstudio import TOKEN_VARIABLE, DeskServer
    from kina_review.handbook import show_handbook, write_handbook

    earlier = _earlier_map(output, batch, purpose)

    with (
        DeskServer(str(url), os.environ.get(TOKEN_VARIABLE, "")) as server,
        run.console.progress("pushing") as progress,
    ):
        pushed = push_to(
            server,
            batch,
            purpose,
            slots,
            people,
            config=labelling_config(purpose, max(len(item.options) for item in items.values())),
            make_task=_task_maker(items, graded),
            instruction=show_handbook(write_handbook(review_rules(run.settings)), whole=False),
            earlier=earlier,
            on_progress=progress,
        )
    write_document(output, pushed.desk, private=True)
    report = {
        "server": server.version,
        "projects": len(pushed.desk.projects),
        "projects_created": pushed.projects_created,
        "tasks_added": pushed.tasks_added,
        "tasks_there": pushed.tasks_there,
    }
    stage.finish(report)


def pull(
    run: Run,
    desk: Annotated[Path, typer.Argument(help="The map that `kina review push` wrote.")],
    *,
    reviewers: ReviewersFile,
    url: Url = None,
    folder: Folder = None,
    snapshot: Annotated[
        datetime | None,
        typer.Option(
            "--snapshot", help="Deadline (UTC): the last text from before it counts, as pulls kept it."
        ),
    ] = None,
    handed_in: Annotated[
        str | None,
        typer.Option(
            "--handed-in",
            help="Instant (UTC) at which the worksheets came in, where they say none themselves.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Default: reviews.jsonl, or grades.jsonl.")
    ] = None,
    quarantine: Annotated[
        Path, typer.Option("--quarantine", help="What is not believed, each with its reason.")
    ] = Path("quarantine.jsonl"),
) -> None:
    """Fetch reviews (or grades) and verify every one; what is not believed goes to quarantine.

    A review counts only on the task that was pushed for its reviewer, and if the server saw
    that reviewer write it. Every text that a pull sees is kept beside the map (MAP.texts.jsonl):
    after --snapshot the last text from before it counts, whoever edits later. Of two
    annotations of one person the first complete one counts.
    """
    from kina_build.jsonl import read_document, write_records
    from kina_build.rows.source import is_stream
    from kina_review.desk.authorship import Desk
    from kina_review.desk.collection import collect_grades, collect_reviews
    from kina_review.desk.deskmap import DeskMap
    from kina_review.intake import read_reviewers

    _one_desk(url, folder)
    plan = read_document(desk, DeskMap)
    target = output or Path("grades.jsonl" if plan.purpose == "grading" else "reviews.jsonl")
    texts = Path("desk.texts.jsonl") if is_stream(desk) else desk.with_name(f"{desk.stem}.texts.jsonl")
    stage = run.stage(
        "review pull",
        inputs=[path for path in (desk, reviewers, folder) if path],
        outputs=[target, quarantine],
        params={"snapshot": snapshot and snapshot.isoformat(), "handed_in": handed_in},
        show=_show_pulled,
        kept=[] if folder else [texts],
    )
    people = {person.reviewer_id: person for person in read_reviewers(reviewers).records}
    if folder:
        annotations = _from_worksheets(run, folder, handed_in)
        accounts = {slot.reviewer_id: slot.reviewer_id for slot in plan.assignments}
    else:
        annotations = _from_server(run, str(url), plan, texts)
        accounts = {project.reviewer_id: project.account for project in plan.projects}
    against = Desk(accounts, None if folder else plan.tasks, _in_utc(snapshot))
    found: Collected[Any]
    if plan.purpose == "grading":
        found = collect_grades(annotations, plan.assignments, against)
    else:
        payees = {name: person.payee_id for name, person in people.items() if person.payee_id}
        found = collect_reviews(annotations, plan.assignments, against, payees=payees)
    write_records(target, found.results)
    write_records(quarantine, found.quarantine)
    states = Counter(getattr(result, "status", "submitted") for result in found.results)
    report = {
        "annotations": len({annotation.annotation_id for annotation in annotations}),
        "results": dict(sorted(states.items())),
        "quarantined": dict(sorted(Counter(fault.reason for fault in found.quarantine).items())),
        "files": [target.name, quarantine.name],
    }
    stage.finish(report)


def _from_server(run: Run, url: str, plan: DeskMap, path: Path) -> Sequence[Annotation]:
    """Fetch a batch, and keep its texts with those of earlier pulls: a later edit cannot undo them."""
    from kina_build.jsonl import read_records, write_records
    from kina_review.desk.authorship import Annotation, merge_texts
    from kina_review.desk.deskmap import pull as pull_from
    from kina_review.desk.labelstudio import TOKEN_VARIABLE, DeskServer

    if not plan.projects and plan.assignments:
        raise UsageError("this batch went out as worksheets", hint="name their --folder")
    with (
        DeskServer(url, os.environ.get(TOKEN_VARIABLE, "")) as server,
        run.console.progress("pulling") as progress,
    ):
        seen = pull_from(server, plan, progress)
    kept = read_records(path, Annotation) if path.exists() else []
    texts = merge_texts(kept, [text for text in seen if not text.draft])
    if texts:
        write_records(path, texts, private=True)
    return [*texts, *(text for text in seen if text.draft)]


def _from_worksheets(run: Run, folder: Path, handed_in: str | None) -> Sequence[Annotation]:
    from kina_review.desk.worksheets import read_worksheets

    annotations = read_worksheets(folder, need_instant(handed_in, "--handed-in") if handed_in else None)
    undated = sum(annotation.created_at is None for annotation in annotations)
    if undated:
        run.console.warn(
            f"{undated} rows say in no handed_in_at when they came in, so no deadline can be held against "
            "them: give --handed-in"
        )
    return annotations


def _in_utc(moment: datetime | None) -> datetime | None:
    from datetime import UTC

    return None if moment is None else moment.replace(tzinfo=moment.tzinfo or UTC)


def _earlier_map(path: Path, batch: str, purpose: Purpose) -> DeskMap | None:
    """Return the map of an earlier push of this batch, whose task ids must stay known."""
    from kina_build.jsonl import read_document
    from kina_review.desk.deskmap import DeskMap

    if not path.exists():
        return None
    earlier = read_document(path, DeskMap)
    if (earlier.batch, earlier.purpose) == (batch, purpose) or not earlier.projects:
        return earlier
    raise UsageError(
        f"{path}: is the map of batch {earlier.batch} ({earlier.purpose}), which `kina review pull` needs",
        hint="give this batch a map of its own with -o",
    )


def _one_desk(url: str | None, folder: Path | None) -> None:
    if (url is None) == (folder is None):
        raise UsageError("name one desk", hint="--url for a Label Studio server, or --folder for worksheets")


def _check_items(slots: Sequence[Assignment], items: Mapping[str, Item]) -> None:
    strange = sorted({slot.item_id for slot in slots} - items.keys())
    if strange:
        raise UsageError(f"assigned but not in the pool: {', '.join(strange[:5])} ({len(strange)} in all)")


def _check_graded(slots: Sequence[Assignment], graded: Mapping[tuple[str, str], Review]) -> None:
    for slot in slots:
        if slot.review_of and (slot.item_id, slot.review_of) not in graded:
            raise UsageError(
                f"to be graded but not among the reviews: {slot.review_of!r} on item {slot.item_id!r}",
                hint="give the --reviews that `kina review graders` was given",
            )


def _task_maker(
    items: Mapping[str, Item], graded: Mapping[tuple[str, str], Review]
) -> Callable[[Assignment], Mapping[str, Any]]:
    from kina_review.desk.labelling import grading_task, review_task

    def make(slot: Assignment) -> Mapping[str, Any]:
        item, key = items[slot.item_id], str(slot.assignment_id)
        if slot.review_of:
            return grading_task(item, graded[slot.item_id, slot.review_of], key)
        return review_task(item, key)

    return make


def _show_written(report: dict[str, Any], console: Console) -> None:
    console.line(f"{report['assignments']} assignments in {len(report['worksheets'])} worksheets")


def _show_pushed(report: dict[str, Any], console: Console) -> None:
    console.line(
        f"{report['tasks_added']} tasks added, {report['tasks_there']} were there; "
        f"{report['projects']} projects, {report['projects_created']} of them new"
    )


def _show_pulled(report: dict[str, Any], console: Console) -> None:
    rows = [[state, count] for state, count in report["results"].items()]
    rows += [[f"quarantined: {reason}", count] for reason, count in report["quarantined"].items()]
    console.table(f"{report['annotations']} annotations", ["what", "count"], rows)


def register(app: typer.Typer) -> None:
    """Add the desk's commands to `kina review`."""
    command(
        app,
        "push",
        example="kina review push pool.jsonl assignments.jsonl --reviewers reviewers.csv --folder worksheets",
    )(push)
    command(app, "pull", example="kina review pull desk.json --reviewers reviewers.csv --folder worksheets")(
        pull
    )
    review_import.register(app)
