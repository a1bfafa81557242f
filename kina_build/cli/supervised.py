"""Run a command on Ray in a process of its own: Ray ends a process whose cluster is lost, without a word."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from contextlib import suppress

import typer

from kina_build.errors import KinaError

PIPE = "KINA_ENDS_WELL"
"""Variable that names the pipe on which the process tells that it ended by itself."""

command_line: list[str] | None = None
"""Arguments of the `kina` that runs; None where no command line was given, as in tests."""


def supervise() -> None:
    """Run this command line in another process and leave with its exit code; in that process, go on.

    Raises:
        KinaError: the process ended without having come to an end of its own.
    """
    if PIPE in os.environ:
        atexit.register(os.write, int(os.environ[PIPE]), b".")
        return
    if command_line is None:
        return
    reading, writing = os.pipe()
    child = subprocess.Popen(  # noqa: S603  our own arguments, run once more
        [sys.executable, "-m", "kina_build.cli.main", *command_line],
        env={**os.environ, PIPE: str(writing)},
        pass_fds=(writing,),
    )
    os.close(writing)
    code = None
    while code is None:
        with suppress(KeyboardInterrupt):  # the child was interrupted too and says so
            code = child.wait()
    if not os.read(reading, 1):
        why = "the Ray cluster was lost" if code >= 0 else f"the process on Ray was killed (signal {-code})"
        raise KinaError(why, hint="finished parts are kept: run the command again")
    raise typer.Exit(code)
