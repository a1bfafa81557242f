"""The chain of a ledger, the key that seals it, and the mark that remembers how far it got.

Whoever edits a line can compute a plain hash anew; without the key nobody can. A ledger that
was cut, or replaced by an older copy, is shorter than its mark says. Both lie beside the
ledger in files of their own that only their owner can read.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kina_build.errors import InputError, Refusal
from kina_build.rows.jsonl import read_text, writing
from kina_build.rows.outputs import sweep

KEY = re.compile(r"[0-9a-f]{64}\n?")
WIDTH = 20
"""Digits of the count in a mark: every mark is equally long, and is overwritten in one write."""
REPORT_EVERY = 10_000
"""Lines between two reports of progress."""
OTHERS = 0o077
"""Permission bits of everybody but the owner."""


def key_path(ledger: Path) -> Path:
    """Return where a ledger's key lies: pay.db -> pay.db.key."""
    return ledger.with_name(ledger.name + ".key")


def mark_path(ledger: Path) -> Path:
    """Return where a ledger's mark lies: pay.db -> pay.db.mark."""
    return ledger.with_name(ledger.name + ".mark")


def read_key(ledger: Path) -> bytes | None:
    """Return the key of a ledger's chain; None where there is none yet.

    Raises:
        InputError: the file is no key.
        Refusal: others on this machine may read it.
    """
    path = key_path(ledger)
    try:
        text = path.read_bytes().decode("ascii", errors="replace")
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    if mode & OTHERS:
        raise Refusal(f"{path}: others may read it", hint=f"chmod 600 {path.name}")
    if not KEY.fullmatch(text):
        raise InputError(f"{path}: is not the key of a ledger", hint="restore the file that was there")
    return bytes.fromhex(text.strip())


def begin_key(ledger: Path, head: Head) -> bytes:
    """Draw a key and mark where the ledger stands; only while no other process can write the ledger.

    The mark comes first: a key without a mark means that somebody took the mark away.

    Raises:
        InputError: a file cannot be made.
    """
    key = secrets.token_bytes(32)
    write_mark(ledger, key, head)
    sweep(key_path(ledger))
    with writing(key_path(ledger), private=True) as out:
        out.write(f"{key.hex()}\n".encode())
    return key


def write_mark(ledger: Path, key: bytes, head: Head) -> None:
    """Make a ledger's mark, or make it anew."""
    sweep(mark_path(ledger))
    with writing(mark_path(ledger), private=True) as out:
        out.write(_marked(key, head))


def read_mark(ledger: Path, key: bytes) -> Head | None:
    """Return how far a ledger got; None where the mark is missing.

    Raises:
        Refusal: the mark was not written under this key.
    """
    path = mark_path(ledger)
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            return _check(path, file.read(), key)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def raise_mark(ledger: Path, key: bytes, head: Head) -> None:
    """Move a ledger's mark up to a head; it never goes back.

    Raises:
        InputError: it cannot be written.
    """
    path = mark_path(ledger)
    try:
        with path.open("r+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _check(path, file.read(), key).count < head.count:
                os.pwrite(file.fileno(), _marked(key, head), 0)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _marked(key: bytes, head: Head) -> bytes:
    text = f"ledger-head:{head.count:0{WIDTH}d}:{head.hash}"
    return f"{text} {_proof(key, text)}\n".encode()


def _check(path: Path, raw: bytes, key: bytes) -> Head:
    text, _, proof = raw.decode("ascii", errors="replace").strip().partition(" ")
    found = ANCHOR.fullmatch(text)
    if found is None or not hmac.compare_digest(proof.encode(), _proof(key, text).encode()):
        raise Refusal(
            f"{path}: was changed, or belongs to another ledger", hint="restore the file that was there"
        )
    return Head(int(found[1]), found[2])


def _proof(key: bytes, text: str) -> str:
    return hmac.new(key, f"mark|{text}".encode(), hashlib.sha256).hexdigest()


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


def walk(
    rows: Iterable[Sequence[Any]],
    genesis: str,
    *,
    begun: bool,
    ledger: Path,
    key: bytes | None,
    wanted: Mapping[int, Collection[str]],
    on_progress: Callable[[int], None],
) -> Head:
    """Walk a chain from its first line, hold it against earlier heads, and return where it ends.

    Args:
        rows: the lines in order: seq, kind and the other values, the hash last.
        genesis: the hash before the first line.
        begun: the chain is keyed from its start, not from the line that seals it.
        ledger: the file, for messages.
        key: of the chain; None where there is none.
        wanted: hashes that earlier heads saw, by number of line.
        on_progress: told of lines walked.

    Raises:
        Refusal: a line was changed or taken out, is not what an earlier head saw, or the key is missing.
    """
    last, seq, used = genesis, 0, key if begun else None
    _hold_against(wanted, 0, last, ledger)
    for row in rows:
        seq += 1
        if row[1] == "seal":
            if key is None:
                raise lost_key(ledger)
            used = key
        last = chain(last, row[:-1], used)
        if row[0] != seq or row[-1] != last:
            raise Refusal(
                f"{ledger}: line {seq} was changed, or a line before it was taken out",
                hint="restore a copy from before that; `kina review ledger verify` tells if one is whole",
            )
        _hold_against(wanted, seq, last, ledger)
        if seq % REPORT_EVERY == 0:
            on_progress(seq)
    return Head(seq, last)


def _hold_against(wanted: Mapping[int, Collection[str]], seq: int, digest: str, ledger: Path) -> None:
    if seq in wanted and wanted[seq] != {digest}:
        raise Refusal(
            f"{ledger}: line {seq} is not the one that a payment file or an earlier statement saw: it was "
            "rewritten, or an older copy was put in its place and gone on with",
            hint="restore the copy that was paid from, with the files beside it",
        )


def lost_key(ledger: Path) -> Refusal:
    """Return what is said of a ledger whose key is missing."""
    return Refusal(
        f"{key_path(ledger)}: is missing, and without it nobody can tell whether the ledger was changed",
        hint="restore the file that was beside the ledger, readable by its owner only",
    )


def find_anchors(text: str) -> list[Head]:
    """Find the anchors that a statement, report or payment file carries."""
    return [Head(int(count), digest) for count, digest in ANCHOR.findall(text)]


def read_anchors(paths: Sequence[Path]) -> list[Head]:
    """Read the anchors of earlier statements and payment manifests.

    Raises:
        InputError: an unreadable file, or one without an anchor.
    """
    found: list[Head] = []
    for path in paths:
        heads = find_anchors(read_text(path))
        if not heads:
            raise InputError(f"{path}: no ledger head in it", hint="give a statement or a payment's manifest")
        found += heads
    return found
