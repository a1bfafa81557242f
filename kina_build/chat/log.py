"""The file that makes a run resumable: every reply, as it came, one line each."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError

from kina_build.chat.records import ChatReply
from kina_build.errors import InputError
from kina_build.jsonl import dump_line


class ReplyLog:
    """Append-only JSON Lines file of replies, one synced line each; in memory if path is None.

    A last line that a crash cut short is dropped. Errors are written too, for the record,
    but never served as answers.

    Raises:
        InputError: an unreadable file, or a damaged line that is not the last.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.torn = 0
        """Lines that a crash had cut short: 0 or 1."""
        self._answers: dict[str, ChatReply] = {}
        if path is not None and path.exists():
            self._load(path)

    def __len__(self) -> int:
        return len(self._answers)

    def find(self, key: str) -> ChatReply | None:
        """Return the answer to a request, if there is one."""
        return self._answers.get(key)

    def append(self, reply: ChatReply) -> None:
        """Write one reply and sync it to disk.

        Raises:
            InputError: the file cannot be written.
        """
        if reply.answered:
            self._answers[reply.key] = reply
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as out:
                out.write((dump_line(reply) + "\n").encode())
                out.flush()
                os.fsync(out.fileno())
        except OSError as error:
            raise InputError(f"{self.path}: cannot write: {error.strerror or error}") from None

    def _load(self, path: Path) -> None:
        raw = path.read_bytes()
        whole = raw.rfind(b"\n") + 1
        if whole < len(raw):
            self.torn = 1
            # appending behind a torn line would spoil the next one too
            with path.open("r+b") as file:
                file.truncate(whole)
        for line, text in enumerate(raw[:whole].split(b"\n")[:-1], start=1):
            try:
                reply = ChatReply.model_validate_json(text)
            except ValidationError:
                raise InputError(
                    f"{path}:{line}: not a reply", hint="delete the line; its call will be made again"
                ) from None
            if reply.answered:
                self._answers[reply.key] = reply
