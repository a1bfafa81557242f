"""Begin a ledger, or open one: nobody is handed a ledger whose chain was not walked first."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from kina_build.errors import InputError, KinaError, Refusal
from kina_build.progress import Progress, silent
from kina_review.pay.book.file import FAULTS, FORMAT, connect, fault_of, own_schema, schema_of
from kina_review.pay.book.ledger import Ledger
from kina_review.pay.book.seal import (
    Head,
    begin_key,
    find_anchors,
    key_path,
    mark_path,
    read_key,
    read_mark,
)

UNBEGUN = "0" * 64
"""Hash in the mark of a ledger that has no line yet."""


def open_ledger(path: Path, anchors: Sequence[Head] = (), on_progress: Progress = silent) -> Ledger:
    """Open an existing ledger, after walking its whole chain.

    Args:
        path: the file.
        anchors: heads that earlier statements and manifests saw.
        on_progress: as verify.

    Raises:
        InputError: no such file, or not a ledger.
        Refusal: as Ledger.verify.
    """
    if not path.exists():
        lost = mark_path(path).exists() or key_path(path).exists()
        raise InputError(
            f"{path}: no such ledger" + (", though its key and mark are there: it was lost" if lost else ""),
            hint="restore it" if lost else "`kina review settle --ledger` begins one",
        )
    return _opened(connect(path), path, anchors, on_progress)


def seen_in(folder: Path, ledger: Ledger) -> list[Head]:
    """Return the heads that manifests of this very ledger's payment files saw in a folder.

    With them an older copy is noticed too that was restored together with its key and mark.
    """
    texts = (_text(path) for path in sorted(folder.glob("*.manifest.json")))
    return [head for text in texts if ledger.public_id in text for head in find_anchors(text)]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # not ours: the check of places says so


def check_begun(path: Path) -> None:
    """Check that where no ledger is, none was lost: its key would be there still.

    Raises:
        Refusal: the key of a ledger that had lines lies there.
    """
    if path.exists() and path.stat().st_size:
        return
    key = read_key(path)
    if key is not None:
        _check_fresh(path, key)


def create_ledger(path: Path, currency: str, key_check: str) -> Ledger:
    """Begin a ledger of one currency, or open it if another process was first.

    Raises:
        InputError: the file cannot be made, or is something else.
    """
    try:
        if not path.exists():  # a touch would change the time of a file that is no ledger
            path.touch(mode=0o600)
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror or error}") from None
    connection = connect(path)
    try:
        connection.execute("BEGIN IMMEDIATE")
        if not schema_of(connection):
            for statement in own_schema():
                connection.execute(statement)
            _begin_sealed(path, currency, key_check)
            values = {"format": FORMAT, "currency": currency, "key_check": key_check}
            connection.executemany("INSERT INTO meta VALUES (?, ?)", values.items())
        connection.execute("COMMIT")
    except FAULTS as error:
        connection.close()
        raise fault_of(str(path), error) from None
    except KinaError:
        connection.close()
        raise
    return _opened(connection, path)


def _begin_sealed(path: Path, currency: str, key_check: str) -> None:
    key = read_key(path)
    if key is None:
        begin_key(path, Head(0, UNBEGUN))
        return
    _check_fresh(path, key)


def _check_fresh(path: Path, key: bytes) -> None:
    mark = read_mark(path, key)
    if mark is None or mark.count:
        raise Refusal(
            f"{path}: is new, but {key_path(path)} belongs to a ledger of "
            f"{mark.count if mark else 'unknown'} lines: it was lost or moved",
            hint="restore that ledger, or begin the new one under another name",
        )


def _opened(
    connection: sqlite3.Connection, path: Path, anchors: Sequence[Head] = (), on_progress: Progress = silent
) -> Ledger:
    try:
        ledger = Ledger(connection, path)
        ledger.verify(anchors, on_progress, seen_in(path.parent, ledger))
    except KinaError:
        connection.close()
        raise
    return ledger
