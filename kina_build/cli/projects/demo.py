"""kina demo: the whole flow on the bundled questions, offline: a project, and `kina build` in it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kina_build.cli.command import command
from kina_build.cli.console import Console
from kina_build.cli.projects.build import walk_through
from kina_build.cli.projects.views import show_rest
from kina_build.cli.run import Run
from kina_build.errors import KinaError, UsageError
from kina_build.project.options import DemoOptions

if TYPE_CHECKING:
    from kina_build.project.status import ProjectStatus

SALT = "kina.salt"
"""Of the demo's hidden ids: public, so that two demos make the same bytes."""
BUNDLED = ("kina.toml", "pool.csv", "anchors.csv", "reviewers.csv", "reviews.jsonl", "responses.jsonl", SALT)


def _tell_release(report: Mapping[str, Any]) -> str:
    from kina_build.release.standalone import reached

    found = report["figures"]["selection"]
    share = reached(found, "bound_asked")
    return f"{report['items']} of {found['asked']} items, at least {share} of what {found['asked']} can reach"


def _tell_selection(report: Mapping[str, Any]) -> str:
    from kina_build.selection.figures import figures_of

    found = figures_of(report)
    items = len(report["item_ids"])
    return f"{items} items, objective {found.objective}, at least {found.share} of the optimum"


Tell = Callable[[Mapping[str, Any]], str]
STORY: Mapping[str, tuple[str, Tell]] = {
    "import": ("pool.jsonl", lambda r: f"{r['items']} questions, {len(r['rejects'])} rejects"),
    "check": (
        "findings.jsonl",
        lambda r: f"{len(r['findings'])} findings, a planted key conflict among them",
    ),
    "dedup": (
        "duplicates.json",
        lambda r: f"{r['dropped']} copies dropped, {r['held']} items held over a disputed key",
    ),
    "triage": (
        "triage.jsonl",
        lambda r: f"{r['flagged'].get('agreed_rival', 0)} keys that the models contradict, to be checked",
    ),
    "anchors": ("anchors.jsonl", lambda r: f"{r['anchors']} expert anchors, weighed"),
    "support": ("support.npz", lambda r: f"{r['items']} items scored on {r['anchors']} anchors"),
    "assign": (
        "assignments.jsonl",
        lambda r: f"{r['assignments']} blind assignments, at most {max(r['loads'].values())} a reviewer",
    ),
    "settle": (
        "ledger.db",
        lambda r: f"{r['totals']['total_minor'] / 100:.2f} USD due for {len(r['awards'])} reviews",
    ),
    "leave-out": ("left-out.json", lambda r: f"{r['eligible']} of {r['pool']} items may be selected"),
    "budget": ("budget.jsonl", lambda r: f"{r['total']} items shared over {len(r['k'])} fields"),
    "select": (
        "selection.json",
        _tell_selection,
    ),
    "certify": ("certificate.json", lambda r: "the certificate holds"),
    "export": ("release/", _tell_release),
    "score": ("scores.jsonl", lambda r: f"{len(r['models'])} models scored on the pool"),
    "rank": (
        "leaderboard.json",
        lambda r: f"{len(r['standings'])} models in {max(s['tier'] for s in r['standings'])} tiers",
    ),
    "report": ("report/index.html", lambda r: "open it in a browser"),
}
"""Stage to the file it makes, and its outcome in a sentence."""


def demo(run: Run, options: DemoOptions) -> None:
    """Run the whole flow on the bundled questions, offline, and show what it made.

    118 questions of three fields (two copies of some, one wrong key, one disputed key are
    planted), 40 anchors, 12 reviewers with two reviews an item, replies of 5 made-up models.
    Their kina.toml makes them a project; `kina build` does the rest.
    """
    from kina_build.cli.projects.views import describe_status
    from kina_build.rows.source import reading

    _unpack(options.into, overwrite=run.overwrite)
    with contextlib.chdir(options.into):
        status = walk_through(run, Path("kina.toml"))
        with reading():  # what a forced walk wrote anew, this command may have read before
            made = [{"file": file, "holds": holds} for file, holds in _story(status)]
    stopped = next((one for one in status.stages if one.stops), None)
    if stopped is not None:
        raise KinaError(f"`{stopped.line}`: {stopped.reason}")
    rest = describe_status(status)
    shown = {"folder": options.into.name, "made": made} | {
        key: rest[key] for key in ("stages", "decisions", "funnel", "next")
    }
    run.report(shown | {"reviewed": True}, _show)


def _story(status: ProjectStatus) -> list[tuple[str, str]]:
    """Tell what each stage made, by the document beside it."""
    from kina_build.manifest import Manifest, sidecar
    from kina_build.rows.jsonl import read_document

    rows = []
    for one in status.stages:
        if one.stage in STORY and sidecar(Path(one.artefact)).exists():
            file, tell = STORY[one.stage]
            rows.append((file, tell(read_document(sidecar(Path(one.artefact)), Manifest).report)))
    return rows


def _unpack(into: Path, *, overwrite: bool) -> None:
    from importlib.resources import files

    from kina_build.rows.outputs import make_folder

    strangers = [p.name for p in into.iterdir() if p.name not in BUNDLED] if into.is_dir() else []
    if strangers and not overwrite and not (into / BUNDLED[0]).exists():
        raise UsageError(
            f"{into} holds other files ({min(strangers)}, ...)", hint="name a new folder with --into"
        )
    make_folder(into)
    for name in BUNDLED:
        _put(into / name, (files("kina_build") / "data" / name).read_bytes(), overwrite=overwrite)


def _put(path: Path, data: bytes, *, overwrite: bool) -> None:
    from kina_build.rows.jsonl import writing
    from kina_build.rows.outputs import sweep

    sweep(path)
    if path.exists() and path.read_bytes() == data:
        return
    if path.exists() and not overwrite:
        raise UsageError(f"{path}: exists and is not the bundled file", hint="--overwrite replaces it")
    with writing(path, private=path.name == SALT) as out:
        out.write(data)


def _show(report: dict[str, Any], console: Console) -> None:
    console.table(
        f"made in {report['folder'] or '.'}/",
        ["file", "what it holds"],
        [[m["file"], m["holds"]] for m in report["made"]],
    )
    show_rest(report, console)


def register(app: typer.Typer) -> None:
    """Add `kina demo`."""
    command(app, "demo", example="kina demo --into demo")(demo)
