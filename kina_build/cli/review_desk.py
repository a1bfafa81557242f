"""kina review: assign, graders, handbook, push, pull, status."""

from __future__ import annotations

import os
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.cli.review_page import review_rules
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kina_build.items.model import Item
    from review.collection import Collected
    from review.labelling import Purpose
    from review.records import Assignment, Review

ReviewersFile = Annotated[
    Path,
    typer.Option(
        "--reviewers",
        help="CSV or JSONL: reviewer_id, and where known payee_id, affiliation, fields, conflicts, "
        "account, capacity (several values joined by ';').",
    ),
]
ReviewsFile = Annotated[Path | None, typer.Option("--reviews", help="Reviews that are in: reviews.jsonl.")]
Assignments = Annotated[Path, typer.Argument(help="assignments.jsonl, or what `kina review graders` wrote.")]
Url = Annotated[
    str | None, typer.Option("--url", help="Label Studio server; its token comes from LABEL_STUDIO_API_KEY.")
]
Folder = Annotated[
    Path | None, typer.Option("--folder", help="Folder of CSV worksheets instead of a server.")
]


def assign(
    run: Run,
    pool: options.Pool,
    *,
    reviewers: ReviewersFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Assignments to write.")] = Path(
        "assignments.jsonl"
    ),
    earlier: Annotated[
        Path | None, typer.Option("--earlier", help="Assignments made before; their pairs are kept.")
    ] = None,
    reviews: ReviewsFile = None,
    reassign: Annotated[
        bool, typer.Option("--reassign", help="Give slots of --earlier without a review to somebody else.")
    ] = False,
    open_cap: Annotated[
        int | None,
        typer.Option("--open-cap", min=0, help="Most unfinished items a reviewer; 0: no cap."),
    ] = None,
    load_cap: Annotated[
        int | None, typer.Option("--load-cap", min=1, help="Most items a reviewer in all.")
    ] = None,
    by_affiliation: Annotated[
        bool, typer.Option("--by-affiliation", help="Keep people of one affiliation apart.")
    ] = False,
    seed: options.Seed = 0,
) -> None:
    """Give every item two blind reviewers: eligible, distinct, evenly loaded.

    An item that cannot have two is named with the reviewers who are too few; nothing is
    written then.
    """
    from kina_build.items.pool import read_pool
    from kina_build.jsonl import read_records, write_records
    from review.assignment import assign_reviewers
    from review.intake import read_reviewers, read_reviews
    from review.records import Assignment

    cap = review_rules(run.settings).open_cap if open_cap is None else open_cap
    params = {
        "reassign": reassign,
        "open_cap": cap,
        "load_cap": load_cap,
        "by_affiliation": by_affiliation,
        "seed": seed,
    }
    inputs = [path for path in (pool, reviewers, earlier, reviews) if path]
    stage = run.stage("review assign", inputs=inputs, outputs=[output], params=params, show=_show_plan)
    if stage.up_to_date():
        return
    before = read_records(earlier, Assignment) if earlier else []
    done = {
        (review.item_id, review.reviewer_id)
        for review in (read_reviews(reviews).records if reviews else [])
        if review.status == "submitted"
    }
    slots = {(slot.item_id, slot.reviewer_id) for slot in before}
    with run.console.progress("assigning") as progress:
        plan = assign_reviewers(
            read_pool(pool),
            read_reviewers(reviewers).records,
            seed=seed,
            earlier=before,
            released=slots - done if reassign else (),
            finished=done,
            open_cap=cap or None,
            load_cap=load_cap,
            by_affiliation=by_affiliation,
            on_progress=progress,
        )
    report = {
        "assignments": len(plan.assignments),
        "added": plan.added,
        "repeated_pairs": plan.repeated_pairs,
        "waiting": list(plan.waiting),
        "loads": plan.loads,
        "shortages": [
            {
                "item_ids": list(shortage.item_ids),
                "reviewer_ids": list(shortage.reviewer_ids),
                "needed": shortage.needed,
                "available": shortage.available,
            }
            for shortage in plan.shortages
        ],
    }
    if plan.shortages:
        run.report(report, _show_plan, exit_code=1)
    write_records(output, plan.assignments)
    stage.finish(report)


def graders(
    run: Run,
    reviews: Annotated[Path, typer.Argument(help="Reviews to grade: reviews.jsonl.")],
    graders: Annotated[
        Path, typer.Option("--graders", help="Adjudicators, in the form of a reviewers' file.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Grading assignments to write.")] = Path(
        "grading.jsonl"
    ),
    seed: options.Seed = 0,
) -> None:
    """Give both reviews of each item to one adjudicator who did not review it."""
    from kina_build.jsonl import write_records
    from review.grading_plan import plan_grading
    from review.intake import read_reviewers, read_reviews

    stage = run.stage(
        "review graders", inputs=[reviews, graders], outputs=[output], params={"seed": seed}, show=_show_loads
    )
    if stage.up_to_date():
        return
    plan = plan_grading(read_reviews(reviews).records, read_reviewers(graders).records, seed=seed)
    write_records(output, plan)
    stage.finish({"assignments": len(plan), "loads": dict(Counter(slot.reviewer_id for slot in plan))})


