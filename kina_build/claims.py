"""What a killed run leaves beside its outputs: claims that the next run knows them by, parts it clears away.

Between the moment an output takes its place and the moment the manifest is there, a hidden
claim `.NAME.claim` says that a run of ours wrote it. Unfinished bytes lie in `.NAME.XXXXXXXX.part`,
locked by the process that writes them: a part that nobody locks is litter.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from kina_build.errors import InputError

PART = re.compile(r"\.(?P<name>.+)\.[a-z0-9_]{8}\.part")
"""`.pool.jsonl.k3x_9a1z.part` is one, `.pool.jsonl.part` is not."""
FOLDER = "folder"
"""The claim on a folder: it is under way, file by file or as a whole."""

_claimed: ContextVar[frozenset[str]] = ContextVar("claimed", default=frozenset())


def expect(outputs: Iterable[Path]) -> None:
    """Name the outputs of the stage that begins: those that are written get a claim."""
    _claimed.set(frozenset(map(_key, outputs)))


def claim_file(path: Path, part: Path) -> None:
    """Claim an expected output for the bytes that are about to take its place."""
    if _key(path) in _claimed.get():
        with part.open("rb") as file:
            _add(path, hashlib.file_digest(file, "sha256").hexdigest())


def claim_folder(path: Path) -> None:
    """Claim an expected folder before anything in it changes."""
    if _key(path) in _claimed.get() and FOLDER not in claims_of(path):
        _add(path, FOLDER)


def claims_of(path: Path) -> frozenset[str]:
    """Return the digests that unfinished runs claimed an output for, or FOLDER."""
    try:
        return frozenset(_claim(path).read_text(encoding="ascii", errors="replace").split())
    except OSError:
        return frozenset()


def drop_claims(paths: Iterable[Path]) -> None:
    """Remove the claims on outputs whose manifest is there."""
    for path in paths:
        _claim(path).unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make the folder of an output, but never the one it lies in, and claim it.

    Raises:
        InputError: it cannot be made.
    """
    try:
        claim_folder(path)
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror or error}") from None


def open_part(path: Path) -> tuple[int, Path]:
    """Open a hidden file beside a path for its bytes, locked while it is open.

    Raises:
        OSError: it cannot be made.
    """
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        with suppress(OSError):  # a file system without locks: nobody sweeps there
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:  # else it was swept before it was locked
            return handle, Path(name)
        os.close(handle)


@contextmanager
def open_part_folder(path: Path) -> Iterator[Path]:
    """Open a hidden folder beside a path, locked while it is filled and removed at the end.

    Raises:
        OSError: it cannot be made.
    """
    while True:
        part = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
        handle = os.open(part, os.O_RDONLY)
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        if part.is_dir():
            break
        os.close(handle)
    try:
        yield part
    finally:
        os.close(handle)
        shutil.rmtree(part, ignore_errors=True)


def sweep(path: Path) -> None:
    """Remove unfinished parts of an output that no process is writing, in a folder those of its files too."""
    for entry in _entries(path.parent):
        found = PART.fullmatch(entry.name)
        if found and found["name"] == path.name:
            _remove_unlocked(path.parent / entry.name)
    for entry in _entries(path) if path.is_dir() else ():
        if PART.fullmatch(entry.name):
            _remove_unlocked(path / entry.name)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _remove_unlocked(litter: Path) -> None:
    try:
        handle = os.open(litter, os.O_RDONLY)
    except OSError:  # another process was faster
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if litter.is_dir():
            shutil.rmtree(litter, ignore_errors=True)
        else:
            litter.unlink(missing_ok=True)
    except OSError:  # somebody is writing it
        return
    finally:
        os.close(handle)


def _key(path: Path) -> str:
    return str(Path(os.path.realpath(path.parent)) / path.name)


def _claim(path: Path) -> Path:
    return path.with_name(f".{path.name}.claim")


def _add(path: Path, what: str) -> None:
    # added to, not replaced: the file that is there now may be known by an earlier claim alone
    with _claim(path).open("a", encoding="ascii") as out:
        out.write(f"\n{what}\n")
