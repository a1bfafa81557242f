"""kina init: look at files, and write a kina.toml with what was understood."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.run import Run
from kina_build.errors import UsageError
from kina_build.project.options import InitOptions

if TYPE_CHECKING:
    from kina_build.project.start.propose import Proposal, Understood

CONFIG = Path("kina.toml")


def init(run: Run, options: InitOptions) -> None:
    """Look at files and write a commented kina.toml with what was understood of them.

    Questions are read as `kina import` reads them; anchors, reviewers, reviews and replies are
    known by their columns. A size is proposed: a tenth of the pool, at least one per stratum. Lines
    that nobody but you can fill stand empty, with a comment; `kina build` names them. A kina.toml
    of settings alone gets the tables added.
    """
    from kina_build.project.start.draft import write_toml
    from kina_build.project.start.propose import find_files, look_at

    before = _earlier(run)
    names = [Path(os.path.relpath(path)) for path in options.files or find_files(Path())]
    if not names:
        raise UsageError("there are no files here to look at", hint="kina init FILES...")
    looked = look_at(names, options.template)
    proposal = looked if options.files else looked.readable
    if not proposal.questions:
        raise UsageError("none of the files holds questions", hint="kina import FILE -o pool.jsonl says why")
    text = write_toml(proposal, options.name or Path.cwd().name, options.template)
    from kina_build.config import load_settings
    from kina_build.rows.jsonl import write_text

    write_text(CONFIG, f"{before}\n{text}" if before else text)
    load_settings(CONFIG)
    run.report(_report(looked, text), _show)


def _earlier(run: Run) -> str:
    """Return the settings that stand here already; a project is not written over unasked.

    Raises:
        UsageError: there is a project.
    """
    import tomllib

    from kina_build.rows.jsonl import read_text

    if not CONFIG.exists() or run.overwrite:
        return ""
    text = read_text(CONFIG)
    try:
        held = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{CONFIG}: {error}", hint="mend it, or replace it with --overwrite") from None
    if "project" in held or "batch" in held.get("review", {}):
        raise UsageError(f"{CONFIG}: holds a project already", hint="edit it, or replace it with --overwrite")
    return text


def _report(proposal: Proposal, text: str) -> dict[str, Any]:
    kinds = ("anchors", "reviewers", "reviews", "responses")
    files = [{"file": one.name, "holds": _holds(one), "note": _note(one)} for one in proposal.questions]
    files += [{"file": name, "holds": kind, "note": ""} for kind in kinds for name in getattr(proposal, kind)]
    lines = [line.strip() for line in text.splitlines() if "# fill in" in line and not line.startswith("#")]
    return {"written": CONFIG.name, "files": files, "fill_in": lines}


def _holds(one: Understood) -> str:
    if not (one.items or one.rejects or one.first):
        return "questions"
    return f"{len(one.items)} questions" + (f", {one.rejects} rows not read" if one.rejects else "")


def _note(one: Understood) -> str:
    return one.first or ("columns proposed: look at the map" if one.proposed else "")


def _show(report: dict[str, Any], console: Console) -> None:
    console.table(
        "looked at",
        ["file", "holds", "note"],
        [[one["file"], one["holds"], one["note"]] for one in report["files"]],
    )
    if report["fill_in"]:
        console.line(f"{report['written']} is written; fill in:")
        for line in report["fill_in"]:
            console.line(f"  {line}")
    else:
        console.line(f"{report['written']} is written")
    console.line("then: kina build")


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "init", example="kina init pool.csv anchors.csv")(init)
