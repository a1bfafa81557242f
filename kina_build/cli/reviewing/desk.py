"""kina review: who reviews what and who grades it, the handbook, and the exam of those who apply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.contents import add_group
from kina_build.cli.run import Run
from kina_review.desk.options import (
    AssignOptions,
    ExamDrawOptions,
    ExamMarkOptions,
    GradersOptions,
    HandbookOptions,
    ReopenOptions,
)


def assign(run: Run, options: AssignOptions) -> None:
    """Give every item two blind reviewers: eligible, distinct, evenly loaded.

    An item that cannot have two is named with the reviewers who are too few; nothing is
    written then.
    """
    from kina_build.rows.jsonl import write_records
    from kina_review.desk.planning import plan_assignments
    from kina_review.rubric import rules_of

    cap = rules_of(run.settings).open_cap if options.open_cap is None else options.open_cap
    stage = run.start("review assign", options, show=_show_plan, params={"open_cap": cap})
    if stage.up_to_date():
        return
    with run.console.progress("assigning") as progress:
        plan = plan_assignments(options, cap, progress)
    if plan.shortages:
        run.report(plan.report, _show_plan, exit_code=1)
    write_records(options.output, plan.assignments)
    stage.finish(plan.report)


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


def reopen(run: Run, options: ReopenOptions) -> None:
    """Open the next round for the items to revise: two reviewers each who have not seen them.

    The round is paid by the rule and the bar of the item's first round: give `kina review settle` the
    reviews of all rounds together. An item that cannot have two is named, and nothing is written then.
    """
    from kina_build.rows.jsonl import write_records
    from kina_review.desk.planning import plan_next_round

    stage = run.start("review reopen", options, show=_show_plan)
    if stage.up_to_date():
        return
    with run.console.progress("assigning") as progress:
        plan = plan_next_round(options, progress)
    if plan.shortages:
        run.report(plan.report, _show_plan, exit_code=1)
    write_records(options.output, plan.assignments)
    stage.finish(plan.report)


def graders(run: Run, options: GradersOptions) -> None:
    """Give both reviews of each item to one adjudicator who did not review it.

    With --appeals those of the items named go to a second one, who sees no name and no grade.
    `kina review settle` takes both grades with --scores twice, and their mean counts.
    """
    from kina_build.rows.jsonl import write_records
    from kina_review.desk.grading_plan import check_grading, plan_graders

    check_grading(options)
    stage = run.start("review graders", options, show=show_loads)
    if stage.up_to_date():
        return
    grading = plan_graders(options)
    write_records(options.output, grading.assignments)
    stage.finish(grading.report)


def show_loads(report: dict[str, Any], console: Console) -> None:
    """Show how many items each person has."""
    console.table(f"{report['assignments']} assignments", ["who", "has"], list(report["loads"].items()))


def handbook(run: Run, options: HandbookOptions) -> None:
    """Write the reviewers' handbook, or the authors' manual, from the rubric and the pay rules."""
    from kina_build.rows.jsonl import write_text
    from kina_review.manuals import show_page, write_manual
    from kina_review.rubric import rules_of

    def show(report: dict[str, Any], console: Console) -> None:
        console.line(f"{report['file']}: {report['lines']} lines")

    rules, output = rules_of(run.settings), options.output
    params = {"rules": rules.model_dump(mode="json")}
    stage = run.start("review handbook", options, show=show, params=params)
    if stage.up_to_date():
        return
    text = write_manual(options.manual, rules)
    write_text(output, show_page(text) if output.suffix == ".html" else text)
    stage.finish({"file": output.name, "lines": text.count("\n")})


def draw(run: Run, options: ExamDrawOptions) -> None:
    """Draw a recruitment exam of two rounds from a pool with planted bad items, and write its key.

    The folder holds exam-1.md and exam-2.md (and their pages), a table for the answers, and key.jsonl,
    which stays with you.
    """
    from kina_review.desk.exam import write_exam
    from kina_review.rubric import rules_of

    rules = rules_of(run.settings)
    params = {"rules": rules.model_dump(mode="json")}
    stage = run.start("review exam draw", options, show=_show_exam, params=params)
    if not stage.up_to_date():
        stage.finish(write_exam(options, rules))


def _show_exam(report: dict[str, Any], console: Console) -> None:
    files = ", ".join(report["files"])
    console.line(f"{report['questions']} questions in {report['rounds']} rounds: {files}")


def mark(run: Run, options: ExamMarkOptions) -> None:
    """Mark the answers to an exam, and name whoever passed both rounds.

    What is left out is wrong; the kind of a planted flaw must be named. Who fails the first round is
    not marked in the second.
    """
    from kina_review.desk.exam import mark_files
    from kina_review.rubric import rules_of

    run.report(mark_files(options, rules_of(run.settings)), _show_marks)


def _show_marks(report: dict[str, Any], console: Console) -> None:
    rows = [
        [m["candidate_id"], m["round"], f"{m['right']} of {m['asked']}", f"{m['caught']} of {m['planted']}",
         "passed" if m["passed"] else "failed"]
        for m in report["marks"]
    ]  # fmt: skip
    console.table("marks", ["candidate", "round", "right", "flaws seen", "round is"], rows)
    console.line(f"admitted: {', '.join(report['admitted']) or 'nobody'}")


EXAMPLES: Mapping[str, tuple[Callable[..., None], str]] = {
    "assign": (assign, "assign pool.jsonl --reviewers reviewers.csv --open-cap 0"),
    "graders": (graders, "graders reviews.jsonl --graders graders.csv"),
    "reopen": (
        reopen,
        "reopen decisions.jsonl --pool pool.jsonl --reviewers reviewers.csv --earlier assignments.jsonl",
    ),
    "handbook": (handbook, "handbook -o handbook.html"),
}
"""Each command before the reviews, with a line that works on the demo's files."""


def register(app: typer.Typer) -> None:
    """Add the desk's commands to `kina review`."""
    for name, (function, example) in EXAMPLES.items():
        command(app, name, example=f"kina review {example}")(function)
    exam = add_group(app, "exam", "Draw and mark the recruitment exam.")
    command(exam, "draw", example="kina review exam draw pool.jsonl --seeded-bad seeded.csv -o exam")(draw)
    command(exam, "mark", example="kina review exam mark answers.csv --key exam/key.jsonl")(mark)
