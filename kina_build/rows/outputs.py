"""Outputs take their place, files and folders in one step, and what a killed run leaves beside them is known.

Between the moment an output takes its place and the moment the manifest is there, a hidden
claim `.NAME.claim` says that a run of ours wrote it. Unfinished bytes lie in `.NAME.XXXXXXXX.part`,
locked by the process that writes them: a part that nobody locks is litter.
"""

from __future__ import annotations

import ctypes
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
from kina_build.rows.workfolders import remove_mark_last

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


HERE = -100
"""AT_FDCWD: paths are relative to the current folder."""
EXCHANGE = 2
"""RENAME_EXCHANGE of renameat2."""


def replace_folder(fresh: Path, target: Path) -> None:
    """Put a folder in the place of another, and remove what stood there.

    Raises:
        OSError: the place cannot be written.
    """
    recover_folder(target)
    claim_folder(target)
    if not target.is_dir():
        fresh.rename(target)
    elif exchange(fresh, target):
        _remove(fresh)
    else:
        # a folder cannot be renamed over a full one: step aside, step in; recover_folder mends a stop between
        target.rename(_aside(target))
        fresh.rename(target)
        _remove(_aside(target))


def recover_folder(target: Path) -> None:
    """Mend what a replacement that was stopped left: no folder at the target, or the old one beside it."""
    aside = _aside(target)
    if target.is_file() or not aside.is_dir():
        return
    if target.is_dir():
        _remove(aside)
    else:
        aside.rename(target)


def exchange(one: Path, other: Path) -> bool:
    """Let two folders change places at once; False where the system or the file system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(rename(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE) == 0)


def refuse_links(folder: Path) -> None:
    """Refuse a folder that leads elsewhere: what is read of it must lie in it.

    Raises:
        InputError: something in it is a link.
    """
    hidden = {path for path in folder.glob(".*") if path.is_dir() and not path.is_symlink()}
    shown = [path for path in folder.glob("*") if path not in hidden]
    for path in sorted([*shown, *(one for top in shown if top.is_dir() for one in top.rglob("*"))]):
        if path.is_symlink():
            raise InputError(
                f"{path}: is a link, so what it shows does not lie in the folder",
                hint="put the file itself in its place",
            )


def refuse_strangers(folder: Path) -> None:
    """Refuse a release folder in which something lies that its own SHA256SUMS does not list, or a link.

    Hidden entries at its top (`.git`) are nobody's business; a folder without sums is not judged.

    Raises:
        InputError: something in it is a link, or no part of the release.
    """
    refuse_links(folder)
    sums = folder / "SHA256SUMS"
    if not sums.is_file():
        return
    lines = sums.read_text(encoding="utf-8", errors="replace").splitlines()
    listed = {sums, *(folder / line.partition("  ")[2] for line in lines)}
    shown = [path for path in folder.glob("*") if not path.name.startswith(".")]
    for path in sorted([*shown, *(one for top in shown if top.is_dir() for one in top.rglob("*"))]):
        if not path.is_dir() and path not in listed:
            raise InputError(
                f"{path}: is no part of the release",
                hint="move it elsewhere; `kina verify` lists all that differs",
            )


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")


def _remove(folder: Path) -> None:
    if folder.is_symlink():  # what it points to is not ours
        folder.unlink()
    else:
        with suppress(OSError):
            remove_mark_last(folder)
