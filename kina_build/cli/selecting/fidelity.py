"""Commands about short forms of a pool, and about how hard its items are."""

from __future__ import annotations

from typing import Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.run import Run
from kina_build.fidelity.options import DifficultyOptions, ShrinkOptions


def shrink(run: Run, options: ShrinkOptions) -> None:
    """Choose a short form of a pool, with the error it has for models it has not seen.

    Methods and estimators are compared by leaving models out, over many draws; stratified random
    is taken where nothing is better than it. 300 random forms of the same size stand beside.
    """
    from kina_build.fidelity.shrink import shrink_files

    rules = run.section(options, "fidelity")
    stage = run.start("shrink", options, params={"rules": rules.model_dump()}, show=_show_form)
    if stage.up_to_date():
        return
    with run.console.progress("leaving models out") as bar:
        form = shrink_files(options, rules, bar)
    if options.output is not None:
        form.write(options.output)
    if options.write_estimator is not None:
        form.estimator.write(options.write_estimator)
    stage.finish(form.report, packages=("numpy", "scipy"))


def difficulty(run: Run, options: DifficultyOptions) -> None:
    """Measure how hard items are and how well they tell models apart, with intervals.

    Classical figures, one- and two-parameter item response theory, fit and sign checks. Says when
    there are too few models for what it prints. `kina select --balance difficulty:5` takes the file.
    """
    from kina_build.fidelity.difficulty import measure_difficulty
    from kina_build.fidelity.responses import read_responses_of

    rules = run.section(options, "fidelity")
    stage = run.start("difficulty", options, params={"rules": rules.model_dump()}, show=_show_difficulty)
    if stage.up_to_date():
        return
    found = measure_difficulty(read_responses_of(options), rules)
    if options.output is not None:
        found.write(options.output)
    stage.finish(found.report, packages=("numpy", "scipy"))


def register(app: typer.Typer) -> None:
    """Add this group's commands to an app."""
    example = "kina shrink scores.jsonl -k 20 -o short.json --write-estimator estimator.json"
    command(app, "shrink", example=example)(shrink)
    command(app, "difficulty", example="kina difficulty scores.jsonl -o difficulty.jsonl")(difficulty)


def _show_form(report: dict[str, Any], console: Console) -> None:
    found = report["estimator"]
    console.line(found["statement"])
    keys = ("method", "estimator", "error", "standard_error", "tau")
    rows = [[one[key] for key in keys] for one in report["tried"]]
    console.table("tried, models left out one by one", ["method", "estimator", "error", "+-", "tau"], rows)
    for way in found["left_out"][1:]:
        console.line(
            f"left out {way['how']}: off by {way['error']:.2f} points "
            f"({way['low']:.2f} to {way['high']:.2f}), bias {way['bias']:+.2f}"
        )
    random = found["random"]
    beaten = "" if random["beaten_tau"] is None else f", {random['beaten_tau']:.0%} for tau"
    console.line(
        f"{random['draws']} stratified random forms, same size and estimator: {random['error']:.2f} "
        f"({random['low']:.2f} to {random['high']:.2f}) points; this form beats "
        f"{random['beaten_error']:.0%} of them for error{beaten}"
    )
    console.line(
        f"raw scores of this form lie {found['raw_bias']:+.2f} points off the pool's on average, "
        f"at most {found['raw_most']:.2f}"
    )


def _show_difficulty(report: dict[str, Any], console: Console) -> None:
    console.line(f"{report['items']} items by {report['models']} models")
    for flag, count in report["flags"].items():
        console.line(f"{flag}: {count}")
    for warning in report["warnings"]:
        console.line(warning)
    console.line("hardest: " + ", ".join(report["hardest"]))
