"""Asks and runs the commands of a project in this process: what the project's room is handed."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kina_build.project.folder import Project
    from kina_build.project.runner import Answer, Outcome

READERS = {"verify"}
"""Commands that only look: they have nothing to redo or to replace."""


@dataclass(frozen=True)
class InProcess:
    """Runs command lines by calling the app, in the current folder."""

    overwrite: bool = False
    """Replace outputs that kina did not write."""
    force: bool = False
    """Redo what is run, reusing nothing."""

    def ask(self, argv: Sequence[str]) -> Answer:
        """Return what a command would do: it stops where its job is known, before any work."""
        from kina_build.manifest import Probed, probing
        from kina_build.project.runner import Answer

        token = probing.set(True)
        try:
            code, _, said = self._call(self._line(argv))
        except Probed as probed:
            return Answer(probed.job)
        finally:
            probing.reset(token)
        lines = [line for line in said.splitlines() if line.strip()]
        errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
        hint = next((line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")), "")
        return Answer(None, tuple(errors or lines or [f"it ended with exit code {code}"]), hint)

    def run(self, argv: Sequence[str]) -> Outcome:
        """Run a command and return how it ended, with the document that it prints."""
        from kina_build.project.runner import Outcome

        code, out, said = self._call([*self._line(argv), "--json"])
        lines = tuple(line for line in said.splitlines() if line.strip())
        return Outcome(code, _document(out), lines)

    def _line(self, argv: Sequence[str]) -> list[str]:
        more = [("--overwrite", self.overwrite), ("--force", self.force)]
        return [*argv, *(flag for flag, wanted in more if wanted and argv[0] not in READERS)]

    def _call(self, argv: Sequence[str]) -> tuple[int, str, str]:
        from kina_build.cli.main import app

        out, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            try:
                code = app(list(argv), standalone_mode=False) or 0
            except Exception as error:
                show: Any = getattr(error, "show", None)  # typer's own errors have it, and no public base
                if show is None:
                    raise
                print(f"error: {getattr(error, 'message', error)}", file=sys.stderr)
                code = 2
        return int(code), out.getvalue(), said.getvalue()


def _document(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@contextlib.contextmanager
def in_project(config: Path | None) -> Iterator[Project]:
    """Work in a project's folder: its lines name files as they are seen from there.

    Args:
        config: its kina.toml; None: the nearest.

    Raises:
        UsageError: no project.
        ConfigError: a table that cannot be read.
    """
    from kina_build.project.folder import need_project

    project = need_project(config)
    with contextlib.chdir(project.root):
        yield replace(project, root=Path())
