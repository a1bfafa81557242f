"""The release folder on disk: it appears whole or not at all, and is read back with checks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kina_build.claims import open_part_folder
from kina_build.errors import InputError, UsageError
from kina_build.folders import replace_folder
from kina_build.jsonl import read_document, read_records, read_text
from kina_build.manifest import digest
from kina_build.release.names import RECORD, SUMS, rows_file
from kina_build.release.plan import Past
from kina_build.release.record import ReleaseRecord
from kina_build.release.rows import Row


@contextmanager
def writing_folder(target: Path) -> Iterator[Path]:
    """Fill a hidden folder beside the target, which takes its place only after all was written.

    An earlier release at the target is replaced; any other folder with content is left alone.

    Raises:
        UsageError: the target is a file, or a folder that holds something else.
        InputError: the place cannot be written.
    """
    check_target(target)
    try:
        with open_part_folder(target) as part:
            yield part
            part.chmod(0o755)
            _sync(part)
            replace_folder(part, target)
    except OSError as error:
        raise InputError(f"{target}: cannot write: {error.strerror or error}") from None


def check_target(target: Path) -> None:
    """Refuse to put a release over anything but a release.

    Raises:
        UsageError: the target is a file, or a folder that holds something else.
    """
    if target.is_file():
        raise UsageError(f"{target}: is a file, not a folder", hint="give a folder with -o")
    if not target.is_dir() or not any(target.iterdir()):
        return
    strange = "" if (target / RECORD).exists() else min(path.name for path in target.iterdir())
    if strange := strange or _stranger(target):
        raise UsageError(
            f"{target}: holds something else than a release ({strange})", hint="give a new folder with -o"
        )


def read_release(folder: Path) -> Past:
    """Read a release folder's manifest and rows.

    Raises:
        InputError: not a release folder, or a file in it that cannot be read.
        RowErrors: malformed rows, each with file:line.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder", hint="give the folder that `kina export` wrote")
    record = read_document(folder / RECORD, ReleaseRecord)
    rows = {
        split: read_records(folder / rows_file(split), Row) if count.items else []
        for split, count in record.counts.items()
    }
    return Past(record, rows)


def write_sums(folder: Path) -> None:
    """Write SHA256SUMS over all other files of a folder, in the form `sha256sum -c` reads."""
    lines = [f"{digest(file).sha256}  {file.relative_to(folder).as_posix()}\n" for file in files(folder)]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def files(folder: Path) -> list[Path]:
    """List a folder's files in order of their relative names, the sums themselves left out."""
    found = [file for file in folder.rglob("*") if file.is_file() and file.name != SUMS]
    return sorted(found, key=lambda file: file.relative_to(folder).as_posix())


def sum_faults(folder: Path) -> list[str]:
    """Compare a folder with its SHA256SUMS; return one line a file that differs.

    Raises:
        InputError: there is no SHA256SUMS, or it is malformed.
    """
    sums = folder / SUMS
    if not sums.is_file():
        raise InputError(f"{sums}: no such file", hint="give the folder that `kina export` wrote")
    stated: dict[str, str] = {}
    for line, text in enumerate(read_text(sums).splitlines(), start=1):
        checksum, gap, name = text.partition("  ")
        if not gap or len(checksum) != hashlib.sha256().digest_size * 2:
            raise InputError(f"{sums}:{line}: not a line of sha256sum")
        stated[name] = checksum
    present = {file.relative_to(folder).as_posix(): file for file in files(folder)}
    faults = [f"{name}: missing" for name in sorted(stated.keys() - present.keys())]
    faults += [f"{name}: not listed in {SUMS}" for name in sorted(present.keys() - stated.keys())]
    faults += [
        f"{name}: content differs from {SUMS}"
        for name in sorted(stated.keys() & present.keys())
        if digest(present[name]).sha256 != stated[name]
    ]
    return faults


def _stranger(folder: Path) -> str:
    """Name a file of a release folder that its sums do not list: replacing the folder would lose it."""
    sums = folder / SUMS
    text = sums.read_text(encoding="utf-8", errors="replace") if sums.is_file() else ""
    listed = {line.partition("  ")[2] for line in text.splitlines()}
    return next((name for file in files(folder) if (name := str(file.relative_to(folder))) not in listed), "")


def _sync(folder: Path) -> None:
    for file in (*folder.rglob("*"), folder):
        handle = os.open(file, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
