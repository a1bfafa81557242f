"""Vectors of texts on disk, keyed by what shaped them: encoder, weights, configuration and text.

Each row carries a digest of its key and its vector together, which is checked at every use:
a vector that was changed, damaged or put in another's place is not read.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import InputError
from kina_build.rows.jsonl import canonical

KEYS_A_QUERY = 500
"""Keys asked for at once: SQLite's oldest limit is 999 variables."""

FORM = 2
"""Changes when the meaning of a row does."""

TABLE = "checked_vectors"
OLDER_TABLE, OLDER_COLUMNS = "vectors", ["key", "vector"]
"""Where versions before .5 kept vectors, without digests."""

Vectors = NDArray[np.float32]


@dataclass
class Kept:
    """What a cache holds for some keys."""

    vectors: dict[bytes, Vectors] = field(default_factory=dict)
    spoiled: int = 0
    """Rows whose vector does not fit its digest; they are not among the vectors."""


def default_cache() -> Path:
    """Return where vectors are kept unless the user says otherwise: the user's cache folder."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "kina-build" / "vectors.sqlite"


def encoder_key(name: str, revision: str, configuration: str, dimension: int) -> bytes:
    """Hash all that shapes the vectors of an encoder."""
    return hashlib.sha256(canonical([FORM, name, revision, configuration, dimension]).encode()).digest()


def vector_key(encoder: bytes, text: str) -> bytes:
    """Hash an encoder's key and a text into the key of one vector."""
    # surrogates are not UTF-8, yet a JSON escape can bring one into a text
    return hashlib.sha256(encoder + text.encode("utf-8", "surrogatepass")).digest()


def drop_older(path: Path) -> bool:
    """Drop vectors that an older version kept without digests; tell whether there were any.

    Raises:
        InputError: the file is not a vector cache or cannot be opened.
    """
    with _opened(path) as base:
        columns = [row[1] for row in base.execute(f"PRAGMA table_info({OLDER_TABLE})")]
        if columns != OLDER_COLUMNS:
            return False
        base.execute(f"DROP TABLE {OLDER_TABLE}")
        return True


def load_vectors(path: Path, keys: Sequence[bytes], dimension: int) -> Kept:
    """Read the vectors that are stored for some keys, each checked.

    Raises:
        InputError: the file is not a vector cache or cannot be opened.
    """
    kept = Kept()
    for key, vector in _read(path, keys, dimension):
        if vector is None:
            kept.spoiled += 1
        else:
            kept.vectors[key] = vector
    return kept


def intact_keys(path: Path, keys: Sequence[bytes], dimension: int) -> tuple[set[bytes], int]:
    """Check the vectors that are stored for some keys without holding them.

    Returns:
        The keys whose vector fits its digest, and how many rows do not.

    Raises:
        InputError: the file is not a vector cache or cannot be opened.
    """
    intact: set[bytes] = set()
    spoiled = 0
    for key, vector in _read(path, keys, dimension):
        if vector is None:
            spoiled += 1
        else:
            intact.add(key)
    return intact, spoiled


def store_vectors(path: Path, vectors: Mapping[bytes, Vectors], encoder: bytes) -> None:
    """Keep vectors of one encoder; a key that is there already is overwritten.

    Raises:
        InputError: the file is not a vector cache or cannot be written.
    """
    raws = ((key, np.asarray(vector, dtype="<f4").tobytes()) for key, vector in vectors.items())
    rows = [(key, raw, _digest(key, raw), encoder) for key, raw in raws]
    with _opened(path) as base:
        base.executemany(f"INSERT OR REPLACE INTO {TABLE} VALUES (?, ?, ?, ?)", rows)  # noqa: S608  a constant


def drop_vectors(path: Path, encoder: bytes) -> None:
    """Forget all vectors of one encoder.

    Raises:
        InputError: the file is not a vector cache or cannot be written.
    """
    with _opened(path) as base:
        base.execute(f"DELETE FROM {TABLE} WHERE encoder = ?", (encoder,))  # noqa: S608  a constant


def _read(path: Path, keys: Sequence[bytes], dimension: int) -> Iterator[tuple[bytes, Vectors | None]]:
    """Yield (key, vector) of each row that is there; None where the row is not what was written."""
    with _opened(path) as base:
        for start in range(0, len(keys), KEYS_A_QUERY):
            part = keys[start : start + KEYS_A_QUERY]
            marks = ",".join("?" * len(part))
            rows = base.execute(f"SELECT key, vector, digest FROM {TABLE} WHERE key IN ({marks})", part)  # noqa: S608  marks only
            for key, raw, digest in rows:
                # SQLite gives other types than were written where its file was damaged
                sound = isinstance(raw, bytes) and len(raw) == 4 * dimension and digest == _digest(key, raw)
                yield key, np.frombuffer(raw, dtype="<f4").astype(np.float32) if sound else None


def _digest(key: bytes, raw: bytes) -> bytes:
    return hashlib.sha256(key + raw).digest()


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        base = sqlite3.connect(path, timeout=60)
        try:
            with base:  # one transaction: all of a batch or nothing
                _prepare(base)
                yield base
        finally:
            base.close()
    except (sqlite3.Error, OSError) as error:
        raise InputError(
            f"{path}: cannot be used as a cache of vectors ({error})",
            hint="name another file with --cache, or delete this one",
        ) from None


def _prepare(base: sqlite3.Connection) -> None:
    """Make the table, but not in a database of something else.

    Raises:
        sqlite3.DatabaseError: the file holds other tables only.
    """
    tables = {name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and not tables & {TABLE, OLDER_TABLE}:
        raise sqlite3.DatabaseError("it holds something else")
    base.execute(
        f"CREATE TABLE IF NOT EXISTS {TABLE} (key BLOB PRIMARY KEY, vector BLOB NOT NULL, "
        "digest BLOB NOT NULL, encoder BLOB NOT NULL)"
    )
