"""A command is killed before a file-system event, run again, and what it left is compared.

The commands run in forks of this process, which must have no threads: run it as a program
(`python -m tests.kill_points FOLDER [SEED COUNT]`), or call `run_kill_points` from one.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pkgutil
import random
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kina_build
import kina_review

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
}
KILLED = -signal.SIGKILL


@dataclass(frozen=True)
class Trial:
    """A command, and the commands that were run in its folder before."""

    line: str
    before: tuple[str, ...] = ()
    exit_code: int = 0
    secret: tuple[str, ...] = ()
    """Files that no two runs make alike; they must be there or not be there in the same way."""


TRIALS = (
    Trial("import pool.csv -o new.jsonl"),
    Trial("import pool.csv -o new.jsonl", ("import pool.csv --set license=MIT -o new.jsonl",)),
    Trial("check pool.jsonl --profile generic -o new.jsonl", exit_code=1),
    Trial("dedup pool.jsonl --no-near -o new.json --page new.html"),
    Trial("triage responses.jsonl --pool pool.jsonl -o new.jsonl"),
    Trial("anchors anchors.csv -o new.jsonl --worksheet new.csv"),
    Trial("support pool.jsonl --anchors anchors.jsonl --method ratings --ratings ratings.csv -o new.npz"),
    Trial("support pool.jsonl --anchors anchors.jsonl --method ratings --ratings ratings.csv -o parts"),
    Trial(
        "support pool.jsonl --anchors anchors.jsonl --method ratings --ratings ratings.csv --scale 8 "
        "-o parts",
        ("support pool.jsonl --anchors anchors.jsonl --method ratings --ratings ratings.csv -o parts",),
    ),
    Trial("budget pool.jsonl --total 30 -o new.jsonl", ("budget pool.jsonl --total 20 -o new.jsonl",)),
    Trial("select --support support.npz --anchors anchors.jsonl -k 9 -o new.json"),
    Trial("review assign pool.jsonl --reviewers reviewers.csv --open-cap 0 --seed 3 -o assignments.jsonl"),
    Trial(
        "review settle --reviews reviews.jsonl --bar 14 --currency USD --ledger new.db --decisions new.jsonl "
        "--contests new2.jsonl --awards new.csv",
        secret=("new.db", "new.db.key", "new.db.mark", "new.db.payees.json", "new2.jsonl.manifest.json"),
    ),
    Trial(
        "review pay plan --ledger ledger.db -o new.csv",
        secret=("ledger.db", "ledger.db.mark", "new.csv.manifest.json"),
    ),
    Trial("review statement --ledger ledger.db -o statements"),
    Trial("review agreement reviews.jsonl -o new.json"),
    Trial(
        "export pool.jsonl --selection selection.json --decisions decisions.jsonl --seed 5 "
        "--duplicates duplicates.json --allow selection_reduced=review -o release"
    ),
    Trial("score --task multiple-choice --items pool.jsonl --responses responses.jsonl -o new.jsonl"),
    Trial("rank --scores scores.jsonl --samples 100 -o new.json --item-analysis new.jsonl"),
    Trial("report . -o report --title Other"),
)
"""Every one in a folder where the demo has run, with ratings.csv beside it."""


def run_kill_points(
    trial: Trial, folder: Path, choose: Callable[[int], Iterable[int]] = range
) -> tuple[int, list[str]]:
    """Kill a command before file-system events, run it again, and compare with a run left alone.

    Args:
        trial: the command.
        folder: what it finds; it is copied.
        choose: takes how many events there are, and gives those to kill before; all of them.

    Returns:
        How many events there are, and what was wrong, one line a kill.
    """
    with tempfile.TemporaryDirectory() as room:
        start = Path(room) / "start"
        shutil.copytree(folder, start)
        for line in trial.before:
            run(line, start)
        alone = Path(room) / "alone"
        shutil.copytree(start, alone)
        code, events = run(trial.line, alone)
        if code != trial.exit_code:
            return events, [f"{trial.line}: exit code {code}, without any kill"]
        wanted = _contents(alone, trial)
        faults = [_kill(trial, start, Path(room) / f"at-{at}", at, wanted) for at in choose(events)]
    return events, [fault for fault in faults if fault]


def run(line: str, folder: Path, kill_at: int | None = None) -> tuple[int, int]:
    """Run a command in a fork; return its exit code (negative: the signal) and its events."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        _run_here(line, folder, kill_at, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, int(told or 0)


