"""A FAISS index kept in a file, so that what is added to a pool is compared without a new scan.

The file is a .npz: a flat FAISS index of the pool's vectors, which text each row is the vector of (hashed
with all that shapes a vector), and the close pairs among them. A later run looks up the rows that
are new and takes the other pairs from the file; what it finds is what a scan of all rows finds. A
file that was damaged, or made by another encoder or of another pool, is refused.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.search.across import look_up
from kina_build.dedup.search.faiss import ROWS_AT_ONCE, flat_bytes, read_flat, rows_of
from kina_build.dedup.search.scan import Pairs, check_count, joined
from kina_build.encode.kept import COSINE_SLACK, Reuse
from kina_build.errors import InputError
from kina_build.progress import Progress, silent
from kina_build.rows.jsonl import writing
from kina_build.rows.npz import held_names, look_at, read_arrays

FORM = 1
"""Changes when the meaning of the file does."""

ARRAYS = ("kina_index", "encoder", "keys", "threshold", "left", "right", "cosines", "faiss")
HEAD = ("kina_index", "encoder")

KEY_BYTES = 32
"""A key is a SHA-256."""

FRESH_SHARE = 0.025
"""Share of new rows up to which looking them up is cheaper than a scan of all: FAISS's flat index multiplies
at a fifth of numpy's rate and has no bound to skip by (100,000 rows: 296 s against 10.6)."""

Vectors = NDArray[np.float32]
Indices = NDArray[np.int64]
Scan = Callable[[Vectors, float, DedupRules, Progress], Pairs]


@dataclass(frozen=True)
class KeptIndex:
    """A pool's vectors in a FAISS index, and the close pairs among them."""

    encoder: bytes
    """Hash of all that shapes the vectors."""
    keys: tuple[bytes, ...]
    """Of each row, the hash of the encoder and the text."""
    threshold: float
    pairs: Pairs
    """Every two rows whose cosine reaches the threshold."""
    faiss: NDArray[np.uint8]
    """The index as FAISS writes it."""


@dataclass(frozen=True)
class IndexFile:
    """Where an index is kept, and what the rows are that are looked for in it."""

    path: Path
    encoder: bytes
    keys: Sequence[bytes]
    reuse: Reuse

    def pairs(
        self,
        vectors: Vectors,
        threshold: float,
        rules: DedupRules = DedupRules(),
        on_progress: Progress = silent,
        *,
        scan: Scan,
    ) -> Pairs:
        """Find every pair of rows whose cosine reaches a threshold, and keep the index for the next run.

        Args:
            vectors: one row a key, of length 1.
            threshold: in (0, 1].
            rules: most pairs.
            on_progress: told (rows done, rows).
            scan: what compares all rows where the file has nothing to say.

        Raises:
            InputError: the file is damaged, of another pool, or its vectors are not those of the encoder.
            Refusal: more pairs than rules.pair_limit.
        """
        kept = None if self.reuse.forced or not self.path.exists() else read_index(self.path, self.encoder)
        if kept is not None and kept.keys == tuple(self.keys) and kept.threshold == threshold:
            open_faiss(self.path, kept, vectors, np.arange(len(vectors)))
            self.reuse.indexed += len(vectors)
            return kept.pairs
        pairs = self._grown(kept, vectors, threshold, rules, on_progress) if kept else None
        if pairs is None:
            pairs = scan(vectors, threshold, rules, on_progress)
        made = KeptIndex(self.encoder, tuple(self.keys), threshold, pairs, flat_bytes(vectors))
        write_index(self.path, made)
        return pairs

    def _grown(
        self, kept: KeptIndex, vectors: Vectors, threshold: float, rules: DedupRules, on_progress: Progress
    ) -> Pairs | None:
        """Add the pairs of new rows to those that are kept; None where a scan of all rows is better."""
        rows = match_rows(kept.keys, self.keys)
        known, fresh = np.flatnonzero(rows >= 0), np.flatnonzero(rows < 0)
        if len(kept.keys) and not len(known):
            raise InputError(
                f"{self.path}: an index of another pool: it holds none of these items",
                hint="name another file, or make it anew with --force",
            )
        index = open_faiss(self.path, kept, vectors[known], rows[known])
        if kept.threshold > threshold:
            self.reuse.note(
                f"{self.path}: kept for cosines from {kept.threshold}; all items are compared anew"
            )
            return None
        if len(vectors) > rules.faiss_up_to and len(fresh) > FRESH_SHARE * len(vectors):
            return None
        self.reuse.indexed += len(known)
        old = _renumbered(kept.pairs, rows, len(kept.keys), threshold)
        places = np.concatenate([_places(rows, len(kept.keys)), fresh])
        new = look_up(index, vectors, (fresh, places), threshold, on_progress)
        check_count(len(old) + len(new), threshold, rules)
        return joined([old, new])


