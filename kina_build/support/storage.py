"""Support that stays on disk: a folder of support.npz parts, or one file larger than memory.

Each part is a support.npz of its own, with other items and the same anchors, weights and
scale; `kina support -o FOLDER/` writes them, and so may many machines, one part each. The
levels in a part lie as they are in memory, so that they are mapped and read in place, and
pages that were read are given back when the memory setting asks for it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kina_build.errors import InputError, Refusal
from kina_build.support.levels import CHUNK_BYTES, Encoded, FileLevels, Ids, LevelFile
from kina_build.support.matrix import SupportMatrix
from kina_build.support.npz import StoredSupport, check_levels, read_head, read_support
from kina_build.support.sparse import SparseLevels, compact, of_blocks, stacked

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
    heads = [_read_head(file, memory_mb) for file in files]
    _check_alike(heads)
    if any(head.stored.pairs for head in heads):
        return _open_pairs(path, heads, memory_mb)
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
    for head in heads:  # what is mapped is not checked again: neither its checksum nor its range
        check_levels(head.stored)
    ids, whole = _number(heads)
    pieces = [piece for one in whole for piece in one.cut()]
    levels = FileLevels(pieces, len(ids), keep_pages=fits and shared)
    if fits and not shared:
        return replace(heads[0].matrix, item_ids=ids, levels=compact(levels[:]))
    return replace(heads[0].matrix, item_ids=ids, levels=levels, on_disk=True)


def _open_pairs(path: Path, heads: Sequence[_Head], memory_mb: int) -> SupportMatrix:
    """Read parts of which some hold pairs: all are then held in memory as pairs.

    Raises:
        Refusal: they do not fit.
    """
    size = sum(sum(one.nbytes for one in head.stored.pairs) for head in heads)
    least = math.ceil((BASE_BYTES + ITEM_BYTES * sum(len(head.ids) for head in heads) + 2 * size) / 1_000_000)
    if memory_mb < least:
        raise Refusal(
            f"{path}: {memory_mb} MB of memory is too little for its scores",
            hint=f"--memory {least} is the least: scores of which nearly all are 0 are held in memory",
        )
    ids, _ = _number(heads)
    parts = [read_support(head.stored.path).levels for head in heads]
    parts = [one if isinstance(one, SparseLevels) else of_blocks(one.shape, [one]) for one in parts]
    joined = np.concatenate([head.ids for head in heads])
    levels = stacked(parts).take(np.argsort(joined, kind="stable"))
    return replace(heads[0].matrix, item_ids=ids, levels=levels)


@dataclass(frozen=True)
class _Head:
    """All of a part but its levels, and where these lie."""

    stored: StoredSupport
    piece: LevelFile

    @property
    def ids(self) -> Encoded:
        """Return its item ids, rising."""
        return self.stored.ids

    @property
    def matrix(self) -> SupportMatrix:
        """Return its anchors, weights and scale, without items."""
        return self.stored.matrix


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.npz"))
    if not found:
        raise InputError(f"{path}: no parts (*.npz) in this folder", hint=HINT)
    return found


def _read_head(path: Path, memory_mb: int) -> _Head:
    head = read_head(path, memory_mb * 1_000_000)
    levels = head.levels
    if head.pairs:
        return _Head(
            head, LevelFile(path.resolve(), 0, levels.dtype.str, (len(head.ids), 0), 0, len(head.ids))
        )
    if levels.by_column:
        raise InputError(f"{path}: not a support matrix (levels are not rows of items)", hint=HINT)
    piece = LevelFile(
        path.resolve(), levels.offset, levels.dtype.str, (len(head.ids), levels.shape[1]), 0, len(head.ids)
    )
    return _Head(head, piece)


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
            and head.matrix.weight_step == first.matrix.weight_step
            and head.piece.dtype == first.piece.dtype
        )
        if not same:
            raise InputError(
                f"{head.piece.path.name}: other anchors, weights or scale than {first.piece.path.name}",
                hint="all parts of a folder must be made with the same anchors and settings",
            )


def _number(heads: Sequence[_Head]) -> tuple[Ids, list[LevelFile]]:
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
