"""What commands keep for later runs: how it is opened, and what is said of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kina_build.cli.command import Run

if TYPE_CHECKING:
    from kina_build.chat import ReplyLog
    from kina_build.encode.kept import Reuse


def tell_notes(run: Run, reuse: Reuse) -> None:
    """Say what of that which earlier runs kept was not taken over because it did not pass a check."""
    for line in reuse.notes:
        run.console.warn(line)


def open_log(run: Run, path: Path | None) -> ReplyLog:
    """Open a log of replies, those of batches left over included; --force takes none of them over.

    Raises:
        InputError: a file that cannot be read, or a line that was changed since it was written.
    """
    from kina_build import chat

    return chat.open_log(path, fresh=run.force, say=run.console.warn)
