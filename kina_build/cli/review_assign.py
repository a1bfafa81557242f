"""kina review: who reviews what: assign, graders, handbook, status."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.cli.review_page import review_rules
from kina_build.errors import UsageError

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
    from kina_review.desk.assignment import assign_reviewers
    from kina_review.intake import read_reviewers, read_reviews
    from kina_review.records import Assignment

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
    appeals: Annotated[
        Path | None,
        typer.Option(
            "--appeals",
            help="CSV or JSONL of item_id, reviewer_id, made_at: only their items are graded anew.",
        ),
    ] = None,
    earlier: Annotated[
        Path | None,
        typer.Option(
            "--earlier", help="With --appeals: the grading so far, whose adjudicators are not asked."
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", help="With --appeals: last instant (UTC) of an appeal.")
    ] = None,
    seed: options.Seed = 0,
) -> None:
    """Give both reviews of each item to one adjudicator who did not review it.

    With --appeals those of the items named go to a second one, who sees no name and no grade.
    `kina review settle` takes both grades with --scores twice, and their mean counts.
    """
    from kina_build.jsonl import read_records, write_records
    from kina_build.tables import read_typed
    from kina_review.desk.grading_plan import Appeal, plan_appeals, plan_grading
    from kina_review.intake import read_reviewers, read_reviews
    from kina_review.records import Assignment

    if (appeals is None) != (earlier is None) or (until is not None and appeals is None):
        raise UsageError("--appeals and --earlier go together, and --until with them")
    stage = run.stage(
        "review graders",
        inputs=[path for path in (reviews, graders, appeals, earlier) if path],
        outputs=[output],
        params={"seed": seed} | ({"until": until} if until else {}),
        show=show_loads,
    )
    if stage.up_to_date():
        return
    rows, people = read_reviews(reviews).records, read_reviewers(graders).records
    if appeals and earlier:
        plan = plan_appeals(
            read_typed(appeals, Appeal),
            rows,
            read_records(earlier, Assignment),
            people,
            seed=seed,
            until=need_instant(until, "--until") if until else None,
        )
    else:
        plan = plan_grading(rows, people, seed=seed)
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
    from kina_review.handbook import show_handbook, write_handbook

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


def status(run: Run, assignments: Assignments, reviews: ReviewsFile = None) -> None:
    """Show who has done how much, and which items wait for a review."""
    from kina_build.jsonl import read_records
    from kina_review.intake import read_reviews
    from kina_review.records import Assignment

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


def need_instant(text: str, option: str) -> datetime:
    """Read an option that is an instant; one without an offset is taken to be UTC.

    Raises:
        UsageError: it is none.
    """
    from kina_review.instants import check_instant

    try:
        moment = datetime.fromisoformat(str(check_instant(text)))
    except ValueError:
        raise UsageError(f"{option} {text!r} is no instant", hint="such as 2026-03-31T23:59:59Z") from None
    return moment.replace(tzinfo=moment.tzinfo or UTC)


def show_loads(report: dict[str, Any], console: Console) -> None:
    """Print how many assignments each person has."""
    console.table(f"{report['assignments']} assignments", ["who", "has"], list(report["loads"].items()))


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
    """Add the planning commands to `kina review`."""
    command(app, "assign", example="kina review assign pool.jsonl --reviewers reviewers.csv --open-cap 0")(
        assign
    )
    command(app, "graders", example="kina review graders reviews.jsonl --graders graders.csv")(graders)
    command(app, "handbook", example="kina review handbook -o handbook.html")(handbook)
    command(app, "status", example="kina review status assignments.jsonl --reviews reviews.jsonl")(status)
