"""Support that stays on disk: a folder of support.npz parts, or one file larger than memory.

Each part is a support.npz of its own, with other items and the same anchors, weights and
scale; `kina support -o FOLDER/` writes them, and so may many machines, one part each. The
levels in a part lie as they are in memory, so that they are mapped and read in place, and
pages that were read are given back when the memory setting asks for it.
"""

from __future__ import annotations

import itertools
import math
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kina_build.errors import InputError, Refusal
from kina_build.support.ids import Encoded, Ids, Indices, as_encoded, take_ids
from kina_build.support.matrix import SupportMatrix, read_support
from kina_build.support.pieces import CHUNK_BYTES, PartedLevels, Piece

HINT = "`kina support -o FOLDER/` writes parts"
BASE_BYTES = 700_000_000
"""Resident memory of the program with its packages and the blocks it reads (measured: .63 to .68 GB)."""
ITEM_BYTES = 100
"""Resident memory that selecting takes for each item beside its levels (measured; certifying takes 50)."""


def open_support(path: Path, memory_mb: int, *, shared: bool = False) -> SupportMatrix:
    """Open a support.npz or a folder of parts; what does not fit in memory stays on disk.

    Args:
        path: the file or folder.
        memory_mb: resident memory to keep to, in 10^6 bytes.
        shared: leave levels on disk whatever their size, for workers elsewhere to read.

    Raises:
        InputError: not a support, or parts that do not fit together.
        Refusal: even what must be held for each item does not fit.
    """
    files = _files(path)
    heads = [_read_head(file) for file in files]
    _check_alike(heads)
    size = sum(head.piece.count * head.piece.shape[1] * np.dtype(head.piece.dtype).itemsize for head in heads)
    held = BASE_BYTES + ITEM_BYTES * sum(head.piece.count for head in heads)
    least = math.ceil((held + min(size, CHUNK_BYTES)) / 1_000_000)
    if memory_mb < least:
        raise Refusal(
            f"{path}: {memory_mb} MB of memory is too little for its items",
            hint=f"--memory {least} is the least: scores stay on disk, but each item takes some bytes",
        )
    fits = held + size <= memory_mb * 1_000_000
    if fits and not shared and len(files) == 1:
        return read_support(files[0])
    ids, whole = _number(heads)
    pieces = [piece for one in whole for piece in one.cut()]
    levels = PartedLevels(pieces, len(ids), keep_pages=fits and shared)
    if fits and not shared:
        return replace(heads[0].matrix, item_ids=ids, levels=levels[:])
    return replace(heads[0].matrix, item_ids=ids, levels=levels)


def take_items(matrix: SupportMatrix, items: Indices) -> SupportMatrix:
    """Return the support of some items (rising), on disk where the matrix is."""
    levels = matrix.levels
    narrow = levels.subset(items) if isinstance(levels, PartedLevels) else levels[items]
    return replace(matrix, item_ids=take_ids(matrix.item_ids, items), levels=narrow)


def slices(matrix: SupportMatrix) -> Iterator[slice]:
    """Cut the items of a matrix into slices that are read at a time."""
    rows = max(1, CHUNK_BYTES // max(1, matrix.levels.shape[1] * matrix.levels.dtype.itemsize))
    for start in range(0, len(matrix.item_ids), rows):
        yield slice(start, min(len(matrix.item_ids), start + rows))


@dataclass(frozen=True)
class _Head:
    """All of a part but its levels."""

    ids: Encoded
    matrix: SupportMatrix
    """Without items."""
    piece: Piece


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.npz"))
    if not found:
        raise InputError(f"{path}: no parts (*.npz) in this folder", hint=HINT)
    return found


def _read_head(path: Path) -> _Head:
    try:
        with np.load(path, allow_pickle=False) as stored:
            matrix = SupportMatrix(
                item_ids=(),
                anchor_ids=tuple(stored["anchor_ids"].tolist()),
                levels=None,
                scale=int(stored["scale"]),
                weights=stored["weights"],
                weight_unit=int(stored["weight_unit"]),
            )
            ids = as_encoded(stored["item_ids"])
        offset, dtype, shape = _locate(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", hint="`kina support` writes it") from None
    except (KeyError, ValueError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not a support matrix ({error})", hint=HINT) from None
    if shape != (len(ids), len(matrix.anchor_ids)) or not (ids[1:] > ids[:-1]).all():
        raise InputError(f"{path}: its item ids do not rise or do not fit its levels", hint=HINT)
    return _Head(ids, matrix, Piece(path.resolve(), offset, dtype, shape, 0, len(ids)))


def _locate(path: Path) -> tuple[int, str, tuple[int, int]]:
    """Return where the levels lie in a stored .npz: offset in bytes, type and shape.

    Raises:
        ValueError: they are compressed or in another order.
    """
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("levels.npy")
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError("compressed")
        with path.open("rb") as file:
            # the local header repeats name and extra field with lengths of its own (APPNOTE.TXT 4.3.7)
            file.seek(info.header_offset + 26)
            lengths = np.frombuffer(file.read(4), "<u2")
            file.seek(info.header_offset + 30 + int(lengths.sum()))
            major, _ = np.lib.format.read_magic(file)  # type: ignore[no-untyped-call]
            read: Any = getattr(np.lib.format, f"read_array_header_{major}_0")
            shape, by_column, dtype = read(file)
            if by_column or len(shape) != 2:
                raise ValueError("levels are not rows of items")
            return file.tell(), dtype.str, (shape[0], shape[1])


def _check_alike(heads: Sequence[_Head]) -> None:
    """Refuse parts of different supports.

    Raises:
        InputError: other anchors, weights, scale or width of levels.
    """
    first = heads[0]
    for head in heads[1:]:
        same = (
            head.matrix.anchor_ids == first.matrix.anchor_ids
            and (head.matrix.weights == first.matrix.weights).all()
            and (head.matrix.scale, head.matrix.weight_unit) == (first.matrix.scale, first.matrix.weight_unit)
            and head.piece.dtype == first.piece.dtype
        )
        if not same:
            raise InputError(
                f"{head.piece.path.name}: other anchors, weights or scale than {first.piece.path.name}",
                hint="all parts of a folder must be made with the same anchors and settings",
            )


def _number(heads: Sequence[_Head]) -> tuple[Ids, list[Piece]]:
    """Number the items of all parts by id.

    Raises:
        InputError: an id in two parts.
    """
    order = sorted((head for head in heads if len(head.ids)), key=lambda head: head.ids[0])
    encoded = np.concatenate([head.ids for head in order]) if order else heads[0].ids
    starts = np.cumsum([0, *(len(head.ids) for head in order)])
    if all(one.ids[-1] < other.ids[0] for one, other in itertools.pairwise(order)):
        return Ids(encoded), [
            replace(head.piece, first=int(start)) for head, start in zip(order, starts, strict=False)
        ]
    # a stable sort merges runs that rise already
    by_id = np.argsort(encoded, kind="stable")
    rising = encoded[by_id]
    twice = np.flatnonzero(rising[1:] == rising[:-1])
    if len(twice):
        raise InputError(f"item_id {rising[twice[0]].decode()!r} stands in two parts")
    number = np.empty(len(by_id), dtype=np.int64)
    number[by_id] = np.arange(len(by_id))
    return Ids(rising), [
        replace(head.piece, first=-1, numbers=number[start : start + len(head.ids)])
        for head, start in zip(order, starts, strict=False)
    ]
