"""Write support as a folder of parts, one part at a time; a stopped run goes on from what is there.

Parts are made in a work folder beside the target, which takes the target's place once all
are there. A part is made again only if something that shaped it changed: a digest of that
lies beside it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from kina_build import __version__
from kina_build.errors import InputError, UsageError
from kina_build.folders import recover_folder, replace_folder
from kina_build.jsonl import canonical, read_text, write_text
from kina_build.progress import Progress, silent
from kina_build.support.matrix import SupportMatrix, read_support, write_support

PART = re.compile(r"part-\d{5,}\.(npz|digest)")


class PartJob(Protocol):
    """One part to be made."""

    @property
    def path(self) -> Path:
        """Tell its file, in the work folder."""

    @property
    def digest(self) -> str:
        """Tell what stands for all that shapes it."""


Job = TypeVar("Job", bound=PartJob)
Spread = Callable[[Callable[[Job], object], Iterable[Job]], Iterable[object]]
"""Where parts are made, one result a part in their order: `map`, or the map of an engine."""


def make_parts(
    jobs: Iterable[Job],
    make: Callable[[Job], object],
    target: Path,
    *,
    run: Spread[Job] = map,
    on_progress: Progress = silent,
) -> tuple[int, int]:
    """Make the parts that are not there yet, and put all in the target's place.

    Args:
        jobs: the parts; taken as there is room for them.
        make: writes one part with `write_part`.
        target: the folder.
        run: where.
        on_progress: told (parts there, parts begun) after each that was made.

    Returns:
        How many parts there are, and how many of them were made now.

    Raises:
        UsageError: the target holds something else than parts.
        InputError: a part cannot be written.
    """
    recover_folder(target)
    check_folder(target)
    paths: list[Path] = []
    kept: list[Path] = []

    def missing() -> Iterator[Job]:
        for job in jobs:
            paths.append(job.path)
            if is_finished(job.path, job.digest) or take_over(job.path, job.digest, target):
                kept.append(job.path)
            else:
                yield job

    made = 0
    for made, _ in enumerate(run(make, missing()), start=1):
        on_progress(len(kept) + made, len(paths))
    finish_folder(target, paths)
    return len(paths), made


def part_name(number: int) -> str:
    """Name the file of a part, counted from 0."""
    return f"part-{number:05}.npz"


def digest_part(shape: Any, rows: Iterable[Any]) -> str:
    """Hash what a part is made from: this version, the settings that shape it, and its rows."""
    total = hashlib.sha256(canonical([__version__, shape]).encode())
    for row in rows:
        # surrogates are not UTF-8, yet a JSON escape can bring one into a text
        total.update(b"\n" + canonical(row).encode("utf-8", "surrogatepass"))
    return total.hexdigest()


def check_folder(target: Path) -> None:
    """Refuse to put parts in the place of anything but parts.

    Raises:
        UsageError: the target is a file, or a folder that holds something else.
    """
    if target.is_file():
        raise UsageError(f"{target}: is a file, not a folder", hint="name a new folder, or a file.npz")
    there = [path.name for path in target.iterdir()] if target.is_dir() else []
    strange = [name for name in there if not PART.fullmatch(name)]
    if strange:
        raise UsageError(
            f"{target}: holds something else than parts ({min(strange)})", hint="name a new folder"
        )


def work_folder(target: Path) -> Path:
    """Return where the parts of a folder are made."""
    return target.with_name(f"{target.name}.work")


def is_finished(path: Path, digest: str) -> bool:
    """Tell whether a part is there and made from what the digest stands for."""
    beside = path.with_suffix(".digest")
    return path.exists() and beside.exists() and read_text(beside).strip() == digest


def write_part(path: Path, matrix: SupportMatrix, digest: str) -> None:
    """Write a part, and then beside it the digest that says it is whole."""
    path.with_suffix(".digest").unlink(missing_ok=True)
    write_support(path, matrix)
    write_text(path.with_suffix(".digest"), digest + "\n")


def take_over(path: Path, digest: str, target: Path) -> bool:
    """Take a part from an earlier result at the target if it would only be made again."""
    old = target / path.name
    if not is_finished(old, digest):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    for name in (path.name, path.with_suffix(".digest").name):
        (path.parent / name).unlink(missing_ok=True)
        try:
            os.link(target / name, path.parent / name)
        except OSError:  # a file system without links
            shutil.copyfile(target / name, path.parent / name)
    return True


def finish_folder(target: Path, paths: Sequence[Path]) -> None:
    """Put the work folder, with these parts and nothing else, in the target's place.

    Raises:
        InputError: the place cannot be written.
    """
    work = work_folder(target)
    kept = {name for path in paths for name in (path.name, path.with_suffix(".digest").name)}
    try:
        for stray in work.iterdir():
            if stray.name not in kept:
                stray.unlink()
        replace_folder(work, target)
    except OSError as error:
        raise InputError(f"{target}: cannot write: {error.strerror or error}") from None


def read_parts(folder: Path) -> Iterator[SupportMatrix]:
    """Read the parts of a folder one after the other, in the order of their ids.

    Raises:
        InputError: a part cannot be read.
    """
    for path in sorted(folder.glob("part-*.npz")):
        yield read_support(path)
