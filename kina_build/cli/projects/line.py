"""A command that names no file takes those of the project: `kina certify` alone checks its selection."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from typer.core import TyperCommand

from kina_build.cli.console import Console
from kina_build.errors import KinaError

CONFIG_NAME = "kina.toml"

if TYPE_CHECKING:
    from kina_build.project.graph.stages import Stage

NO_INPUT = frozenset({"config", "output", "cache", "page", "awards", "keep", "worksheet"})
"""Options for paths that are no inputs: naming one does not say what is read."""
HELP = frozenset({"-h", "--help"})


class ProjectCommand(TyperCommand):
    """A command whose files come from the project where its line names none."""

    inputs: ClassVar[frozenset[str]] = frozenset()
    """Its parameters that name files to read."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read a command line, to which the project's own is added where it names no input."""
        return super().parse_args(ctx, _filled(self, ctx, args))


def project_command(parameters: Sequence[Parameter]) -> type[ProjectCommand]:
    """Return the class of a command that has some parameters."""
    inputs = frozenset(p.name for p in parameters if "Path" in str(p.annotation) and p.name not in NO_INPUT)
    return type("ProjectCommand", (ProjectCommand,), {"inputs": inputs})


def _filled(command: ProjectCommand, ctx: Any, args: Sequence[str]) -> list[str]:
    """Return the words of a line, with those that the project knows."""
    told = list(args)
    if HELP & set(told) or not command.inputs or not Path(CONFIG_NAME).is_file():
        return told
    given = {name for name, _ in _parts(command, told)}
    stage = None if given & command.inputs else _stage(_words(ctx))
    if stage is None:
        return told
    own = _parts(command, stage.argv[len(_words(ctx)) :])
    words = [*(word for name, words in own if name not in given for word in words), *told]
    line = shlex.join(["kina", *_words(ctx), *words])
    Console(quiet="-q" in told or "--quiet" in told).say(f"as {CONFIG_NAME} says: {line}")
    return words


def _words(ctx: Any) -> tuple[str, ...]:
    """Return the words of a command behind `kina`: review, settle."""
    return () if ctx.parent is None else (*_words(ctx.parent), ctx.info_name)


def _stage(words: tuple[str, ...]) -> Stage | None:
    """Return the stage of the project here that a command makes; None where there is none or several."""
    from kina_build.project.folder import find_project
    from kina_build.project.graph.plan import plan
    from kina_build.project.walk import read_holding

    try:
        project = find_project(Path(CONFIG_NAME))
        stages = plan(project, read_holding(project)) if project is not None else []
    except KinaError:  # `kina build` tells it
        return None
    found = [stage for stage in stages if stage.argv[: len(words)] == words]
    return found[0] if len(found) == 1 and not found[0].lacks else None


def _parts(command: ProjectCommand, line: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Cut a line into the words of each parameter."""
    by_name = {name: one for one in command.params for name in (*one.opts, *one.secondary_opts)}
    place = next((one.name for one in command.params if one.param_type_name == "argument"), "")
    at = 0
    while at < len(line):
        name, equals, _ = line[at].partition("=")
        one = by_name.get(name) if name.startswith("-") else None
        width = 1 if one is None or equals or getattr(one, "is_flag", False) else 2
        yield str(place if one is None else one.name), list(line[at : at + width])
        at += width
