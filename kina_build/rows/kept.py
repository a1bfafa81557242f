"""What only saves time: SQLite bases in the user's cache folder, each made again when it is lost."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Answer = TypeVar("Answer")
Fill = Callable[[sqlite3.Connection], None]
"""Writes tables and rows into an empty base."""

KEPT_BYTES = 1_000_000_000
"""Of all bases of a folder; beyond it those that were not used for longest are removed."""


def ask_kept(folder: Path, name: str, fill: Fill, ask: Callable[[sqlite3.Connection], Answer]) -> Answer:
    """Ask a base of a cache folder; it is filled where it is not there, or cannot be read.

    Where the folder cannot be written, the base lives in memory for this one answer.

    Args:
        folder: of the cache; made where it is not there.
        name: of the base: a digest of all that shapes what is in it.
        fill: fills the empty base.
        ask: reads from the filled base.
    """
    path = folder / f"{name}.sqlite"
    try:
        keep(path, fill)
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as base:
            return ask(base)
    except (sqlite3.DatabaseError, OSError):
        with contextlib.suppress(OSError):  # a damaged base is made anew the next time
            path.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        fill(base)
        return ask(base)


def keep(path: Path, fill: Fill) -> None:
    """Have a base lie in its folder, whole or not at all; one that is there counts as used now.

    Raises:
        OSError: the folder cannot be written.
        sqlite3.DatabaseError: neither can the base.
    """
    if path.exists():
        with contextlib.suppress(OSError):
            os.utime(path)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        with contextlib.closing(sqlite3.connect(part)) as base:
            fill(base)
            base.commit()
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    _sweep(path)


def _sweep(own: Path) -> None:
    """Remove what is beyond the limit, also of killed runs; what was not used for longest goes first."""
    with contextlib.suppress(OSError):  # another process sweeps, too
        others = [(path.stat(), path) for path in own.parent.glob("*.sqlite*") if path != own]
        room = KEPT_BYTES - own.stat().st_size
        for stat, path in sorted(others, key=lambda one: -one[0].st_mtime):
            room -= stat.st_size
            if room < 0:
                path.unlink(missing_ok=True)


def clean_text(text: str) -> str:
    """Replace halves of letters, which a file's name can bring into a text and SQLite does not take."""
    return text.encode("utf-8", "replace").decode()
