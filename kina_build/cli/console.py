"""Data on stdout, talk on stderr: tables, one JSON document, progress bars, errors.

What is printed here passes the filters of `kina_build.escapes`, and nothing is printed elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kina_build.errors import KinaError
from kina_build.escapes import in_json, on_terminal, on_terminal_lines
from kina_build.progress import Progress, silent

PIPE_WIDTH = 400
"""Columns a table may take where stdout is not a terminal."""


@dataclass(frozen=True)
class Console:
    """Say things where they belong; knows whether the user wants JSON, quiet or detail."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False
    _told: list[str] = field(default_factory=list, repr=False, compare=False)
    """What stdout was given: a second document would make it no JSON."""

    def say(self, message: str) -> None:
        """Tell the user something that is not data (stderr; nothing with -q)."""
        if not self.quiet:
            print(on_terminal(message), file=sys.stderr)

    def refuse(self, usage: str, exit_code: int = 2) -> None:
        """Print what typer says of a command line that it cannot read, as `error` does."""
        if self.json:
            self._error_object([usage.strip().split("\n")[-1].removeprefix("Error: ")], "", exit_code)
        sys.stderr.write(on_terminal_lines(usage))

    def warn(self, message: str) -> None:
        """Tell the user something that -q must not hide (stderr)."""
        print(f"warning: {on_terminal(message)}", file=sys.stderr)

    def error(self, error: KinaError, *, reported: bool = False) -> None:
        """Print an expected failure and its hint (stderr); with --json an object of it too (stdout).

        Args:
            error: what went wrong.
            reported: a report of its own tells it on stdout.
        """
        if self.json and not reported:
            self._error_object(error.lines, error.hint, error.exit_code)
        shown = "\n".join(map(on_terminal, error.lines))
        print(f"error: {shown}", file=sys.stderr)
        if error.hint:
            print(f"hint: {on_terminal(error.hint)}", file=sys.stderr)

    def _error_object(self, lines: Sequence[str], hint: str, exit_code: int) -> None:
        if not self._told:
            self.document({"error": {"lines": list(lines), "hint": hint, "exit_code": exit_code}})

    def document(self, value: Mapping[str, Any]) -> None:
        """Print the one JSON document of a run (stdout)."""
        self._told.append("document")
        from kina_build.rows.jsonl import dump_document

        sys.stdout.write(in_json(dump_document(value), sys.stdout.encoding or "utf-8"))

    def rows(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Print rows as JSON Lines (stdout)."""
        self._told.append("rows")
        from kina_build.rows.jsonl import dump_line

        for row in rows:
            sys.stdout.write(in_json(dump_line(row) + "\n", sys.stdout.encoding or "utf-8"))

    def line(self, text: str = "") -> None:
        """Print one line of human-readable data (stdout)."""
        print(on_terminal(text))

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Print a table (stdout); columns whose cells are all numbers align right."""
        from rich import box
        from rich.console import Console as RichConsole
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD)
        for index, column in enumerate(columns):
            numeric = all(isinstance(row[index], int | float) for row in rows)
            table.add_column(on_terminal(column), justify="right" if numeric else "left", overflow="fold")
        for row in rows:
            table.add_row(*map(_cell, row))
        # a pipe has no width: never fold a table for one
        width = None if sys.stdout.isatty() else PIPE_WIDTH
        print(on_terminal(title))  # above the table: a title inside it folds to the table's width
        RichConsole(markup=False, highlight=False, width=width).print(table)

    @contextmanager
    def progress(self, label: str, *, elapsed: bool = False) -> Iterator[Progress]:
        """Show a bar on stderr while long work runs; nothing off a terminal or with -q.

        Args:
            label: what is done.
            elapsed: show how long it has taken, not how long it will: its steps are unlike each other.
        """
        if self.quiet or not sys.stderr.isatty():
            yield silent
            return
        from rich.console import Console as RichConsole
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bar

        time = TimeElapsedColumn() if elapsed else TimeRemainingColumn()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), time)
        # on the terminal itself: what the stages of a build say is kept from it
        terminal = RichConsole(file=sys.stderr)
        with Bar(*columns, console=terminal, transient=True, redirect_stdout=False) as bar:
            task = bar.add_task(label, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:z.4f}"
    return "" if value is None else on_terminal(str(value))
