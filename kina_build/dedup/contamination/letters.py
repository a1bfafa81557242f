"""Texts as their letters and digits alone, so that line ends, hyphens and markup hide nothing."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

WIDTH = 20
"""Letters (bytes of UTF-8) of one window: about four English words, seven Chinese characters."""

STEP = 8
"""Letters between two windows of a text that is looked for; of what is looked through, each is compared."""

_LOWER = bytes(byte + 32 if chr(byte).isupper() and byte < 128 else byte for byte in range(256))
_OTHERS = bytes(byte for byte in range(128) if not chr(byte).isalnum())
_FOREIGN = re.compile(rb"[\x80-\xff]+")
_BASE = 0x9E3779B97F4A7C15
"""Odd, so that it has an inverse modulo 2**64."""

Hashes = NDArray[np.uint64]


def letters(text: str) -> bytes:
    """Return the letters and digits of a text: lower case, accents and compatibility forms folded."""
    raw = text.encode("utf-8", "replace").translate(_LOWER, _OTHERS)
    return raw if raw.isascii() else _FOREIGN.sub(lambda run: _fold(run.group()), raw)


def letter_places(text: str) -> NDArray[np.int64]:
    """Return, for each letter that `letters` gives, the place in the text where it stands."""
    if text.isascii():
        codes = np.frombuffer(text.encode(), dtype=np.uint8)
        return np.flatnonzero(_KEPT[codes])
    lengths = np.fromiter(map(_length, text), dtype=np.int64, count=len(text))
    return np.repeat(np.arange(len(text)), lengths)


def window_hashes(data: bytes) -> Hashes:
    """Hash each window of WIDTH letters by a rolling polynomial modulo 2**64; empty where there is none."""
    count = len(data) - WIDTH + 1
    if count <= 0:
        return np.empty(0, dtype=np.uint64)
    ahead, back = _powers(1 << (len(data) - 1).bit_length())
    sums = np.zeros(len(data) + 1, dtype=np.uint64)
    np.cumsum(_VALUES[np.frombuffer(data, dtype=np.uint8)] * ahead[: len(data)], out=sums[1:])
    hashes: Hashes = (sums[WIDTH:] - sums[:count]) * back[:count]
    return hashes


def windows_of(data: bytes) -> tuple[NDArray[np.int64], Hashes]:
    """Return the windows by which a text is looked for: their places, every STEP and the last, and hashes."""
    last = len(data) - WIDTH
    if last < 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64)
    places = np.unique(np.append(np.arange(0, last, STEP), last))
    return places, window_hashes(data)[places]


@lru_cache(maxsize=4)
def _powers(size: int) -> tuple[Hashes, Hashes]:
    found = []
    for base in (_BASE, pow(_BASE, -1, 2**64)):
        powers = np.full(size, base, dtype=np.uint64)
        powers[0] = 1
        found.append(np.multiply.accumulate(powers))
    return found[0], found[1]


@lru_cache(maxsize=65536)
def _fold(run: bytes) -> bytes:
    text = unicodedata.normalize("NFKD", run.decode("utf-8", "replace").casefold())
    return "".join(filter(str.isalnum, text)).encode().translate(_LOWER)


@lru_cache(maxsize=65536)
def _length(char: str) -> int:
    return len(letters(char))


_KEPT = np.array([chr(byte).isalnum() and byte < 128 for byte in range(256)])
_VALUES = np.random.default_rng(0).integers(1, 2**64, size=256, dtype=np.uint64)
"""What a byte counts: spread over all bits, so that like texts do not get like hashes."""
