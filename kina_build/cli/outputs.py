"""Where a command may write: never over an input, over a stranger's file only when told to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING

from kina_build.errors import InputError, UsageError

if TYPE_CHECKING:
    from kina_build.manifest import Job, Manifest


@dataclass(frozen=True)
class Places:
    """What a command reads and writes."""

    inputs: Sequence[Path]
    files: Sequence[Path]
    """Outputs that are files; the streams are left out."""
    folders: Sequence[Path]
    """Outputs that are folders."""
    kept: Sequence[Path]
    """Files that are read and added to: a log, a ledger, a cache."""
    sidecars: Sequence[Path]
    """Manifests."""

    @property
    def written(self) -> list[Path]:
        """List all that is written."""
        return [*self.files, *self.folders, *self.kept, *self.sidecars]


def check_places(
    job: Job,
    *,
    folders: Sequence[Path],
    kept: Sequence[Path],
    overwrite: bool,
    is_ours: Callable[[Path], bool] | None = None,
) -> None:
    """Refuse outputs that would destroy something, before anything is read or computed.

    Args:
        job: its inputs and outputs.
        folders: those of the outputs that are folders.
        kept: files that are read and added to, and not outputs.
        overwrite: replace files that no manifest of ours owns.
        is_ours: tells by its content whether an output is ours, where no manifest does.

    Raises:
        UsageError: an output is an input or another output, lies in no folder, or is not ours.
    """
    from kina_build.manifest import sidecar
    from kina_build.rows.source import STREAM

    files = [path for path in job.outputs if path != STREAM and path not in folders]
    sidecars = [sidecar(path) for path in job.files[:1]]
    places = Places(job.inputs, files, folders, [path for path in kept if path != STREAM], sidecars)
    _check_apart(places)
    _check_parents(places)
    _check_kinds(places)
    if not overwrite:
        _check_owned(places, is_ours)


def is_same(one: Path, other: Path) -> bool:
    """Tell whether two paths are one file: by name, by symlink, by hard link, or standard input."""
    try:
        return os.path.samestat(_stat(one), _stat(other))
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _stat(path: Path) -> os.stat_result:
    from kina_build.rows.source import STREAM

    return os.fstat(0) if path == STREAM else path.stat()


def _check_apart(places: Places) -> None:
    own = [*places.files, *places.folders, *places.sidecars]
    read = [*product(places.written, places.inputs), *product(own, places.kept)]
    for output, path in read:
        if is_same(output, path):
            raise UsageError(
                f"{output}: is read by this command, so it cannot be written by it",
                hint="name another file for the output",
            )
        if _lies_in(output, path):
            raise UsageError(f"{output}: lies in {path}, which this command reads", hint="write elsewhere")
    for folder, path in product(places.folders, (*places.inputs, *places.files, *places.kept)):
        if _lies_in(path, folder):
            raise UsageError(f"{folder}: {path} lies in it", hint="name another folder")
    for one, other in (*combinations(own, 2), *combinations(places.kept, 2)):
        if is_same(one, other):
            raise UsageError(f"{other}: two outputs cannot be one file", hint="name another file for one")


def _lies_in(path: Path, folder: Path) -> bool:
    return folder.is_dir() and Path(os.path.realpath(folder)) in Path(os.path.realpath(path)).parents


def _check_parents(places: Places) -> None:
    for path in places.written:
        if not path.parent.is_dir():
            raise UsageError(
                f"{path}: there is no folder {path.parent}", hint="check its name, or make the folder first"
            )
        if path not in places.kept and not os.access(path.parent, os.W_OK | os.X_OK):
            raise UsageError(f"{path}: cannot write: the folder {path.parent} is closed to you")


def _check_kinds(places: Places) -> None:
    for path in (*places.files, *places.sidecars):
        if path.is_dir():
            raise UsageError(f"{path}: is a folder, not a file", hint="name a file for the output")
        if path.exists() and not path.is_file():
            raise UsageError(f"{path}: is not a file that can be replaced", hint="'-' writes to stdout")
    for path in places.folders:
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path}: is a file, not a folder", hint="give a new folder")


def _check_owned(places: Places, is_ours: Callable[[Path], bool] | None) -> None:
    from kina_build.manifest import sidecar

    outputs = [*places.files, *places.folders]
    for path in outputs:
        known = _holds_nothing(path) or _is_owned(path, outputs)
        if not (known or (is_ours is not None and not sidecar(path).exists() and is_ours(path))):
            raise UsageError(
                f"{path}: exists and was not written by kina (or has been changed since)",
                hint="--overwrite replaces it",
            )
    for path in places.sidecars:
        if not _holds_nothing(path) and _read(path) is None:
            raise UsageError(f"{path}: exists and is no manifest of kina", hint="--overwrite replaces it")


def _holds_nothing(path: Path) -> bool:
    """Tell whether there is nothing at a path that could be lost."""
    if path.is_dir():
        return not any(path.iterdir())
    return not os.path.lexists(path) or (path.is_file() and path.stat().st_size == 0)


def _is_owned(path: Path, outputs: Iterable[Path]) -> bool:
    """Tell whether a claim or a manifest of ours knows the bytes at a path."""
    from kina_build.manifest import digest
    from kina_build.rows.outputs import FOLDER, claims_of

    if not path.exists():  # a link to nothing
        return False
    claims = claims_of(path)
    if path.is_dir() and FOLDER in claims:
        return True
    found = digest(path).sha256
    return found in claims or any(
        _holds(manifest, path.name, found) for manifest in _manifests(path, outputs)
    )


def _holds(manifest: Manifest, name: str, sha256: str) -> bool:
    return any(
        one.sha256 == sha256
        for key, one in manifest.outputs.items()
        if key == name or key.startswith(f"{name}#")
    )


def _manifests(path: Path, outputs: Iterable[Path]) -> Iterator[Manifest]:
    """Yield the manifest beside a file first, then all others in the folders of the outputs."""
    from kina_build.manifest import sidecar

    others = (
        other
        for folder in dict.fromkeys(o.parent for o in outputs)
        for other in folder.glob("*.manifest.json")
    )
    for file in (sidecar(path), *others):
        manifest = _read(file)
        if manifest is not None:
            yield manifest


def _read(file: Path) -> Manifest | None:
    from kina_build.manifest import Manifest
    from kina_build.rows.jsonl import read_document

    try:
        return read_document(file, Manifest)
    except InputError:
        return None