def handbook(
    run: Run,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="handbook.md or handbook.html: the suffix decides.")
    ] = Path("handbook.md"),
) -> None:
    """Write the reviewers' handbook from the rubric and the pay rules."""
    from kina_build.jsonl import write_text
    from review.handbook import show_handbook, write_handbook

    rules = review_rules(run.settings)
    stage = run.stage(
        "review handbook",
        inputs=[],
        outputs=[output],
        params={"rules": rules.model_dump(mode="json")},
        show=lambda report, console: console.line(f"{report['file']}: {report['lines']} lines"),
    )
    if stage.up_to_date():
        return
    text = write_handbook(rules)
    write_text(output, show_handbook(text) if output.suffix == ".html" else text)
    stage.finish({"file": output.name, "lines": text.count("\n")})


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

    Repeating a push adds only what is not there yet. Label Studio's Community edition lets
    every user open every project: that is weak blindness, and `pull` verifies authorship.
    """
    from kina_build.items.pool import read_pool
    from kina_build.jsonl import read_records, write_document
    from review.intake import read_reviewers, read_reviews
    from review.labelstudio import DeskMap
    from review.records import Assignment

    _one_desk(url, folder)
    slots = read_records(assignments, Assignment)
    items = {item.item_id: item for item in read_pool(pool)}
    _check_items(slots, items)
    purpose: Purpose = "grading" if any(slot.review_of for slot in slots) else "review"
    if purpose == "grading" and reviews is None:
        raise UsageError("these assignments are of grading", hint="name the reviews to grade with --reviews")
    graded = {(r.item_id, r.reviewer_id): r for r in (read_reviews(reviews).records if reviews else [])}
    if dry_run:
        loads = dict(Counter(slot.reviewer_id for slot in slots))
        run.report({"assignments": len(slots), "purpose": purpose, "loads": loads}, _show_loads)
        return
    if folder:
        from review.worksheets import write_worksheets

        files = write_worksheets(folder, purpose, slots, items, graded)
        write_document(output, DeskMap(batch=batch, purpose=purpose, projects=(), assignments=tuple(slots)))
        report = {"worksheets": [file.name for file in files], "assignments": len(slots)}
        run.report(
            report,
            lambda r, c: c.line(f"{r['assignments']} assignments in {len(r['worksheets'])} worksheets"),
        )
        return
    people = read_reviewers(reviewers).records
    from review.labelling import labelling_config
    from review.labelstudio import TOKEN_VARIABLE, DeskServer
    from review.labelstudio import push as push_to

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
            on_progress=progress,
        )
    write_document(output, pushed.desk)
    report = {
        "server": server.version,
        "projects": len(pushed.desk.projects),
        "projects_created": pushed.projects_created,
        "tasks_added": pushed.tasks_added,
        "tasks_there": pushed.tasks_there,
    }
    run.report(report, _show_pushed)


def pull(
    run: Run,
    desk: Annotated[Path, typer.Argument(help="The map that `kina review push` wrote.")],
    *,
    reviewers: ReviewersFile,
    url: Url = None,
    folder: Folder = None,
    snapshot: Annotated[
        datetime | None,
        typer.Option("--snapshot", help="Instant (UTC) after which an edit no longer counts."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Default: reviews.jsonl, or grades.jsonl.")
    ] = None,
    quarantine: Annotated[
        Path, typer.Option("--quarantine", help="What is not believed, each with its reason.")
    ] = Path("quarantine.jsonl"),
) -> None:
    """Fetch reviews (or grades) and verify every one; what is not believed goes to quarantine."""
    from datetime import UTC

    from kina_build.jsonl import read_document, write_records
    from review.collection import collect_grades, collect_reviews
    from review.intake import read_reviewers
    from review.labelstudio import DeskMap

    _one_desk(url, folder)
    plan = read_document(desk, DeskMap)
    people = {person.reviewer_id: person for person in read_reviewers(reviewers).records}
    cutoff = None if snapshot is None else snapshot.replace(tzinfo=snapshot.tzinfo or UTC)
    if folder:
        from review.worksheets import read_worksheets

        annotations = read_worksheets(folder)
        accounts = {slot.reviewer_id: slot.reviewer_id for slot in plan.assignments}
    else:
        from review.labelstudio import TOKEN_VARIABLE, DeskServer
        from review.labelstudio import pull as pull_from

        with (
            DeskServer(str(url), os.environ.get(TOKEN_VARIABLE, "")) as server,
            run.console.progress("pulling") as progress,
        ):
            annotations = pull_from(server, plan, progress)
        accounts = {project.reviewer_id: project.account for project in plan.projects}
    found: Collected[Any]
    if plan.purpose == "grading":
        found = collect_grades(annotations, plan.assignments, accounts, snapshot=cutoff)
    else:
        payees = {name: person.payee_id for name, person in people.items() if person.payee_id}
        found = collect_reviews(annotations, plan.assignments, accounts, payees=payees, snapshot=cutoff)
    target = output or Path("grades.jsonl" if plan.purpose == "grading" else "reviews.jsonl")
    write_records(target, found.results)
    write_records(quarantine, found.quarantine)
    states = Counter(getattr(result, "status", "submitted") for result in found.results)
    report = {
        "annotations": len(annotations),
        "results": dict(sorted(states.items())),
        "quarantined": dict(sorted(Counter(fault.reason for fault in found.quarantine).items())),
        "files": [target.name, quarantine.name],
    }
    run.report(report, _show_pulled)


def status(run: Run, assignments: Assignments, reviews: ReviewsFile = None) -> None:
    """Show who has done how much, and which items wait for a review."""
    from kina_build.jsonl import read_records
    from review.intake import read_reviews
    from review.records import Assignment

    slots = read_records(assignments, Assignment)
    states = {
        (r.item_id, r.reviewer_id): r.status for r in (read_reviews(reviews).records if reviews else [])
    }
    people: dict[str, Counter[str]] = {}
    done_of: Counter[str] = Counter()
    for slot in slots:
        state = states.get((slot.item_id, slot.reviewer_id), "open")
        people.setdefault(slot.reviewer_id, Counter())[state] += 1
        done_of[slot.item_id] += state == "submitted"
    by_count = Counter(done_of.values())
    report = {
        "items": {"both": by_count[2], "one": by_count[1], "none": by_count[0]},
        "reviewers": {
            name: {"assigned": sum(c.values()), **dict(sorted(c.items()))}
            for name, c in sorted(people.items())
        },
    }
    run.report(report, _show_status)


def _one_desk(url: str | None, folder: Path | None) -> None:
    if (url is None) == (folder is None):
        raise UsageError("name one desk", hint="--url for a Label Studio server, or --folder for worksheets")


def _check_items(slots: Sequence[Assignment], items: Mapping[str, Item]) -> None:
    strange = sorted({slot.item_id for slot in slots} - items.keys())
    if strange:
        raise UsageError(f"assigned but not in the pool: {', '.join(strange[:5])} ({len(strange)} in all)")


def _task_maker(
    items: Mapping[str, Item], graded: Mapping[tuple[str, str], Review]
) -> Callable[[Assignment], Mapping[str, Any]]:
    from review.labelling import grading_task, review_task

    def make(slot: Assignment) -> Mapping[str, Any]:
        item, key = items[slot.item_id], str(slot.assignment_id)
        if slot.review_of:
            return grading_task(item, graded[slot.item_id, slot.review_of], key)
        return review_task(item, key)

    return make


def _show_plan(report: dict[str, Any], console: Console) -> None:
    if report["shortages"]:
        console.line("no assignment can serve these items:")
        for short in report["shortages"]:
            who = ", ".join(short["reviewer_ids"]) or "nobody"
            console.line(
                f"  {len(short['item_ids'])} items ({', '.join(short['item_ids'][:5])}, ...) need "
                f"{short['needed']} reviews; {who} can give {short['available']}"
            )
        return
    loads = report["loads"].values()
    console.line(f"{report['assignments']} assignments, {report['added']} of them new")
    console.line(f"loads {min(loads)} to {max(loads)}; pairs repeated: {report['repeated_pairs']}")
    if report["waiting"]:
        console.line(f"{len(report['waiting'])} items wait until open work is done (--open-cap)")


def _show_loads(report: dict[str, Any], console: Console) -> None:
    console.table(f"{report['assignments']} assignments", ["who", "has"], list(report["loads"].items()))


def _show_pushed(report: dict[str, Any], console: Console) -> None:
    console.line(
        f"{report['tasks_added']} tasks added, {report['tasks_there']} were there; "
        f"{report['projects']} projects, {report['projects_created']} of them new"
    )


def _show_pulled(report: dict[str, Any], console: Console) -> None:
    rows = [[state, count] for state, count in report["results"].items()]
    rows += [[f"quarantined: {reason}", count] for reason, count in report["quarantined"].items()]
    console.table(f"{report['annotations']} annotations", ["what", "count"], rows)


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


def register(app: typer.Typer) -> None:
    """Add the desk's commands to `kina review`."""
    command(app, "assign", example="kina review assign pool.jsonl --reviewers reviewers.csv --open-cap 0")(
        assign
    )
    command(app, "handbook", example="kina review handbook -o handbook.html")(handbook)
    command(
        app,
        "push",
        example="kina review push pool.jsonl assignments.jsonl --reviewers reviewers.csv --folder worksheets",
    )(push)
    command(app, "pull", example="kina review pull desk.json --reviewers reviewers.csv --folder worksheets")(
        pull
    )
    command(app, "status", example="kina review status assignments.jsonl --reviews reviews.jsonl")(status)
    command(app, "graders", example="kina review graders reviews.jsonl --graders graders.csv")(graders)
