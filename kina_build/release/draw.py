"""Seeded draws that belong to one record: the same on every machine, whatever else is in the file.

A stream of random numbers would tie each item's draw to the items before it. A keyed
hash does not: dropping, adding or reordering items leaves every other draw as it was.
"""

from __future__ import annotations

import hashlib


def draw(seed: int, *names: str) -> int:
    """Draw an integer in [0, 2^64) for a seed and names; names are told apart, not joined.

    Args:
        seed: of the release.
        names: the purpose first, then the record, e.g. ("letters", item_id, "3").
    """
    body = "\0".join((str(seed), *names))
    return int.from_bytes(hashlib.sha256(body.encode()).digest()[:8], "big")


def draw_unit(seed: int, *names: str) -> float:
    """Draw a number in [0, 1) for a seed and names."""
    return (draw(seed, *names) >> 11) / (1 << 53)


def natural(item_id: str) -> tuple[int, int, str, str]:
    """Order ids so that whole numbers stand in counting order, before all other ids."""
    if item_id.isascii() and item_id.isdigit():
        digits = item_id.lstrip("0")  # int() refuses thousands of digits
        return 0, len(digits), digits, item_id
    return 1, 0, "", item_id