def _run_here(line: str, folder: Path, kill_at: int | None, writer: int) -> None:
    from kina_build.cli.main import app

    os.chdir(folder)
    said = os.open(folder.parent / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    count = _watch(folder.resolve(), kill_at)
    code = 70
    try:
        app(shlex.split(line))
    except SystemExit as left:
        code = int(left.code or 0)
    finally:
        sys.stdout.flush()
        os.write(writer, str(count()).encode())
        os._exit(code)


def _watch(folder: Path, kill_at: int | None) -> Callable[[], int]:
    seen = 0

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal seen
        if _changes(event, args, folder):
            if seen == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1

    sys.addaudithook(hook)
    return lambda: seen


def _changes(event: str, args: tuple[Any, ...], folder: Path) -> bool:
    if event == "ctypes.dlsym":
        return bool(args[1] == "renameat2")
    if event == "open":
        path, _, flags = args
        if not isinstance(path, (str, os.PathLike, bytes)) or not (flags or 0) & WRITING:
            return False
    elif event not in CHANGES:
        return False
    path = os.fsdecode(args[0]) if not isinstance(args[0], int) else ""
    return not Path(path).is_absolute() or Path(os.path.realpath(path)).is_relative_to(folder)


def _kill(trial: Trial, start: Path, folder: Path, at: int, wanted: dict[str, bytes]) -> str:
    shutil.copytree(start, folder)
    code, _ = run(trial.line, folder, kill_at=at)
    if code != KILLED:
        return f"{trial.line}: event {at}: not killed, exit code {code}"
    code, _ = run(trial.line, folder)
    if code != trial.exit_code:
        said = (folder.parent / "said.txt").read_text(errors="replace").strip()
        return f"{trial.line}: killed before event {at}: exit code {code} when run again: {said}"
    found = _contents(folder, trial)
    shutil.rmtree(folder)
    odd = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    return f"{trial.line}: killed before event {at}: {', '.join(odd)}" if odd else ""


def _contents(folder: Path, trial: Trial) -> dict[str, bytes]:
    return {
        name: b"" if path.is_dir() or name in trial.secret else path.read_bytes()
        for path in folder.rglob("*")
        if (name := path.relative_to(folder).as_posix()) != "said.txt"
    }


def prepare(folder: Path) -> None:
    """Put ratings beside what the demo made."""
    pool, listed = ((folder / name).read_text(encoding="utf-8") for name in ("pool.jsonl", "anchors.jsonl"))
    items = [json.loads(line)["item_id"] for line in pool.split("\n") if line]
    anchors = [json.loads(line)["anchor_id"] for line in listed.split("\n") if line]
    rows = [f"{item},{anchors[n % len(anchors)]},0.{1 + n % 9}\n" for n, item in enumerate(items)]
    (folder / "ratings.csv").write_text("item_id,anchor_id,score\n" + "".join(rows), encoding="utf-8")


def load() -> None:
    """Import all that the commands import, once for all forks."""
    for name in (
        "numpy",
        "scipy.sparse",
        "scipy.stats",
        "pyarrow.parquet",
        "jinja2",
        "latex2mathml.converter",
    ):
        importlib.import_module(name)
    for package in (kina_build, kina_review):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def main(arguments: Sequence[str]) -> int:
    """Run all trials on a demo's folder: FOLDER, or FOLDER SEED COUNT for so many kills a trial."""
    folder = Path(arguments[0])
    choose: Callable[[int], Iterable[int]] = range
    if len(arguments) > 1:
        rng, most = random.Random(int(arguments[1])), int(arguments[2])
        choose = lambda events: sorted(rng.sample(range(events), min(most, events)))  # noqa: E731
    faults: list[str] = []
    load()
    for trial in TRIALS:
        with contextlib.suppress(BrokenPipeError):
            events, found = run_kill_points(trial, folder, choose)
            print(f"{events} events, {len(found)} faults: {trial.line}", flush=True)
            faults += found
    print("\n".join(faults))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
