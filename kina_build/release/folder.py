"""The release folder on disk: it appears whole or not at all, and is read back with checks."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from kina_build.errors import InputError, UsageError
from kina_build.manifest import digest
from kina_build.release.plan import Past
from kina_build.release.record import ReleaseRecord
from kina_build.release.rows import Row
from kina_build.release.splits import RECORD, SUMS, rows_file
from kina_build.release.standalone import entries
from kina_build.rows.jsonl import read_document, read_records, read_text
from kina_build.rows.outputs import open_part_folder, refuse_links, refuse_strangers, replace_folder


@contextmanager
def writing_folder(target: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Fill a hidden folder beside the target, which takes its place only after all was written.

    Of an earlier release at the target the files that it lists and that nobody changed are
    replaced; hidden entries (`.git`) stay. Anything else stops the exchange.

    Args:
        target: the release folder.
        overwrite: replace listed files that were changed, too.

    Raises:
        UsageError: the target is a file, or holds something that would be lost.
        InputError: the place cannot be written.
    """
    target = target.resolve() if target.is_symlink() else target  # the folder is replaced, not the link to it
    check_target(target, overwrite=overwrite)
    try:
        with open_part_folder(target) as part:
            yield part
            part.chmod(0o777 & ~_umask())
            check_target(target, overwrite=overwrite)
            _carry_over(target, part)
            _sync(part)
            replace_folder(part, target)
    except OSError as error:
        raise InputError(f"{target}: cannot write: {error.strerror or error}") from None


def check_target(target: Path, *, overwrite: bool = False) -> None:
    """Refuse to put a release over anything but an unchanged release.

    Raises:
        UsageError: the target is a file, or a folder that holds something that would be lost.
    """
    if target.is_file():
        raise UsageError(f"{target}: is a file, not a folder", hint="give a folder with -o")
    if target.name in ("", ".."):
        raise UsageError(
            f"{target}: a release takes its folder's place as a whole",
            hint="call the folder by its name with -o",
        )
    present = {name: kind for name, kind in _entries(target) if not _stays(name)}
    if not present:
        return
    listed = _listed(target)
    strange = next((name for name, kind in present.items() if not _belongs(name, kind, listed)), "")
    if strange or RECORD not in present:
        raise UsageError(
            f"{target}: holds something else than a release ({strange or next(iter(present))})",
            hint="move it elsewhere, or give a new folder with -o",
        )
    own = [name for name, kind in present.items() if kind == "file" and name != SUMS]
    changed = [name for name in own if digest(target / name).sha256 != listed[name]]
    if changed and not overwrite:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise UsageError(
            f"{target / changed[0]}: was changed after kina wrote it{more}",
            hint="keep what you wrote elsewhere; --overwrite replaces it",
        )


def answers_file(output: Path, answers: Path | None) -> Path:
    """Return where the private answers go: never into the release folder.

    Raises:
        UsageError: they would.
    """
    secret = answers or output.with_name(f"{output.name}.answers.jsonl")
    if output.resolve() in secret.resolve().parents:
        raise UsageError(f"{secret}: private answers do not belong in the release folder")
    return secret


def read_release(folder: Path, *, strangers: bool = False) -> Past:
    """Read a release folder's manifest and rows.

    Args:
        folder: of the release.
        strangers: read it though something lies in it that is no part of it: `kina verify` lists all that.

    Raises:
        InputError: not a release folder, or a file in it that cannot be read or is no part of it.
        RowErrors: malformed rows, each with file:line.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder", hint="give the folder that `kina export` wrote")
    (refuse_links if strangers else refuse_strangers)(folder)
    record = read_document(folder / RECORD, ReleaseRecord)
    rows: dict[str, Sequence[Row]] = {
        split: read_records(folder / rows_file(split), Row) if count.items else []
        for split, count in record.counts.items()
    }
    return Past(record, rows, folder)


def write_sums(folder: Path) -> None:
    """Write SHA256SUMS over all other files of a folder, in the form `sha256sum -c` reads."""
    lines = [f"{digest(file).sha256}  {file.relative_to(folder).as_posix()}\n" for file in files(folder)]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def files(folder: Path) -> list[Path]:
    """List a folder's files in order of their relative names, its sums and what git adds left out."""
    return [folder / name for name, kind in entries(folder) if kind == "file" and name != SUMS]


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
    found = entries(folder)
    present = {name: folder / name for name, kind in found if kind == "file" and name != SUMS}
    faults = [f"{name}: is a {kind}" for name, kind in found if kind not in ("file", "folder")]
    faults += [
        f"{name}/: holds nothing of the release"
        for name, kind in found
        if kind == "folder" and not any(one.startswith(f"{name}/") for one in stated)
    ]
    faults += [f"{name}: missing" for name in sorted(stated.keys() - present.keys())]
    faults += [f"{name}: not listed in {SUMS}" for name in sorted(present.keys() - stated.keys())]
    faults += [
        f"{name}: content differs from {SUMS}"
        for name in sorted(stated.keys() & present.keys())
        if digest(present[name]).sha256 != stated[name]
    ]
    return faults


def _stays(name: str) -> bool:
    """Tell whether something beside a release's files is carried over: what is hidden, at its top."""
    return name.startswith(".")


def _entries(target: Path) -> list[tuple[str, str]]:
    """List what lies in a folder; below hidden entries nothing is looked at."""
    found: list[tuple[str, str]] = []
    if target.is_dir():
        for path in sorted(target.iterdir()):
            if _stays(path.name):
                found.append((path.name, "hidden"))
            elif path.is_dir() and not path.is_symlink():
                found.append((path.name, "folder"))
                found += [(f"{path.name}/{name}", kind) for name, kind in entries(path)]
            else:
                found.append((path.name, "file" if path.is_file() and not path.is_symlink() else "link"))
    return found


def _listed(folder: Path) -> dict[str, str]:
    """Return the names and digests in a folder's sums; nothing where there are none."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    return {name: checksum for checksum, _, name in (line.partition("  ") for line in lines)} | {SUMS: ""}


def _belongs(name: str, kind: str, listed: Mapping[str, str]) -> bool:
    """Tell whether an entry is a file that the sums list, or a folder of such."""
    if kind == "folder":
        return any(one.startswith(f"{name}/") for one in listed)
    return kind == "file" and name in listed


def _carry_over(target: Path, part: Path) -> None:
    """Put the hidden entries of an earlier release into the new one: by links, so that no byte is copied."""
    for path in sorted(target.iterdir()) if target.is_dir() else ():
        if not _stays(path.name):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, part / path.name, symlinks=True, copy_function=_link)
        else:
            _link(path, part / path.name)


def _link(source: str | Path, copy: str | Path) -> None:
    try:
        os.link(source, copy, follow_symlinks=False)
    except OSError:  # a file system without hard links
        shutil.copy2(source, copy, follow_symlinks=False)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync(folder: Path) -> None:
    for file in (*(folder / name for name, kind in entries(folder) if kind in ("file", "folder")), folder):
        handle = os.open(file, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
