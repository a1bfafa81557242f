"""The file of a ledger: an SQLite database whose triggers let it only grow at its end."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from kina_build.errors import InputError, Refusal
from kina_review.payrecords import LedgerEntry

FORMAT = "kina-ledger/2"
"""All lines are keyed."""


OLDER_FORMAT = "kina-ledger/1"
"""Lines are plain hashes up to the line that seals them, and keyed from it on."""


WAIT_S = 60.0
"""How long a writer waits for another one before it is refused."""


MAGIC = b"SQLite format 3\0"
"""First bytes of every SQLite file."""


FAULTS = (sqlite3.Error, UnicodeDecodeError)
"""What sqlite3 raises on a damaged file: its message may quote bytes of the file."""


WHAT_IS = "is this a ledger of `kina review settle`?"


COLUMNS = tuple(name for name in LedgerEntry.model_fields if name != "hash")


SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE entries (
  seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, item_id TEXT NOT NULL, round TEXT NOT NULL,
  reviewer_id TEXT NOT NULL, payee_ref TEXT NOT NULL, rule TEXT NOT NULL, amount_minor INTEGER NOT NULL,
  reason TEXT NOT NULL, payment_id TEXT NOT NULL, hash TEXT NOT NULL
) STRICT;
CREATE TRIGGER entries_only_grow BEFORE INSERT ON entries
  WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM entries)
  BEGIN SELECT RAISE(ABORT, 'the ledger only grows at its end'); END;
CREATE TRIGGER entries_never_change BEFORE UPDATE ON entries
  BEGIN SELECT RAISE(ABORT, 'ledger lines never change'); END;
CREATE TRIGGER entries_never_go BEFORE DELETE ON entries
  BEGIN SELECT RAISE(ABORT, 'ledger lines never go'); END;
CREATE TRIGGER meta_never_changes BEFORE UPDATE ON meta
  BEGIN SELECT RAISE(ABORT, 'ledger settings never change'); END;
CREATE TRIGGER meta_never_goes BEFORE DELETE ON meta
  BEGIN SELECT RAISE(ABORT, 'ledger settings never go'); END;
"""


def connect(path: Path) -> sqlite3.Connection:
    """Open the file: the only place that does.

    Raises:
        InputError: a folder, a file that cannot be read, or one that is not SQLite's.
    """
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, not a ledger") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    if start and start != MAGIC:
        raise InputError(f"{path}: not a ledger, nor any SQLite file", hint=WHAT_IS)
    try:
        connection = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
    except FAULTS as error:
        raise fault_of(str(path), error) from None
    return connection


def schema_of(connection: sqlite3.Connection) -> list[str]:
    """Return the statements that made a file's tables and triggers."""
    return [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]


def own_schema() -> list[str]:
    """Return the statements that make a ledger's."""
    parts = re.split(r"(?<=STRICT);|(?<=END);", SCHEMA)
    return [part.strip() for part in parts if part.strip()]


def fault_of(name: str, error: Exception) -> InputError | Refusal:
    """Return what SQLite said as an error of ours."""
    text = str(error)
    if "locked" in text or "busy" in text:
        return Refusal(f"{name}: another process is writing to it", hint="try again when it is done")
    return InputError(f"{name}: {text}", hint=WHAT_IS)
