"""kina build, kina status and what tells of a project: one file, and the graph of commands behind it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.projects import decide, init
from kina_build.cli.projects.runner import InProcess, in_project
from kina_build.cli.projects.views import describe_status, show_build, show_status
from kina_build.cli.run import Run
from kina_build.progress import Progress
from kina_build.project.options import BuildOptions, LogOptions, StatusOptions, WhyOptions

if TYPE_CHECKING:
    from kina_build.project.folder import Project
    from kina_build.project.graph.stages import Stage
    from kina_build.project.log import Entry
    from kina_build.project.runner import Outcome
    from kina_build.project.status import ProjectStatus
    from kina_build.project.walk import Walk


def build(run: Run, options: BuildOptions) -> None:
    """Run what is stale, in order of dependence, and say what waits for people.

    The plain command of each stage is printed, and works when it is typed. Stages that do not
    need each other run side by side, as many as there are cores (engine.workers). A branch that
    waits or is refused stops; the others go on. A build that was stopped goes on where it was.
    Exit 0 complete, 1 something waits or was refused, 2 something is wrong.
    """
    if options.dry_run:
        _show_plan(run, options.stage)
        return
    status = walk_through(run, run.config, options.stage)
    run.report(describe_status(status), show_build, exit_code=status.exit_code)


def walk_through(run: Run, config: Path | None, target: str | None = None) -> ProjectStatus:
    """Build a project and return what state it is in.

    Args:
        run: whose console tells of each stage, and whose flags count for each.
        config: the project's kina.toml; None: the nearest.
        target: stage to build, with those that it needs; None: all.

    Raises:
        UsageError: no project, no such stage, or another build is running.
        ConfigError: a table that cannot be read.
    """
    from kina_build.cli.projects.crew import gather_crew
    from kina_build.project.log import building
    from kina_build.project.runner import Work
    from kina_build.project.status import read_status
    from kina_build.project.walk import Walk

    rules = run.settings.engine
    places, runner = rules.workers or os.cpu_count() or 1, InProcess(run.overwrite, run.force)
    with (
        in_project(config) as project,
        building(project.root) as held,
        gather_crew(runner, places, held, apart=rules.kind == "ray") as crew,
        run.console.progress("building", elapsed=True) as bar,
    ):
        walk = Walk(project, runner, force=run.force)
        walk.work = Work(project, runner, crew, began=_begin(run.console), ended=_end(run.console, walk, bar))
        return read_status(walk, target)


def _begin(console: Console) -> Callable[[Stage], None]:
    return lambda stage: console.say(f"$ {stage.line}")


def _end(console: Console, walk: Walk, bar: Progress) -> Callable[[Entry, Outcome], None]:
    def tell(entry: Entry, outcome: Outcome) -> None:
        """Say how a stage ended, by its name: others may have begun meanwhile."""
        if console.verbose:
            for line in outcome.said:
                console.say(f"  {entry.stage}: {line}")
        stage = walk.graph.nodes[entry.stage]["stage"]
        console.say(
            f"  {entry.stage}: {_ended(stage, outcome)}, {entry.seconds:.1f} s (because: {entry.reason})"
        )
        bar(len(walk.statuses) + 1, len(walk.graph))

    return tell


def _ended(stage: Stage, outcome: Outcome) -> str:
    if outcome.exit_code == 1:
        return "done, with findings" if stage.finds else "refused"
    return f"failed ({outcome.exit_code})" if outcome.exit_code else "done"


def _show_plan(run: Run, target: str | None) -> None:
    from kina_build.project.status import read_status
    from kina_build.project.walk import Walk

    with in_project(run.config) as project:
        status = read_status(Walk(project, InProcess()), target)
    stale = [one for one in status.stages if one.state == "stale"]
    report = {"lines": [{"stage": one.stage, "line": one.line, "reason": one.reason} for one in stale]}

    def show(report: dict[str, Any], console: Console) -> None:
        for one in report["lines"]:
            console.line(one["line"])
        if not report["lines"]:
            console.line("nothing to run")

    run.report(report, show)


def status(run: Run, options: StatusOptions) -> None:
    """Show what each stage's state is, what waits for people, and how to go on.

    fresh: nothing to do. stale: to be run, for the reason named. waiting: for people. blocked: by
    another stage, or by a fault. Writes nothing. Exit 1 when something waits or is blocked.
    """
    from kina_build.project.status import read_status
    from kina_build.project.walk import Walk

    with in_project(run.config) as project:
        if options.items is not None:
            _show_items(run, project, options.items)
            return
        found = read_status(Walk(project, InProcess()))
        run.report(describe_status(found), show_status, exit_code=int(found.waits))


def _show_items(run: Run, project: Project, step: str) -> None:
    from kina_build.errors import UsageError
    from kina_build.project.funnel import read_funnel

    levels = {level.step: level for level in read_funnel(project)}
    if step not in levels:
        raise UsageError(
            f"--items {step}: no such step", hint=f"there are: {', '.join(levels) or 'none yet'}"
        )

    def show(report: dict[str, Any], console: Console) -> None:
        console.table(
            f"{step}: {report['count']} items",
            ["item", "what"],
            [list(one) for one in report["items"].items()],
        )

    run.report(levels[step].model_dump(mode="json"), show)


def why(run: Run, options: WhyOptions) -> None:
    """Tell the life of one item across all files of the project.

    Where it was imported from, what was found, its copies, support and reviews, what was decided,
    whether and as which pick it was selected or why not, what it is released as, who answered it.
    """
    from kina_build.project.life.told import tell_life

    with in_project(run.config) as project:
        life = tell_life(project, options.item)

        def show(report: dict[str, Any], console: Console) -> None:
            console.table(
                f"item {options.item}",
                ["stage", "what"],
                [[one["stage"], one["what"]] for one in report["life"]],
            )

        run.report({"item_id": options.item, "life": [one.model_dump(mode="json") for one in life]}, show)


def log(run: Run, options: LogOptions) -> None:
    """Show what `kina build` ran when, why, how long it took, how it ended, and what it cost."""
    from kina_build.project.log import read_log

    with in_project(run.config) as project:
        entries = read_log(project.root)[-options.limit :]

    def show(report: dict[str, Any], console: Console) -> None:
        columns = ["began", "stage", "seconds", "exit", "cost", "why"]
        rows = [
            [one["began"], one["stage"], one["seconds"], one["exit_code"], one["cost"], one["reason"]]
            for one in report["log"]
        ]
        console.table("what was run", columns, rows)

    run.report({"log": [entry.model_dump(mode="json") for entry in entries]}, show)


def doctor(run: Run) -> None:
    """Check encoder, kept vectors, ledger, permissions, litter, versions and extras.

    Each fault comes with the way to mend it. Exit 1 when there is one; what merely lacks is a note.
    """
    from kina_build.project.doctor import examine
    from kina_build.project.folder import find_project

    checks = list(examine(find_project(run.config), run.settings, os.environ))
    faults = sum(one.state == "fault" for one in checks)
    report = {"faults": faults, "checks": [one.model_dump() for one in checks]}
    run.report(report, _show_checks, exit_code=int(faults > 0))


def _show_checks(report: dict[str, Any], console: Console) -> None:
    rows = [[one["about"], one["state"], one["message"], one["how"]] for one in report["checks"]]
    console.table("checked", ["what", "state", "found", "how to mend it"], rows)
    console.line(f"{report['faults']} faults" if report["faults"] else "fit to build")


def register(app: typer.Typer) -> None:
    """Add the commands of projects."""
    init.register(app)
    command(app, "build", example="kina build")(build)
    command(app, "status", example="kina status")(status)
    command(app, "why", example="kina why q016")(why)
    command(app, "log", example="kina log")(log)
    decide.register(app)
    command(app, "doctor", example="kina doctor")(doctor)
