"""The chain of hashes through the ledger's lines, and the anchors that prove where it stood."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

ANCHOR = re.compile(r"ledger-head:(\d+):([0-9a-f]{64})")

encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Canonical JSON of a line: only texts and whole numbers, so equal lines give equal bytes.

Made once: a fresh encoder a line would double the time of `verify`.
"""


@dataclass(frozen=True)
class Head:
    """Where a ledger ends: enough to notice later that it was cut or rewritten."""

    count: int
    hash: str

    def __str__(self) -> str:
        return f"ledger-head:{self.count}:{self.hash}"


def chain(before: str, values: Sequence[Any], key: bytes | None = None) -> str:
    """Return the hash of a line: over the hash before it and its values as canonical JSON.

    Args:
        before: hash of the line before it.
        values: the line.
        key: makes it an HMAC; None is the plain sha256 of ledgers begun before there were keys.
    """
    text = f"{before}\n{encode(values)}".encode()
    return hmac.digest(key, text, "sha256").hex() if key else hashlib.sha256(text).hexdigest()


def find_anchors(text: str) -> list[Head]:
    """Find the anchors that a statement, report or payment file carries."""
    return [Head(int(count), digest) for count, digest in ANCHOR.findall(text)]
