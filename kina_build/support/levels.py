"""Levels that lie in files, mapped piece by piece and read like one array."""

from __future__ import annotations

import bisect
import mmap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

CHUNK_BYTES = 32_000_000
"""Levels read at a time where a reader asks for all of them."""


@dataclass(frozen=True)
class LevelFile:
    """Levels of some items in one file."""

    path: Path
    offset: int
    """Of the first row, in bytes."""
    dtype: str
    shape: tuple[int, int]
    """Rows of the file and anchors."""
    first: int
    """Number of its first item, where its items follow one another."""
    count: int
    """Items."""
    numbers: Indices | None = None
    """Item number of each row, rising, where they do not follow one another."""
    place: Indices | None = None
    """Rows of the file that are looked at, rising; None: all."""

    @property
    def own(self) -> slice | Indices:
        """Return what takes its items out of an array of all items."""
        return slice(self.first, self.first + self.count) if self.numbers is None else self.numbers

    def number(self, at: int) -> int:
        """Return the number of its item at a position."""
        return self.first + at if self.numbers is None else int(self.numbers[at])

    def find(self, items: Indices) -> tuple[Indices, Indices]:
        """Return which of some item numbers are here (positions in `items`), and where among its items."""
        if self.numbers is None:
            local = items - self.first
            here = np.flatnonzero((local >= 0) & (local < self.count))
        else:
            local = np.searchsorted(self.numbers, items)
            inside = np.minimum(local, self.count - 1)
            here = np.flatnonzero(self.numbers[inside] == items)
        return here, local[here]

    def rows(self, local: Indices) -> Indices:
        """Return in which rows of the file some of its items lie."""
        return local if self.place is None else self.place[local]

    def narrowed(self, items: Indices) -> LevelFile | None:
        """Return the piece with some items only, numbered by their place in `items` (rising)."""
        here, local = self.find(items)
        if not len(here):
            return None
        return replace(self, first=-1, count=len(here), numbers=here, place=self.rows(local))

    def cut(self) -> Iterator[LevelFile]:
        """Cut a piece of whole rows into pieces of CHUNK_BYTES, each read and given back by itself."""
        row_bytes = max(1, self.shape[1] * np.dtype(self.dtype).itemsize)
        rows = max(1, CHUNK_BYTES // row_bytes)
        for start in range(0, self.count, rows):
            count = min(rows, self.count - start)
            yield replace(
                self,
                offset=self.offset + start * row_bytes,
                shape=(count, self.shape[1]),
                first=self.first + start,
                count=count,
                numbers=None if self.numbers is None else self.numbers[start : start + count],
            )


class Window:
    """The levels of one piece, mapped."""

    def __init__(self, piece: LevelFile) -> None:
        self.piece = piece
        with piece.path.open("rb") as file:
            # copy-on-write: compiled code is made for writable arrays, and nothing writes
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        flat = np.frombuffer(self._map, piece.dtype, int(np.prod(piece.shape)), piece.offset)
        self.levels: NDArray[Any] = flat.reshape(piece.shape)
        """Shape (rows of the file, anchors)."""

    def release(self) -> None:
        """Give the pages back; they are read from the file again when they are needed."""
        self._map.madvise(mmap.MADV_DONTNEED)


class Levels(Protocol):
    """Levels of items by anchors, read by item, items or slice: an array, or files."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Tell how many items and anchors there are."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Tell the type of a level."""

    @property
    def nbytes(self) -> int:
        """Tell the bytes of all levels."""

    def __len__(self) -> int: ...

    def __getitem__(self, items: Any) -> NDArray[Any]: ...

    def take(self, items: Indices, axis: int) -> Levels:
        """Return the levels of some items (rising, axis 0), in files where these are."""


class FileLevels:
    """Levels on disk, read like an array of shape (items, anchors): by item, items or slice."""

    def __init__(self, pieces: Sequence[LevelFile], count: int, *, keep_pages: bool) -> None:
        """Map the pieces.

        Args:
            pieces: together they hold the items 0 to count - 1.
            count: items.
            keep_pages: whether all levels may stay in memory once they were read.
        """
        self.pieces = tuple(pieces)
        self.keep_pages = keep_pages
        width = pieces[0].shape[1] if pieces else 0
        self.shape = (count, width)
        self.dtype = np.dtype(pieces[0].dtype) if pieces else np.dtype(np.uint8)
        self._windows = [Window(piece) for piece in pieces]

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """Return the bytes of the levels."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def __getitem__(self, items: int | slice | Indices | list[int]) -> NDArray[Any]:
        if isinstance(items, int | np.integer):
            row: NDArray[Any] = self._take(np.array([items]))[0]
            return row
        if isinstance(items, slice):
            return self._take(np.arange(*items.indices(len(self))))
        return self._take(np.asarray(items, dtype=np.int64))

    def take(self, items: Indices, axis: int = 0) -> FileLevels:
        """Return the levels of some items (rising), still on disk."""
        if len(items) == len(self):
            return self
        pieces = [piece for one in self.pieces if (piece := one.narrowed(items)) is not None]
        return FileLevels(pieces, len(items), keep_pages=self.keep_pages)

    def _take(self, items: Indices) -> NDArray[Any]:
        out = np.empty((len(items), self.shape[1]), dtype=self.dtype)
        for window in self._windows:
            here, local = window.piece.find(items)
            if len(here):
                out[here] = window.levels[window.piece.rows(local)]
                if not self.keep_pages:
                    window.release()
        return out


Encoded = NDArray[np.bytes_]
Indices = NDArray[np.int64]

CHUNK = 65_536
"""Ids decoded at a time."""


class Ids(Sequence[str]):
    """Read like a tuple of rising, unique strings; held as UTF-8, whose order is that of the strings."""

    def __init__(self, encoded: Encoded) -> None:
        self.encoded = encoded

    def __len__(self) -> int:
        return len(self.encoded)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        if isinstance(at, slice):
            return tuple(raw.decode() for raw in self.encoded[at].tolist())
        return str(self.encoded[at].decode())

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), CHUNK):
            yield from self[start : start + CHUNK]

    def __contains__(self, item_id: object) -> bool:
        return isinstance(item_id, str) and position_of(self, item_id) is not None


def encode_ids(item_ids: Iterable[str]) -> Encoded:
    """Turn ids into a column, in their order."""
    return np.array([item_id.encode() for item_id in item_ids], dtype=np.bytes_)


def as_encoded(stored: NDArray[Any]) -> Encoded:
    """Return a stored column of ids as bytes; files may hold text instead."""
    return encode_ids(stored.tolist()) if stored.dtype.kind == "U" else stored


def encoded_slices(item_ids: Sequence[str], size: int = CHUNK) -> Iterator[list[bytes]]:
    """Yield ids as bytes, `size` at a time."""
    for start in range(0, len(item_ids), size):
        if isinstance(item_ids, Ids):
            yield item_ids.encoded[start : start + size].tolist()
        else:
            yield [item_id.encode() for item_id in item_ids[start : start + size]]


def take_ids(item_ids: Sequence[str], rows: Indices) -> Sequence[str]:
    """Return some ids, in the order of `rows`."""
    if isinstance(item_ids, Ids):
        return Ids(item_ids.encoded[rows])
    return tuple(item_ids[row] for row in rows.tolist())


def position_of(item_ids: Sequence[str], item_id: str) -> int | None:
    """Return where an id stands among sorted ones, None where it does not."""
    at = bisect.bisect_left(item_ids, item_id)
    return at if at < len(item_ids) and item_ids[at] == item_id else None
