"""kina demo: the whole flow on the bundled questions, offline."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.errors import KinaError, UsageError
from kina_build.selection.figures import figures_of

BUNDLED = ("pool.csv", "anchors.csv", "reviewers.csv", "reviews.jsonl", "responses.jsonl")


@dataclass(frozen=True)
class Step:
    """One command of the flow, the file it makes, and its outcome in a sentence."""

    line: str
    """As a user types it after `kina`."""
    makes: str
    tell: Callable[[Mapping[str, Any]], str]
    finds_fault: bool = False
    """The data is planted so that this command says no: exit code 1 is right."""


def _tell_release(report: Mapping[str, Any]) -> str:
    from kina_build.release.standalone import share

    found = report["figures"]["selection"]
    reached = share(found["value"], found["bound_asked"])
    return (
        f"{report['items']} of {found['asked']} items, at least {reached} of what {found['asked']} can reach"
    )


STEPS = (
    Step(
        "import pool.csv -o pool.jsonl",
        "pool.jsonl",
        lambda r: f"{r['items']} questions, {len(r['rejects'])} rejects",
    ),
    Step(
        "check pool.jsonl --profile generic -o findings.jsonl",
        "findings.jsonl",
        lambda r: f"{len(r['findings'])} findings, a planted key conflict among them",
        finds_fault=True,
    ),
    Step(
        "dedup pool.jsonl -o duplicates.json",
        "duplicates.json",
        lambda r: f"{r['dropped']} copies dropped, {r['held']} items held over a disputed key",
    ),
    Step(
        "triage responses.jsonl --pool pool.jsonl -o triage.jsonl",
        "triage.jsonl",
        lambda r: f"{r['flagged'].get('agreed_rival', 0)} keys that the models contradict, to be checked",
    ),
    Step(
        "anchors anchors.csv -o anchors.jsonl",
        "anchors.jsonl",
        lambda r: f"{r['anchors']} expert anchors, weighed",
    ),
    Step(
        "support pool.jsonl --anchors anchors.jsonl -o support.npz",
        "support.npz",
        lambda r: f"{r['items']} items scored on {r['anchors']} anchors",
    ),
    Step(
        "budget pool.jsonl --total 36 -o budget.jsonl",
        "budget.jsonl",
        lambda r: "36 items shared over 3 fields",
    ),
    Step(
        "select --support support.npz --anchors anchors.jsonl -k 36 --strata pool.jsonl --quota budget.jsonl"
        " --conflicts duplicates.json --exclude duplicates.json -o selection.json",
        "selection.json",
        lambda r: (
            f"{len(r['item_ids'])} items, objective {r['objective']:.3f}, "
            f"at least {figures_of(r).share} of the optimum"
        ),
    ),
    Step(
        "certify selection.json --support support.npz --anchors anchors.jsonl --strata pool.jsonl"
        " --quota budget.jsonl --conflicts duplicates.json --exclude duplicates.json",
        "",
        lambda r: "the certificate holds",
    ),
    Step(
        "review assign pool.jsonl --reviewers reviewers.csv --open-cap 0 -o assignments.jsonl",
        "assignments.jsonl",
        lambda r: f"{r['assignments']} blind assignments, at most {max(r['loads'].values())} a reviewer",
    ),
    Step(
        "review settle --reviews reviews.jsonl --base 2.00 --bonus 5.00 --currency USD --bar 14 --tie split"
        " --seed 42 --ledger ledger.db --decisions decisions.jsonl --contests contests.jsonl",
        "ledger.db",
        lambda r: f"{r['totals']['total_minor'] / 100:.2f} USD due for {len(r['awards'])} reviews",
    ),
    Step(
        "export pool.jsonl --selection selection.json --decisions decisions.jsonl"
        " --duplicates duplicates.json --allow selection_reduced='review withdrew them' -o release",
        "release/",
        _tell_release,
    ),
    Step(
        # the replies were given to the pool's letters; an exported split has letters of its own
        "score --task multiple-choice --items pool.jsonl --responses responses.jsonl -o scores.jsonl",
        "scores.jsonl",
        lambda r: f"{len(r['models'])} models scored on the pool",
    ),
    Step(
        "rank --scores scores.jsonl --only release/test.jsonl -o leaderboard.json",
        "leaderboard.json",
        lambda r: f"{len(r['standings'])} models in {max(s['tier'] for s in r['standings'])} tiers",
    ),
    Step("report . -o report", "report/index.html", lambda r: "open it in a browser"),
)


def demo(
    run: Run,
    into: Annotated[Path, typer.Option("--into", help="Folder to work in; made if it is not there.")] = Path(
        "demo"
    ),
) -> None:
    """Run the whole flow on the bundled questions, offline, and show what it made.

    118 questions of three fields (two copies of some, one wrong key, one disputed key are
    planted), 40 anchors, 12 reviewers with two reviews an item, replies of 5 made-up models.
    """
    _unpack(into, overwrite=run.overwrite)
    rows = []
    with contextlib.chdir(into):
        for step in STEPS:
            run.console.say(f"$ kina {step.line}")
            rows.append([step.makes, step.tell(_run(step, run))])
    report = {"folder": into.name, "made": [{"file": f, "holds": h} for f, h in rows if f]}
    run.report(report, _show)


def _unpack(into: Path, *, overwrite: bool) -> None:
    from importlib.resources import files

    from kina_build.claims import make_folder

    strangers = [p.name for p in into.iterdir() if p.name not in BUNDLED] if into.is_dir() else []
    if strangers and not overwrite and not (into / BUNDLED[0]).exists():
        raise UsageError(
            f"{into} holds other files ({strangers[0]}, ...)", hint="name a new folder with --into"
        )
    make_folder(into)
    for name in BUNDLED:
        _put(into / name, (files("kina_build") / "data" / name).read_bytes(), overwrite=overwrite)


def _put(path: Path, data: bytes, *, overwrite: bool) -> None:
    from kina_build.claims import sweep
    from kina_build.jsonl import writing

    sweep(path)
    if path.exists() and path.read_bytes() == data:
        return
    if path.exists() and not overwrite:
        raise UsageError(f"{path}: exists and is not the bundled file", hint="--overwrite replaces it")
    with writing(path) as out:
        out.write(data)


def _run(step: Step, run: Run) -> dict[str, Any]:
    """Run one command in this process and return the document it prints."""
    from kina_build.cli.main import app

    out, err = io.StringIO(), io.StringIO()
    more = ["--json", *(["--overwrite"] if run.overwrite else [])]
    with contextlib.redirect_stdout(out), _stderr_kept(err, run.console.verbose):
        code = app([*shlex.split(step.line), *more], standalone_mode=False) or 0
    if code != (1 if step.finds_fault else 0):
        raise KinaError(f"`kina {step.line}` ended with exit code {code}\n{err.getvalue()}".rstrip())
    return dict(json.loads(out.getvalue()))


@contextlib.contextmanager
def _stderr_kept(kept: io.StringIO, verbose: bool) -> Iterator[None]:
    if verbose:
        yield
        return
    with contextlib.redirect_stderr(kept):
        yield


def _show(report: dict[str, Any], console: Console) -> None:
    console.table(
        f"made in {report['folder']}/",
        ["file", "what it holds"],
        [[m["file"], m["holds"]] for m in report["made"]],
    )


def register(app: typer.Typer) -> None:
    """Add `kina demo`."""
    command(app, "demo", example="kina demo --into demo")(demo)
