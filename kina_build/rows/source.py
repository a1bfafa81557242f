"""A source of bytes: read once, whatever it is, and known by the digest of what was read.

A pipe can be read only once, and a file can change between two readings. So every reader
asks here for its source: streams are held for as long as the command runs, and a file
that is read again must still hold what it held before.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ConfigDict

from kina_build.errors import InputError
from kina_build.rows.strict import IntakeRules

STREAM = Path("-")
"""The path that means standard input or standard output."""

CHUNK_BYTES = 1 << 20
HEAD_BYTES = 4096
"""Bytes by which the kind of a file is told."""

GZIP = b"\x1f\x8b"


class Digest(BaseModel):
    """Identity of the content of one file or folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    size_bytes: int
    rows: int
    """Newline characters in the file; for a folder, the files in it."""


@dataclass(frozen=True)
class Source:
    """Bytes as they were read, unpacked where they were gzip."""

    name: str
    """As the user wrote it; for messages."""
    data: bytes = field(repr=False)
    digest: Digest
    """Of the bytes before unpacking."""

    @property
    def suffix(self) -> str:
        """Return the suffix of the name, in lower case, behind which only .gz may stand."""
        path = Path(self.name)
        return (Path(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()


@dataclass
class Reading:
    """What one command has read so far; outside of a command nothing is remembered."""

    remembers: bool = False
    limits: IntakeRules = field(default_factory=IntakeRules)
    held: dict[Path, Source] = field(default_factory=dict)
    """Streams, which nobody can read again."""
    digests: dict[Path, Digest] = field(default_factory=dict)
    """Of files, as they were when they were read."""
    folder: tempfile.TemporaryDirectory[str] | None = None
    """Where streams lie that something must read as a file."""


_reading = Reading()


@contextmanager
def reading(*, remembers: bool = True) -> Iterator[Reading]:
    """Begin a command's reading: what was held and known before does not count.

    Args:
        remembers: what is read twice must be the same; false: of a server, whose files may change.
    """
    global _reading  # noqa: PLW0603  streams belong to the process, not to a caller
    before, _reading = _reading, Reading(remembers=remembers, limits=_reading.limits)
    try:
        yield _reading
    finally:
        if _reading.folder is not None:
            _reading.folder.cleanup()
        _reading = before


def set_limits(limits: IntakeRules) -> None:
    """Set the limits of what is read from here on."""
    _reading.limits = limits


def limits() -> IntakeRules:
    """Return the limits in force."""
    return _reading.limits


def each(paths: Path | str | Sequence[Path]) -> Sequence[Path]:
    """Return paths as a sequence, also one path alone."""
    return [Path(paths)] if isinstance(paths, Path | str) else paths


def is_stream(path: Path) -> bool:
    """Tell whether a path is standard input or a pipe, which can be read only once."""
    if path == STREAM:
        return True
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def open_source(path: Path | str) -> Source:
    """Read a whole file, a pipe, or standard input for "-"; gzip is unpacked.

    Raises:
        InputError: the file is missing, a folder, unreadable, too large, or changed since it was read.
    """
    path = Path(path)
    if path in _reading.held:
        return _reading.held[path]
    stream = is_stream(path)
    source = _make(str(path), _drain(path) if stream else _read(path))
    if not _reading.remembers:
        return source
    if stream:
        _reading.held[path] = source
    elif _reading.digests.setdefault(path, source.digest) != source.digest:
        raise InputError(f"{path}: changed while it was being read", hint="run again when nothing writes it")
    return source


def open_file(path: Path) -> Path:
    """Return a path that can be read again and again: of the file itself, or of a stream's copy."""
    if not is_stream(path):
        return path
    if _reading.folder is None:
        _reading.folder = tempfile.TemporaryDirectory(prefix="kina-")
    source = open_source(path)
    copy = Path(_reading.folder.name) / source.digest.sha256
    if not copy.exists():
        copy.write_bytes(source.data)
    return copy


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file or stream, by which its kind is told; none of a folder.

    Raises:
        InputError: the file is missing or unreadable, or changed since it was read.
    """
    if is_stream(path):
        return open_source(path).data[:HEAD_BYTES]
    if path.is_dir():
        return b""
    with opened(path) as file:
        return file.read(HEAD_BYTES)


def digest_of(path: Path) -> Digest:
    """Return the digest of what was read of a file or stream; of what lies there, if it was not read yet.

    Raises:
        InputError: the file is missing or unreadable, or changed since it was read.
    """
    if is_stream(path):
        return open_source(path).digest
    if path in _reading.digests:
        return _reading.digests[path]
    total = hashlib.sha256()
    size = rows = 0
    with opened(path) as file:
        while chunk := file.read(CHUNK_BYTES):
            total.update(chunk)
            size, rows = size + len(chunk), rows + chunk.count(b"\n")
    return Digest(sha256=total.hexdigest(), size_bytes=size, rows=rows)


def forget(path: Path) -> None:
    """Drop what is known of a file, or of what lies in a folder, because this command writes it."""
    for known in [one for one in _reading.digests if one == path or path in one.parents]:
        del _reading.digests[known]


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """Open a file for reading bytes; what goes wrong is one line that names it.

    Raises:
        InputError: the file is missing, a folder, or unreadable.
    """
    try:
        with path.open("rb") as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", hint="check the path and the folder you are in") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, not a file") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:  # a NUL character in a name
        raise InputError(f"{str(path)!r}: {error}") from None


def _read(path: Path) -> bytes:
    with opened(path) as file:
        return _within(str(path), file)


def _drain(path: Path) -> bytes:
    return _within("-", sys.stdin.buffer) if path == STREAM else _read(path)


def _within(name: str, file: IO[bytes]) -> bytes:
    most = _reading.limits.file_bytes
    chunks: list[bytes] = []
    # read(n) sets n bytes aside before it reads the first one
    while chunk := file.read(CHUNK_BYTES):
        chunks.append(chunk)
        most -= len(chunk)
        if most < 0:
            raise InputError(
                f"{name}: larger than {_reading.limits.file_bytes} bytes",
                hint="intake.file_bytes in kina.toml is the limit",
            )
    return b"".join(chunks)


def _make(name: str, raw: bytes) -> Source:
    digest = Digest(sha256=hashlib.sha256(raw).hexdigest(), size_bytes=len(raw), rows=raw.count(b"\n"))
    return Source(name, _unpack(name, raw) if raw.startswith(GZIP) else raw, digest)


def _unpack(name: str, raw: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
            return _within(name, io.BufferedReader(packed))
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name}: not a readable gzip file ({error})") from None
