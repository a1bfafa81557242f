"""Vectors of texts on disk, keyed by what shaped them: encoder, weights and text."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import InputError
from kina_build.jsonl import canonical

KEYS_A_QUERY = 500
"""Keys asked for at once: SQLite's oldest limit is 999 variables."""

Vectors = NDArray[np.float32]


def default_cache() -> Path:
    """Return where vectors are kept unless the user says otherwise: the user's cache folder."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "kina-build" / "vectors.sqlite"


def vector_key(encoder: str, revision: str, text: str) -> bytes:
    """Hash an encoder's name, its revision and a text into the key of one vector."""
    # surrogates are not UTF-8, yet a JSON escape can bring one into a text
    body = canonical([encoder, revision, text]).encode("utf-8", "surrogatepass")
    return hashlib.sha256(body).digest()


def load_vectors(path: Path, keys: Sequence[bytes], dimension: int) -> dict[bytes, Vectors]:
    """Read the vectors that are stored for some keys.

    Raises:
        InputError: the file is not a vector cache or cannot be opened.
    """
    found: dict[bytes, Vectors] = {}
    with _opened(path) as base:
        for start in range(0, len(keys), KEYS_A_QUERY):
            part = keys[start : start + KEYS_A_QUERY]
            marks = ",".join("?" * len(part))
            rows = base.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)  # noqa: S608  marks only
            for key, raw in rows:
                vector = np.frombuffer(raw, dtype="<f4").astype(np.float32)
                if len(vector) == dimension:  # a torn or foreign row is computed anew
                    found[key] = vector
    return found


def stored_keys(path: Path, keys: Sequence[bytes], dimension: int) -> set[bytes]:
    """Tell for which keys a vector is stored, without reading it.

    Raises:
        InputError: the file is not a vector cache or cannot be opened.
    """
    found: set[bytes] = set()
    with _opened(path) as base:
        for start in range(0, len(keys), KEYS_A_QUERY):
            part = keys[start : start + KEYS_A_QUERY]
            marks = ",".join("?" * len(part))
            query = f"SELECT key FROM vectors WHERE key IN ({marks}) AND length(vector) = ?"  # noqa: S608  marks only
            found.update(key for (key,) in base.execute(query, (*part, 4 * dimension)))
    return found


def store_vectors(path: Path, vectors: Mapping[bytes, Vectors]) -> None:
    """Keep vectors; a key that is there already is overwritten.

    Raises:
        InputError: the file is not a vector cache or cannot be written.
    """
    rows = [(key, np.asarray(vector, dtype="<f4").tobytes()) for key, vector in vectors.items()]
    with _opened(path) as base:
        base.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        base = sqlite3.connect(path, timeout=60)
        try:
            base.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
            with base:  # one transaction: all of a batch or nothing
                yield base
        finally:
            base.close()
    except (sqlite3.Error, OSError) as error:
        raise InputError(
            f"{path}: cannot be used as a cache of vectors ({error})",
            hint="name another file with --cache, or delete this one",
        ) from None
