"""A finished folder takes the place of an earlier one, in one step where the system can do that."""

from __future__ import annotations

import ctypes
import os
import shutil
from pathlib import Path

from kina_build.claims import claim_folder
from kina_build.errors import InputError

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


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")


def _remove(folder: Path) -> None:
    if folder.is_symlink():  # what it points to is not ours
        folder.unlink()
    else:
        shutil.rmtree(folder, ignore_errors=True)
