"""Work folders: beside an output lies what a stopped run goes on from, in a folder that is marked as ours.

A folder of that name which somebody else made is never written into and never cleared: whoever
keeps a thesis in `support.work` has it after `kina support -o support`, too.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from kina_build.errors import InputError, UsageError

MARK = ".kina-work"
"""The file by which a work folder is known."""
TOLD = "What a stopped run of kina goes on from. Removed when a run ends.\n"
AWAY = "move it elsewhere, or give another output with -o"


def check_work(folder: Path) -> None:
    """Refuse a place for a work folder that holds something of others.

    Raises:
        UsageError: a file, a link, or a folder that holds something and has no mark.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{folder}: is no folder of kina's, and its work would go there", hint=AWAY)
    if not _is_ours(folder) and (strange := _first_name(folder)):
        raise UsageError(
            f"{folder}: holds something of yours ({strange}), and kina's work would go there", hint=AWAY
        )


def make_work(folder: Path) -> None:
    """Make a work folder and mark it, or go on in one that is marked.

    Raises:
        UsageError: a file, a link, or a folder that holds something and has no mark.
        InputError: it cannot be made.
    """
    check_work(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        mark(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot write: {error.strerror or error}") from None


def mark(folder: Path) -> None:
    """Mark a folder as one that may be cleared.

    Raises:
        OSError: it cannot be written.
    """
    if not _is_ours(folder):
        (folder / MARK).write_text(TOLD, encoding="ascii")


def unmark(folder: Path) -> None:
    """Take the mark away: what lies in the folder is a result now."""
    (folder / MARK).unlink(missing_ok=True)


def clear_work(folder: Path) -> None:
    """Remove a work folder; one without a mark stays as it is."""
    if _is_ours(folder):
        remove_mark_last(folder)


def remove_mark_last(folder: Path) -> None:
    """Remove a folder with all in it; who is stopped halfway leaves one that still says whose it is."""
    for path in folder.iterdir():
        if path.name != MARK:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    shutil.rmtree(folder)


def _is_ours(folder: Path) -> bool:
    found = folder / MARK
    return not folder.is_symlink() and found.is_file() and not found.is_symlink()


def _first_name(folder: Path) -> str:
    """Return the first name in a folder; empty where there is none, or no folder."""
    return min((path.name for path in folder.iterdir()), default="") if folder.is_dir() else ""
