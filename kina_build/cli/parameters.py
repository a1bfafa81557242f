"""The fields of an operation's Options, and the common options, as parameters that typer reads."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Container, Sequence
from dataclasses import MISSING
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from kina_build.errors import UsageError
from kina_build.options import Role, Spec, specs

COMMON = {
    "config": Annotated[
        list[Path] | None,
        typer.Option(
            "--config", metavar="FILE", help="Settings file; default: the nearest kina.toml upward."
        ),
    ],
    "json": Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")],
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but data and errors.")],
    "verbose": Annotated[bool, typer.Option("--verbose", "-v", help="Show tracebacks and details.")],
}
"""The options that every command has, and mean one thing on all."""

WRITING = {
    "force": Annotated[
        bool,
        typer.Option(
            "--force",
            help="Redo all of the work although it is up to date: no finished part, kept vector or logged "
            "reply is reused, and calls to a model are made and paid for anew.",
        ),
    ],
    "overwrite": Annotated[
        bool,
        typer.Option("--overwrite", help="Replace outputs that kina did not write, or that were changed."),
    ],
}
"""Common options of commands that write something."""

METAVARS = {Path: "FILE", str: "TEXT", int: "N", float: "X"}
"""What stands for a value of a type in the help: typer would print Python's own types."""

ONE_FILE = (Path, Path | None)
"""Types of options that take one file."""


def declared(kind: type | None) -> list[Parameter]:
    """Turn the fields of an Options class into parameters; a command without Options has none."""
    return [_parameter(*one) for one in specs(kind)] if kind else []


def common(kind: type | None) -> list[Parameter]:
    """Return the common options of a command that takes some Options."""
    shared = COMMON | WRITING if _writes(kind) else COMMON
    return [
        Parameter(
            name, Parameter.KEYWORD_ONLY, default=None if name == "config" else False, annotation=annotation
        )
        for name, annotation in shared.items()
    ]


def single_files(kind: type) -> frozenset[str]:
    """Return the options that take one file."""
    return frozenset(one.name for one, annotation, spec in specs(kind) if _is_single(annotation, spec))


def given_once(name: str, value: Any, single: Container[str]) -> Any:
    """Return an option's value; a file that stands twice would count twice.

    Raises:
        UsageError: an option for one file was given two, or one file was named twice.
    """
    if not isinstance(value, list) or not all(isinstance(path, Path) for path in value):
        return value
    option = name.strip("_").replace("_", "-")
    if name in single and len(value) > 1:
        raise UsageError(
            f"--{option} is given {len(value)} times and takes one file",
            hint="join the files, or leave one out",
        )
    twice = next((path for at, path in enumerate(value) if _same(path, value[:at])), None)
    if twice is not None:
        raise UsageError(f"{twice} is given twice to {option}")
    return (value[0] if value else None) if name in single else value


def _same(path: Path, others: Sequence[Path]) -> bool:
    return any(path == other or path.absolute() == other.absolute() for other in others)


def _writes(kind: type | None) -> bool:
    """Tell whether a command can write files; one without declared Options may."""
    if kind is None or getattr(kind, "writes", False):  # places that no option names
        return True
    return any(spec.role in (Role.output, Role.folder) for _, _, spec in specs(kind))


def _is_single(annotation: Any, spec: Spec) -> bool:
    return annotation in ONE_FILE and not spec.positional


def _parameter(one: dataclasses.Field[Any], annotation: Any, spec: Spec) -> Parameter:
    default = Parameter.empty if one.default is MISSING else one.default
    if default == ():
        default = None
    shown = _typer_type(annotation, default, spec)
    return Parameter(
        one.name,
        Parameter.KEYWORD_ONLY,
        # an option for one file is a list, of which a default is one too
        default=[default] if _is_single(annotation, spec) and isinstance(default, Path) else default,
        annotation=Annotated[shown, _typer_info(one.name, spec, shown)],
    )


def _typer_type(annotation: Any, default: Any, spec: Spec) -> Any:
    """Return what typer reads for a type: a tuple of any length is a list, or nothing if left out.

    An option that names one file is seen as often as it is given: the last one would win unseen.
    """
    if _is_single(annotation, spec):
        return list[Path] if annotation is Path else list[Path] | None
    if typing.get_origin(annotation) is not tuple:
        return annotation
    many: Any = list[typing.get_args(annotation)[0]]  # type: ignore[misc]
    return many if default is Parameter.empty else many | None


def _typer_info(name: str, spec: Spec, shown: Any) -> Any:
    bounds: dict[str, Any] = {"min": spec.min, "max": spec.max, "help": spec.help}
    if spec.positional:
        return typer.Argument(**bounds, metavar=spec.metavar)
    is_named = any(given.startswith("--") for given in spec.names)
    long = [] if is_named else [f"--{name.strip('_').replace('_', '-')}"]
    return typer.Option(*long, *spec.names, **bounds, metavar=spec.metavar or _metavar(shown))


def _metavar(shown: Any) -> str | None:
    """Say what stands for a value of a type in the help."""
    held = [one for one in (typing.get_args(shown) or (shown,)) if one is not type(None)]
    inner = next(iter(typing.get_args(held[0])), held[0])
    return METAVARS.get(inner) if isinstance(inner, type) else None
