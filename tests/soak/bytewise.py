"""Ways to damage the bytes of any file."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Damage = Callable[[bytes, Random], bytes]


def truncate(raw: bytes, rng: Random) -> bytes:
    return raw[: rng.randrange(len(raw) + 1)]


def flip_byte(raw: bytes, rng: Random) -> bytes:
    damaged = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 8, 64)) if raw else 0):
        damaged[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def insert_bytes(raw: bytes, rng: Random) -> bytes:
    place = rng.randrange(len(raw) + 1)
    more = rng.choice((b"\0", b"\xff", b"\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x1a", rng.randbytes(9)))
    return raw[:place] + more + raw[place:]


def empty(raw: bytes, rng: Random) -> bytes:
    return rng.choice((b"", b"\n", b" \n \n", b"\0" * 64, b"\xef\xbb\xbf", b"\xff\xfe"))


def cut_out(raw: bytes, rng: Random) -> bytes:
    first, last = sorted(rng.randrange(len(raw) + 1) for _ in "ab")
    return raw[:first] + raw[last:]


def repeat(raw: bytes, rng: Random) -> bytes:
    return raw + raw


BYTES: tuple[Damage, ...] = (truncate, flip_byte, insert_bytes, empty, cut_out, repeat)
