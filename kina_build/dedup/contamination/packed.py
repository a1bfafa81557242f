"""Packed files as plain bytes, bytes as characters, and how far a reader has come in them."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from kina_build.errors import InputError
from kina_build.items.importing.rawfile import MARKS, suggest_encoding
from kina_build.rows.source import opened

PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zst", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz"}
PACKED_SUFFIXES = {".gz", ".zst", ".bz2", ".xz"}


CLOSED = (b"%PDF-", b"%!PS", b"PK\x03\x04", b"Rar!", b"7z\xbc\xaf")
"""How files begin that hold texts which cannot be read as they stand."""

SAMPLE_BYTES = 1 << 16
"""Bytes by which the encoding of a file is told."""

WIDE = {"utf-16-le": 0, "utf-16-be": 1}
"""Encodings without a mark, and at which places the letters of a Latin text stand."""

PRINTED = bytes((*range(32, 127), *b"\t\n\r"))


@dataclass
class Tally:
    """What was read of a corpus."""

    texts: int = 0
    """Rows, and files of running text."""
    unread: int = 0
    """Rows without text, and files that hold none."""
    size: int = 0
    """Bytes read."""
    on_bytes: Callable[[int], None] = field(default=lambda _: None)

    def add(self, count: int) -> None:
        """Count bytes that were read."""
        self.size += count
        self.on_bytes(self.size)


class _Counted(io.RawIOBase):
    """Bytes of a file, counted while they are read."""

    def __init__(self, file: IO[bytes], tally: Tally) -> None:
        self._file, self._tally = file, tally

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        count = self._file.readinto(target)  # type: ignore[attr-defined]
        self._tally.add(count)
        return int(count)


@contextmanager
def unpacked(path: Path, head: bytes, tally: Tally) -> Iterator[io.BufferedReader]:
    """Open a file, unpacked where it is packed; damage is one line that names it."""
    with opened(path) as file:
        counted = io.BufferedReader(_Counted(file, tally), 1 << 18)
        kind = next((kind for mark, kind in PACKED.items() if head.startswith(mark)), "")
        try:
            raw: Any = _unpack(path, kind, counted) if kind else _Counted(file, tally)
            yield io.BufferedReader(raw, 1 << 18)
        except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
            raise InputError(f"{path}: cannot be read to its end ({error})") from None


def _unpack(path: Path, kind: str, file: IO[bytes]) -> Any:
    if kind == "gzip":
        return gzip.GzipFile(fileobj=file)
    if kind != "zst":
        return (bz2.BZ2File if kind == "bz2" else lzma.LZMAFile)(file)
    try:
        zstandard = import_module("zstandard")
    except ImportError:
        raise InputError(
            f"{path}: a zstd file needs the package zstandard",
            hint="pip install zstandard, or unpack it first: zstd -d",
        ) from None
    return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)


def decoded(stream: io.BufferedReader) -> io.TextIOWrapper | None:
    """Read bytes as characters, by their mark, as UTF-8 or as what is likeliest; None where they are no text.

    What is not UTF-8 in a file that begins so is read as Windows-1252: one stray page hides nothing.
    """
    head = stream.peek(SAMPLE_BYTES)[:SAMPLE_BYTES]
    encoding = _encoding(head)
    if encoding is None or head.startswith(CLOSED):
        return None
    return io.TextIOWrapper(stream, encoding=encoding, errors=STRAY, newline="\n")


def _encoding(head: bytes) -> str | None:
    if marked := next((encoding for mark, encoding in MARKS if head.startswith(mark)), None):
        return marked
    if b"\x00" in head:
        return next((name for name, own in WIDE.items() if _latin(head[1 - own :: 2], head[own::2])), None)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError as error:
        return suggest_encoding(head, error.start)
    return "utf-8"


def _latin(empty: bytes, told: bytes) -> bool:
    """Tell whether one half of the bytes is nearly all zero and the other printed ASCII."""
    least = len(told) * 9 // 10
    return bool(told) and empty.count(0) >= least and len(told.translate(None, PRINTED)) <= len(told) - least


STRAY = "kina-stray"


def _read_stray(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(STRAY, _read_stray)