def check_index(path: Path, encoder: bytes, *, forced: bool) -> None:
    """Check that a file may be used, or replaced: before anything is encoded.

    Raises:
        InputError: it is no index, one of a newer version, or of another encoder and nothing is forced.
    """
    if not path.exists():
        return
    if not set(HEAD) <= set(held_names(path, HEAD)):
        raise InputError(f"{path}: not an index that kina dedup keeps", hint="name another file with --index")
    if not forced:
        _check_head(path, encoder)


def read_index(path: Path, encoder: bytes) -> KeptIndex:
    """Read a kept index.

    Raises:
        InputError: it is no index, was damaged or changed, or is of another encoder.
    """
    _check_head(path, encoder)
    stored = look_at(path, (*ARRAYS, "digest"))
    values = dict(zip(stored, read_arrays(list(stored.values())), strict=True))
    digest = values.pop("digest")
    if digest.tobytes() != _digest(values):
        raise InputError(f"{path}: it was changed since it was written", hint="make it anew with --force")
    pairs = Pairs(values["left"], values["right"], values["cosines"])
    keys = tuple(row.tobytes() for row in values["keys"])
    return KeptIndex(encoder, keys, float(values["threshold"][0]), pairs, values["faiss"])


def write_index(path: Path, index: KeptIndex) -> None:
    """Write an index, whole or not at all."""
    values: dict[str, NDArray[Any]] = {
        "kina_index": np.array([FORM], np.int64),
        "encoder": np.frombuffer(index.encoder, np.uint8),
        "keys": np.frombuffer(b"".join(index.keys), np.uint8).reshape(-1, KEY_BYTES),
        "threshold": np.array([index.threshold]),
        "left": index.pairs.left,
        "right": index.pairs.right,
        "cosines": index.pairs.cosines,
        "faiss": index.faiss,
    }
    with writing(path) as out:
        np.savez(out, **values, digest=np.frombuffer(_digest(values), np.uint8))  # type: ignore[arg-type]


def match_rows(kept: Sequence[bytes], wanted: Sequence[bytes]) -> Indices:
    """Return the kept row of each wanted key, -1 where there is none; each kept row is given once."""
    free: dict[bytes, list[int]] = defaultdict(list)
    for row in range(len(kept) - 1, -1, -1):
        free[kept[row]].append(row)
    found = (free[key].pop() if free.get(key) else -1 for key in wanted)
    return np.fromiter(found, np.int64, len(wanted))


def open_faiss(path: Path, kept: KeptIndex, vectors: Vectors, rows: Indices) -> Any:
    """Open the FAISS index, and check that some of its rows are the vectors that the encoder gives now.

    Raises:
        InputError: they are not, or the index holds something else than rows.
    """
    index = read_flat(kept.faiss, len(kept.keys), vectors.shape[1])
    if index is None:
        raise InputError(f"{path}: its FAISS index is damaged", hint="make it anew with --force")
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        # of unit vectors, the distance squared is twice what the cosine lacks; NaN fails too
        apart = np.square(rows_of(index, rows[part]) - vectors[part]).sum(axis=1)
        if not (apart <= 2 * COSINE_SLACK).all():
            raise InputError(
                f"{path}: its vectors are not what the encoder gives now", hint="make it anew with --force"
            )
    return index


def _places(rows: Indices, count: int) -> Indices:
    """Return the pool's row of each kept row, -1 where it is gone."""
    places = np.full(count, -1, np.int64)
    known = np.flatnonzero(rows >= 0)
    places[rows[known]] = known
    return places


def _renumbered(pairs: Pairs, rows: Indices, count: int, threshold: float) -> Pairs:
    """Tell pairs of kept rows in rows of this pool; those of rows that are gone are left out."""
    places = _places(rows, count)
    left, right = places[pairs.left], places[pairs.right]
    stays = (left >= 0) & (right >= 0) & (pairs.cosines >= threshold)
    left, right = left[stays], right[stays]
    return Pairs(np.minimum(left, right), np.maximum(left, right), pairs.cosines[stays])


def _check_head(path: Path, encoder: bytes) -> None:
    form, made_by = read_arrays(list(look_at(path, HEAD).values()))
    if form.tolist() != [FORM]:
        raise InputError(
            f"{path}: an index of another form than this version of kina keeps",
            hint="make it anew with --force",
        )
    if made_by.tobytes() != encoder:
        raise InputError(
            f"{path}: an index of another encoder, or of the same in another setting",
            hint="name another file with --index, or make it anew with --force",
        )


def _digest(values: dict[str, NDArray[Any]]) -> bytes:
    total = hashlib.sha256()
    for name in ARRAYS:
        array = np.ascontiguousarray(values[name])
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(array.tobytes())
    return total.digest()
