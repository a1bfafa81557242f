"""run/log.jsonl: what ran when, how long, how it ended, at what cost. It decides nothing about staleness."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ConfigDict

from kina_build.errors import InputError, RowErrors, UsageError
from kina_build.rows.jsonl import dump_line, read_records

FOLDER = "run"
LOG = "log.jsonl"
LOCK = "lock"
WORKERS = "workers"


class Case(BaseModel):
    """One thing that waits for people."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    """rejects, gate, key conflict, doubtful key, ...: cases of one kind are counted together."""
    subject: tuple[str, ...] = ()
    """Ids of items, names of gates or files."""
    message: str
    how: str = ""
    """How to go on: a command, or a line of kina.toml."""


class Entry(BaseModel):
    """One command that a build ran."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: str
    line: str
    began: AwareDatetime
    seconds: float
    exit_code: int
    reason: str
    """Why it was run."""
    version: str
    cost: float | None = None
    """What calls to models cost, where the command says it."""
    refused: str = ""
    """Of a command that said no: a digest of what it read and was told, so that the answer still counts."""
    cases: tuple[Case, ...] = ()
    """What it said no to."""


def read_log(root: Path) -> list[Entry]:
    """Read the log, oldest first; a last line that a kill tore is left out.

    Raises:
        InputError: another line that cannot be read.
    """
    path = root / FOLDER / LOG
    if not path.exists() or not path.stat().st_size:
        return []
    try:
        return read_records(path, Entry)
    except RowErrors as error:
        lines = path.read_bytes().split(b"\n")
        if len(error.faults) > 1 or error.faults[0].line != len(lines) or not lines[-1]:
            raise
        whole = b"\n".join(lines[:-1])
    return [Entry.model_validate_json(line) for line in whole.split(b"\n") if line.strip()]


def append(root: Path, entry: Entry) -> None:
    """Add a line to the log; a torn last line, which a kill left, is cut off first.

    Raises:
        InputError: it cannot be written.
    """
    path = root / FOLDER / LOG
    try:
        with path.open("ab+") as out:
            out.seek(0)
            held = out.read()
            if held and not held.endswith(b"\n"):
                out.truncate(held.rfind(b"\n") + 1)
            out.write((dump_line(entry) + "\n").encode())
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror or error}") from None


@contextmanager
def building(root: Path) -> Iterator[int]:
    """Keep other builds of this project out while one runs.

    Yields a file descriptor for the processes that the build starts to inherit: where the build is
    killed, the next one waits until they have ended too.

    Raises:
        UsageError: one runs already.
        InputError: the folder cannot be written.
    """
    import fcntl

    folder = root / FOLDER
    try:
        folder.mkdir(exist_ok=True)
        lock, workers = (folder / LOCK).open("ab"), (folder / WORKERS).open("ab")
    except OSError as error:
        raise InputError(f"{folder}: cannot write: {error.strerror or error}") from None
    with lock, workers:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError("another `kina build` of this project is running") from None
        fcntl.flock(workers, fcntl.LOCK_EX)
        yield workers.fileno()
