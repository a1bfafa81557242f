"""Arrays in .npz files: what a file declares is checked before any of it is loaded.

Only arrays that lie uncompressed are read: they take as much memory as they take disk, so
no small file can ask for much memory. Objects are never unpickled. The checksum that a zip
file keeps of each array is compared with what was read.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from kina_build.errors import InputError, KinaError
from kina_build.rows.strict import IntakeRules

CHUNK_BYTES = 8_000_000
"""Bytes read at a time."""

HINT = "numpy.savez writes such files; arrays must not be compressed or hold objects"


@dataclass(frozen=True)
class Stored:
    """One array of a .npz file as its header declares it; its values may be read or mapped."""

    path: Path
    name: str
    offset: int
    """Byte of the file at which the values begin."""
    head: int
    """Bytes before the values within the zip file's entry."""
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    by_column: bool
    """Whether values follow one another down the columns."""

    @property
    def nbytes(self) -> int:
        """Return the bytes of all values."""
        return math.prod(self.shape) * self.dtype.itemsize


def look_at(path: Path, names: Sequence[str], rules: IntakeRules = IntakeRules()) -> dict[str, Stored]:
    """Return what a file declares about some arrays, without loading them.

    Raises:
        InputError: no such file, no .npz file, an array missing, twice there, compressed, of
            objects, or of another size than its header says.
    """
    with opened(path) as archive:
        return {name: _declared(archive, path, name, rules) for name in names}


def held_names(path: Path, names: Sequence[str]) -> list[str]:
    """Return those of some arrays that a file holds, in their order.

    Raises:
        InputError: no such file, or not a sound .npz file.
    """
    with opened(path) as archive:
        held = set(archive.namelist())
    return [name for name in names if f"{name}.npy" in held]


def read_arrays(
    stored: Sequence[Stored], room_bytes: float = math.inf, rules: IntakeRules = IntakeRules()
) -> list[NDArray[Any]]:
    """Load arrays of one file, after checking that all of them fit in memory.

    Args:
        stored: what `look_at` returned.
        room_bytes: memory they may take.
        rules: how much is read whatever the memory.

    Raises:
        InputError: they do not fit, or a checksum does not fit what was read.
    """
    size = sum(one.nbytes for one in stored)
    room = min(room_bytes, rules.npz_bytes, free_bytes())
    if stored and size > room:
        raise InputError(
            f"{stored[0].path}: its arrays take {size / 1e6:.0f} MB of memory, more than the "
            f"{room / 1e6:.0f} MB there are for them",
            hint="give more by --memory where the command takes it",
        )
    return [_load(one) for one in stored]


def read_blocks(stored: Stored) -> Iterator[NDArray[Any]]:
    """Read the values of an array some at a time, flat, in the order in which they lie.

    Raises:
        InputError: the checksum does not fit what was read.
    """
    size = max(1, CHUNK_BYTES // stored.dtype.itemsize) * stored.dtype.itemsize
    with opened(stored.path) as archive, archive.open(stored.name + ".npy") as file:
        file.read(stored.head)
        left = stored.nbytes
        while left:
            raw = _exactly(file, min(size, left))
            left -= len(raw)
            yield raw.view(stored.dtype)


def free_bytes() -> float:
    """Return the memory that the system can still give out; no limit where it does not say."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return math.inf


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a .npz file; whatever a damaged one makes the reader raise becomes one line.

    Raises:
        InputError: no such file, or not a sound .npz file.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except KinaError:
        raise
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", hint="check the path and the folder you are in") from None
    except Exception as error:  # noqa: BLE001  a damaged zip file or header raises anything
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise InputError(f"{path}: not a sound .npz file ({reason})", hint=HINT) from None


def _declared(archive: zipfile.ZipFile, path: Path, name: str, rules: IntakeRules) -> Stored:
    entries = [info for info in archive.infolist() if info.filename == name + ".npy"]
    if len(entries) != 1:
        raise ValueError(f"{name}: {'there twice' if entries else 'missing'}")
    info = entries[0]
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{name}: compressed, {info.file_size} bytes in {info.compress_size}")
    with archive.open(info) as file:
        shape, by_column, dtype = _header(file)
        head = file.tell()
    found = Stored(path, name, _begin(path, info) + head, head, dtype, shape, by_column)
    if dtype.hasobject:
        raise ValueError(f"{name}: holds objects")
    if not 0 < dtype.itemsize <= rules.npz_value_bytes:
        raise ValueError(f"{name}: values of {dtype.itemsize} bytes")
    if head + found.nbytes != info.file_size or found.offset + found.nbytes > path.stat().st_size:
        raise ValueError(f"{name}: cut short, or of another size than its header says")
    return found


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)  # type: ignore[no-untyped-call]
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, by_column, dtype = read(file)  # type: ignore[no-untyped-call]
    if min(shape, default=0) < 0:
        raise ValueError(f"a shape of {shape}")
    return tuple(map(int, shape)), bool(by_column), dtype


def _begin(path: Path, info: zipfile.ZipInfo) -> int:
    """Return at which byte of the file an entry begins."""
    with path.open("rb") as file:
        # the local header repeats name and extra field with lengths of its own (APPNOTE.TXT 4.3.7)
        file.seek(info.header_offset + 26)
        lengths = np.frombuffer(file.read(4), "<u2")
    return info.header_offset + 30 + int(lengths.sum())


def _load(stored: Stored) -> NDArray[Any]:
    flat = np.empty(math.prod(stored.shape), dtype=stored.dtype)
    at = 0
    for block in read_blocks(stored):
        flat[at : at + len(block)] = block
        at += len(block)
    return flat.reshape(stored.shape, order="F" if stored.by_column else "C")


def _exactly(file: IO[bytes], count: int) -> NDArray[np.uint8]:
    raw = file.read(count)
    if len(raw) != count:
        raise EOFError("cut short")
    return np.frombuffer(raw, dtype=np.uint8)
