"""Vectors in files, for sets that are larger than memory.

Files are read into buffers and never mapped: what a process holds is what it asked for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from kina_build.errors import InputError
from kina_build.rows.jsonl import writing

Vectors = NDArray[np.float32]
Rows = slice | Sequence[int] | NDArray[np.int64]


class VectorSet(Protocol):
    """Rows that can be taken out: an array, or files."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Return (rows, dimension)."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Rows, /) -> Vectors: ...


@dataclass(frozen=True)
class VectorFiles:
    """Float32 rows in .npy files, numbered through all of them."""

    paths: tuple[Path, ...]
    counts: tuple[int, ...]
    """Rows of each file."""
    offsets: tuple[int, ...]
    """Byte at which each file's first row begins."""
    dimension: int

    @property
    def shape(self) -> tuple[int, int]:
        """Return (rows, dimension)."""
        return sum(self.counts), self.dimension

    def __len__(self) -> int:
        """Return how many rows there are."""
        return sum(self.counts)

    def __getitem__(self, rows: Rows) -> Vectors:
        """Read some rows.

        Raises:
            InputError: a file went away or is cut short.
        """
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            return self._read(start, max(start, stop))
        return self._gather(np.asarray(rows, dtype=np.int64))

    def part(self, start: int, stop: int) -> VectorFiles:
        """Return some rows that follow one another, still in their files."""
        kept: list[tuple[Path, int, int]] = []
        for place, first in enumerate(self._firsts()):
            low, high = max(start, first), min(stop, first + self.counts[place])
            if low < high:
                offset = self.offsets[place] + 4 * self.dimension * (low - first)
                kept.append((self.paths[place], high - low, offset))
        paths, counts, offsets = zip(*kept, strict=True) if kept else ((), (), ())
        return VectorFiles(paths, counts, offsets, self.dimension)

    def _read(self, start: int, stop: int) -> Vectors:
        out = np.empty((stop - start, self.dimension), dtype=np.float32)
        for place, first in enumerate(self._firsts()):
            low, high = max(start, first), min(stop, first + self.counts[place])
            if low < high:
                self._fill(place, [(low - first, out[low - start : high - start])])
        return out

    def _gather(self, rows: NDArray[np.int64]) -> Vectors:
        out = np.empty((len(rows), self.dimension), dtype=np.float32)
        for place, first in enumerate(self._firsts()):
            here = np.flatnonzero((rows >= first) & (rows < first + self.counts[place]))
            if len(here):
                self._fill(place, ((int(rows[at]) - first, out[at : at + 1]) for at in here))
        return out

    def _firsts(self) -> list[int]:
        return [0, *np.cumsum(self.counts).tolist()][: len(self.counts)]

    def _fill(self, place: int, wanted: Iterator[tuple[int, Vectors]] | list[tuple[int, Vectors]]) -> None:
        """Read runs of one file's rows: (first row of the run, where to put it)."""
        path = self.paths[place]
        try:
            with path.open("rb", buffering=0) as file:
                for row, target in wanted:
                    _read_exactly(file.fileno(), target, self.offsets[place] + row * 4 * self.dimension)
        except (OSError, EOFError) as error:
            raise InputError(f"{path}: vectors cannot be read ({error})") from None


def open_vectors(paths: Sequence[Path]) -> VectorFiles:
    """Open .npy files as one set; rows follow one another in the order of the files.

    Raises:
        InputError: a file is missing, no two-dimensional float32 array, cut short, or of
            another dimension than the first.
    """
    heads = [_head(path) for path in paths]
    for path, head in zip(paths, heads, strict=True):
        if head[1] != heads[0][1]:
            raise InputError(f"{path}: vectors of dimension {head[1]}, those before have {heads[0][1]}")
    counts, dimensions, offsets = zip(*heads, strict=True) if heads else ((), (0,), ())
    return VectorFiles(tuple(paths), counts, offsets, dimensions[0])


def write_vectors(path: Path, vectors: Vectors) -> None:
    """Write rows as one .npy file that appears whole or not at all, in a work folder that is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as out:
        np.save(out, np.ascontiguousarray(vectors, dtype="<f4"))


def _head(path: Path) -> tuple[int, int, int]:
    """Return (rows, dimension, offset of the first row)."""
    try:
        with path.open("rb") as file:
            version = npy.read_magic(file)  # type: ignore[no-untyped-call]
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = read(file)  # type: ignore[no-untyped-call]
            offset, size = file.tell(), os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: not a .npy file ({error})") from None
    if len(shape) != 2 or fortran or dtype != np.dtype("<f4"):
        raise InputError(f"{path}: holds {dtype} of shape {shape}, not float32 rows")
    if size != offset + 4 * shape[0] * shape[1]:
        raise InputError(f"{path}: is cut short")
    return shape[0], shape[1], offset


def _read_exactly(file: int, target: Vectors, offset: int) -> None:
    view = target.data.cast("B") if target.size else memoryview(b"")
    while len(view):
        count = os.preadv(file, [view], offset)
        if not count:
            raise EOFError("the file is cut short")
        view, offset = view[count:], offset + count
