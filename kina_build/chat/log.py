"""The file that makes a run resumable: every reply, as it came, one line each."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from kina_build.chat.records import ChatReply
from kina_build.errors import InputError
from kina_build.rows.jsonl import canonical, dump_line

AGAIN = "delete the line; its call will be made again"

DIGEST_LENGTH = 32
"""Hexadecimal digits: 128 bits."""


class _Line(ChatReply):
    """A reply as it is kept, with a digest of all of it, its key included."""

    digest: str = ""
    """None where a version before .5 wrote the line."""


class ReplyLog:
    """Append-only JSON Lines file of replies, one line each; in memory if path is None.

    A last line that a crash cut short is dropped. Errors are written too, for the record,
    but never served as answers. Each line carries a digest of its content, so that a reply
    that was changed, or given another's key, is never served. Of two replies with one key,
    the later counts.

    Raises:
        InputError: an unreadable file, a damaged line that is not the last, or a line that
            does not fit its digest.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.torn = 0
        """Lines that a crash had cut short: 0 or 1."""
        self.unsigned = 0
        """Lines that carry no digest: replies are paid for, so those of older versions still count."""
        self._answers: dict[str, ChatReply] = {}
        if path is not None and path.exists():
            self._load(path)

    @classmethod
    def peek(cls, path: Path | None) -> ReplyLog:
        """Return what a log answers, in memory: the file stays as it is, a torn last line included.

        Raises:
            InputError: as for a log that is opened.
        """
        if path is None or not path.is_file():
            return cls()
        with tempfile.TemporaryDirectory(prefix="kina-") as folder:
            copy = Path(folder) / path.name
            shutil.copyfile(path, copy)
            return cls(copy)

    def __len__(self) -> int:
        return len(self._answers)

    def __iter__(self) -> Iterator[ChatReply]:
        """Yield the answers, in the order in which they came."""
        return iter(self._answers.values())

    def find(self, key: str) -> ChatReply | None:
        """Return the answer to a request, if there is one."""
        return self._answers.get(key)

    def set_aside(self) -> None:
        """Serve none of the replies that are there so far; they stay in the file."""
        self._answers.clear()

    def append(self, *replies: ChatReply) -> None:
        """Write replies and sync them to disk.

        Raises:
            InputError: the file cannot be written.
        """
        self.write(replies)
        self.sync()

    def write(self, replies: Iterable[ChatReply]) -> None:
        """Hand replies to the system: from here on the end of this process does not lose them.

        Raises:
            InputError: the file cannot be written.
        """
        kept = list(replies)
        with self._opened() as out:
            if out is not None:
                out.write("".join(_sign(reply) + "\n" for reply in kept).encode())
        self._answers.update((reply.key, reply) for reply in kept if reply.answered)

    def sync(self) -> None:
        """Put what was written on disk: from here on a power cut does not lose it either.

        Raises:
            InputError: the file cannot be written.
        """
        with self._opened() as out:
            if out is not None:
                os.fsync(out.fileno())

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes] | None]:
        if self.path is None:
            yield None
            return
        try:
            self.path.parent.mkdir(exist_ok=True)
            with self.path.open("ab") as out:
                yield out
        except OSError as error:
            raise InputError(f"{self.path}: cannot write: {error.strerror or error}") from None

    def _load(self, path: Path) -> None:
        raw = self._read(path)
        whole = raw.rfind(b"\n") + 1
        for line, text in enumerate(raw[:whole].split(b"\n")[:-1], start=1):
            try:
                kept = _Line.model_validate_json(text)
                reply = ChatReply(**kept.model_dump(exclude={"digest"}))
            except ValidationError:
                raise InputError(f"{path}:{line}: not a reply", hint=AGAIN) from None
            if kept.digest and kept.digest != _digest(reply):
                raise InputError(f"{path}:{line}: the reply was changed since it was written", hint=AGAIN)
            self.unsigned += not kept.digest
            if reply.answered:
                self._answers[reply.key] = reply
        if whole < len(raw):
            self._cut(path, whole, raw[whole:])

    def _cut(self, path: Path, whole: int, torn: bytes) -> None:
        if not whole and not b'{"key"'.startswith(torn[:6]):
            raise InputError(f"{path}: not a log of replies", hint="name another file for the log")
        self.torn = 1
        # appending behind a torn line would spoil the next one too
        with path.open("r+b") as file:
            file.truncate(whole)

    def _read(self, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except OSError as error:
            raise InputError(f"{path}: cannot read: {error.strerror or error}") from None


def _sign(reply: ChatReply) -> str:
    return dump_line(_Line(**reply.model_dump(), digest=_digest(reply)))


def _digest(reply: ChatReply) -> str:
    """Hash a reply; fields that later versions add with a default change no digest."""
    body = canonical(reply.model_dump(mode="json", exclude_defaults=True))
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_LENGTH]
