"""What every command is handed: a run, and its stage of work that is not done twice."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kina_build.cli.console import Console

if TYPE_CHECKING:
    from kina_build.config import EngineRules, Settings
    from kina_build.manifest import Job

Show = Callable[[dict[str, Any], Console], None]
"""Print a report for people: the same dictionary that --json prints."""

UNLIKE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What printing a report raises that lacks a field, or holds another kind of thing there."""


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
