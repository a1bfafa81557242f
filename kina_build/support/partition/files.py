"""Write support as a folder of parts, one part at a time; a stopped run goes on from what is there.

Parts are made in a work folder beside the target, which takes the target's place once all
are there. A part is made again only if something that shaped it changed: a digest of that
lies beside it, with one of its content, which tells a part that was changed since.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from kina_build import __version__
from kina_build.encode.kept import Reuse
from kina_build.errors import InputError, UsageError
from kina_build.progress import Progress, silent
from kina_build.rows.jsonl import canonical, write_text
from kina_build.rows.outputs import recover_folder, replace_folder
from kina_build.rows.workfolders import MARK, make_work, mark, unmark
from kina_build.support.matrix import SupportMatrix
from kina_build.support.npz import read_support, write_support

State = Literal["finished", "changed", "unsealed", "other"]
"""Of a part: as it was written; changed since; without a digest of its content; made from something else."""
NOTES: dict[State, str] = {
    "changed": "was changed since it was written; it is made anew",
    "unsealed": "an older version wrote no digest of its content; it is made anew",
}

PART = re.compile(r"part-\d{5,}\.(npz|digest)")


class PartitionJob(Protocol):
    """One part to be made."""

    @property
    def path(self) -> Path:
        """Tell its file, in the work folder."""

    @property
    def digest(self) -> str:
        """Tell what stands for all that shapes it."""


Job = TypeVar("Job", bound=PartitionJob)
Spread = Callable[[Callable[[Job], object], Iterable[Job]], Iterable[object]]
"""Where parts are made, one result a part in their order: `map`, or the map of an engine."""


def make_partitions(
    jobs: Iterable[Job],
    make: Callable[[Job], object],
    target: Path,
    *,
    run: Spread[Job] = map,
    on_progress: Progress = silent,
    reuse: Reuse | None = None,
) -> tuple[int, int]:
    """Make the parts that are not there yet, and put all in the target's place.

    Args:
        jobs: the parts; taken as there is room for them.
        make: writes one part with `write_partition`.
        target: the folder.
        run: where.
        on_progress: told (parts there, parts begun) after each that was made.
        reuse: whether finished parts may be taken over, and the count of those that were.

    Returns:
        How many parts there are, and how many of them were made now.

    Raises:
        UsageError: the target or the work folder holds something else than parts.
        InputError: a part cannot be written.
    """
    recover_folder(target)
    check_folder(target)
    make_work(work_folder(target))
    reuse = reuse or Reuse()
    paths: list[Path] = []
    kept: list[Path] = []

    def missing() -> Iterator[Job]:
        for job in jobs:
            paths.append(job.path)
            if not reuse.forced and _is_there(job, target, reuse):
                kept.append(job.path)
            else:
                yield job

    made = 0
    for made, _ in enumerate(run(make, missing()), start=1):
        on_progress(len(kept) + made, len(paths))
    finish_folder(target, paths)
    reuse.parts += len(kept)
    return len(paths), made


def _is_there(job: PartitionJob, target: Path, reuse: Reuse) -> bool:
    """Tell whether a part is finished and as it was written, here or in an earlier result."""
    for place in (job.path, target / job.path.name):
        state = find_state(place, job.digest)
        if state == "finished":
            return place == job.path or take_over(place, job.path)
        if state in NOTES:
            reuse.note(f"{target.name}/{place.name}: {NOTES[state]}")
    return False


def partition_name(number: int) -> str:
    """Name the file of a part, counted from 0."""
    return f"part-{number:05}.npz"


def digest_partition(shape: Any, rows: Iterable[Any]) -> str:
    """Hash what a part is made from: this version, the settings that shape it, and its rows."""
    total = hashlib.sha256(canonical([__version__, shape]).encode())
    for row in rows:
        # surrogates are not UTF-8, yet a JSON escape can bring one into a text
        total.update(b"\n" + canonical(row).encode("utf-8", "surrogatepass"))
    return total.hexdigest()


def holds_partitions(target: Path) -> bool:
    """Tell whether a folder holds parts and nothing else; each part tells by itself whether it is whole."""
    return target.is_dir() and all(_is_part(path.name) for path in target.iterdir())


def _is_part(name: str) -> bool:
    return name == MARK or PART.fullmatch(name) is not None  # a run that is stopped may leave the mark


def check_folder(target: Path) -> None:
    """Refuse to put parts in the place of anything but parts.

    Raises:
        UsageError: the target is a file, or a folder that holds something else.
    """
    if target.is_file():
        raise UsageError(f"{target}: is a file, not a folder", hint="name a new folder, or a file.npz")
    there = [path.name for path in target.iterdir()] if target.is_dir() else []
    strange = [name for name in there if not _is_part(name)]
    if strange:
        raise UsageError(
            f"{target}: holds something else than parts ({min(strange)})", hint="name a new folder"
        )


def work_folder(target: Path) -> Path:
    """Return where the parts of a folder are made."""
    return target.with_name(f"{target.name}.work")


def find_state(path: Path, digest: str) -> State:
    """Tell whether a part is there, made from what the digest stands for, and as it was written."""
    try:
        seal = path.with_suffix(".digest").read_bytes().split()
        if seal[:1] != [digest.encode()] or not path.is_file():
            return "other"
        if len(seal) == 1:
            return "unsealed"
        return "finished" if seal[1:] == [_hash_file(path).encode()] else "changed"
    except FileNotFoundError:
        return "other"
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror or error}") from None


def write_partition(path: Path, matrix: SupportMatrix, digest: str) -> None:
    """Write a part, and then beside it the digests of what it is made from and of its content."""
    path.with_suffix(".digest").unlink(missing_ok=True)
    write_support(path, matrix)
    write_text(path.with_suffix(".digest"), f"{digest} {_hash_file(path)}\n")


def take_over(old: Path, new: Path) -> bool:
    """Take a finished part from an earlier result."""
    new.parent.mkdir(parents=True, exist_ok=True)
    for suffix in (".npz", ".digest"):
        source, target = old.with_suffix(suffix), new.with_suffix(suffix)
        target.unlink(missing_ok=True)
        try:
            os.link(source, target)
        except OSError:  # a file system without links
            shutil.copyfile(source, target)
    return True


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def finish_folder(target: Path, paths: Sequence[Path]) -> None:
    """Put the work folder, with these parts and nothing else, in the target's place.

    Raises:
        InputError: the place cannot be written.
    """
    work = work_folder(target)
    kept = {MARK, *(name for path in paths for name in (path.name, path.with_suffix(".digest").name))}
    try:
        if target.is_dir() and not target.is_symlink():
            mark(target)  # it may stand in the work folder's place when the run is stopped
        for stray in work.iterdir():
            if stray.name not in kept:
                stray.unlink()
        replace_folder(work, target)
        unmark(target)
    except OSError as error:
        raise InputError(f"{target}: cannot write: {error.strerror or error}") from None


def read_partitions(folder: Path) -> Iterator[SupportMatrix]:
    """Read the parts of a folder one after the other, in the order of their ids.

    Raises:
        InputError: a part cannot be read.
    """
    for path in sorted(folder.glob("part-*.npz")):
        yield read_support(path)
