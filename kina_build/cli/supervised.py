"""Run a command on Ray in a process of its own: Ray ends a process whose cluster is lost, without a word."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import typer

from kina_build.errors import KinaError

PIPES = "KINA_SUPERVISED"
"""Variable that names two pipes: on one the process tells that it ended by itself, on the other
it hears when its supervisor ends."""

command_line: list[str] | None = None
"""Arguments of the `kina` that runs; None where no command line was given, as in tests."""


def supervise() -> None:
    """Run this command line in another process and leave with its exit code; in that process, go on.

    Raises:
        KinaError: the process ended without having come to an end of its own.
    """
    if PIPES in os.environ:
        _answer(*map(int, os.environ[PIPES].split(",")))
    elif command_line is not None:
        _start(command_line)


def _answer(ends_well: int, lives: int) -> None:
    def follow() -> None:
        os.read(lives, 1)  # returns when the other end closes: a run without supervisor would hinder the next
        os.kill(os.getpid(), signal.SIGTERM)

    def tell() -> None:
        with suppress(BrokenPipeError):  # nobody is there to be told
            os.write(ends_well, b".")

    atexit.register(tell)
    threading.Thread(target=follow, name="supervisor", daemon=True).start()


def _start(arguments: list[str]) -> None:
    (ended, ends_well), (lives, life) = os.pipe(), os.pipe()
    child = subprocess.Popen(  # noqa: S603  our own arguments, run once more
        [sys.executable, "-m", "kina_build.cli.main", *arguments],
        env={**os.environ, PIPES: f"{ends_well},{lives}"},
        pass_fds=(ends_well, lives),
    )
    os.close(ends_well)
    code = None
    while code is None:
        with suppress(KeyboardInterrupt):  # the child was interrupted too and says so
            code = child.wait()
    os.close(life)
    if not os.read(ended, 1):
        why = "the Ray cluster was lost" if code >= 0 else f"the process on Ray was killed (signal {-code})"
        raise KinaError(why, hint="finished parts are kept: run the command again")
    raise typer.Exit(code)
