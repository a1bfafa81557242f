"""Decisions of people: `kina decide` records one, two commands turn them into what stages take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.projects.runner import in_project
from kina_build.cli.run import Run
from kina_build.errors import UsageError
from kina_build.project.options import DecideOptions, LeaveOutOptions, OverridesOptions

if TYPE_CHECKING:
    from kina_build.project.decisions import Rulings


def decide(run: Run, options: DecideOptions) -> None:
    """Record what a person decided: a held pair, an item, a doubtful key, an exception for a gate.

    pair: same, different. item: keep, drop, withdraw. key: right, wrong. finding (an item and a
    rule): fine, mend. gate: allow. columns (a file): map, with a --map for each field. Of any
    kind: open, which takes back what you said. The record is added to decisions/KIND-WHO.jsonl
    with instant, reason and a hash of the texts; the next `kina build` follows it. Deciding again
    replaces what you said before.
    """
    from datetime import UTC, datetime

    from kina_build.items.questions import read_map
    from kina_build.project.deciding import make_ruling, record_ruling
    from kina_build.project.decisions import TEXTLESS
    from kina_build.project.graph.stages import POOL

    kind, subject = options.kind, options.subject
    if len(subject) < 2:
        raise UsageError(
            "name the subject and the verdict", hint="kina decide key q016 right --who ann --reason ..."
        )
    if kind == "gate":
        _check_gate(subject[0])
    with in_project(run.config) as project:
        items = {} if kind in TEXTLESS else _items(project.root / POOL)
        ruling = make_ruling(
            kind,
            subject[:-1],
            subject[-1],
            who=options.who,
            reason=options.reason,
            at=datetime.now(UTC),
            items=items,
            letter=options.letter,
            columns=read_map(options.map),
        )
        path = record_ruling(project.root, ruling)

    def show(report: dict[str, Any], console: Console) -> None:
        console.line(f"{ruling.about}: {ruling.says}; kina build follows it")

    run.report({"file": path.as_posix(), "decision": ruling.model_dump(mode="json")}, show)


def _items(pool: Path) -> dict[str, Any]:
    from kina_build.items.pool import read_pool

    if not pool.exists():
        raise UsageError(f"{pool.name} is not there yet", hint="kina build import makes it")
    return {item.item_id: item for item in read_pool(pool)}


def _check_gate(name: str) -> None:
    from kina_build.release.gates import GATES, HARD

    if name not in GATES or name in HARD:
        allowed = ", ".join(one for one in GATES if one not in HARD)
        raise UsageError(f"{name}: no gate that may be let pass", hint=f"there are: {allowed}")


def overrides(run: Run, options: OverridesOptions) -> None:
    """Turn people's decisions into the overrides that `kina dedup` takes.

    Decisions that contradict one another, and those on texts that have changed, are left out.
    """
    stage = run.start("overrides", options, show=_show_overrides)
    if stage.up_to_date():
        return
    from kina_build.rows.jsonl import write_records

    found = _read_rulings(options.rulings, options.pool)
    write_records(options.output, found.overrides)
    stage.finish({"overrides": len(found.overrides), **_left(found)})


def leave_out(run: Run, options: LeaveOutOptions) -> None:
    """List the items that may not be selected, and the step at which each fell.

    Broken items, contaminated ones, copies, items held over a disputed key, those that people
    dropped and those that reviewers did not accept: the file goes to --exclude of `kina select`
    and `kina budget`. A broken or contaminated item stays where a person decided to keep it.
    """
    stage = run.start("leave-out", options, params={"given": options.given}, show=_show_left_out)
    if stage.up_to_date():
        return
    from kina_build.project.eligible import leave_out as find_left_out
    from kina_build.rows.jsonl import write_document

    rulings = _read_rulings(options.ruling, options.pool)
    found = find_left_out(options, rulings)
    write_document(options.output, found)
    steps = {step.step: len(step.items) for step in found.steps}
    stage.finish({"pool": found.pool, "eligible": found.eligible, "steps": steps, **_left(rulings)})


def _read_rulings(paths: Sequence[Path], pool: Path) -> Rulings:
    from kina_build.items.pool import read_pool
    from kina_build.project.decisions import check_texts, read_ruling_files

    return check_texts(read_ruling_files(paths), {item.item_id: item for item in read_pool(pool)})


def _left(found: Rulings) -> dict[str, Any]:
    return {
        "contradicted": [group[0].about for group in found.torn],
        "changed": [one.about for one in found.changed],
    }


def _show_overrides(report: dict[str, Any], console: Console) -> None:
    console.line(f"{report['overrides']} overrides")
    _show_left(report, console)


def _show_left_out(report: dict[str, Any], console: Console) -> None:
    told = "".join(f", {n} {step}" for step, n in report["steps"].items() if n)
    console.line(f"{report['eligible']} of {report['pool']} items are eligible{told}")
    _show_left(report, console)


def _show_left(report: dict[str, Any], console: Console) -> None:
    for about in report["contradicted"]:
        console.line(f"{about}: people differ, nobody is followed")
    for about in report["changed"]:
        console.line(f"{about}: decided on another text, asked again")


def register(app: typer.Typer) -> None:
    """Add the commands of decisions."""
    command(
        app, "decide", example="kina decide key q016 wrong --letter D --who ann --reason 'table 3 says so'"
    )(decide)
    command(
        app,
        "overrides",
        example="kina overrides decisions/key-ann.jsonl --pool pool.jsonl -o overrides.jsonl",
    )(overrides)
    command(
        app,
        "leave-out",
        example="kina leave-out pool.jsonl --findings findings.jsonl -o left-out.json",
    )(leave_out)
