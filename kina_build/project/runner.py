"""How a project has its commands asked and run: the command line hands down something of this form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kina_build.manifest import Job


@dataclass(frozen=True)
class Answer:
    """What a command would do, asked without running it."""

    job: Job | None = None
    """What it reads, writes and is shaped by; None: it came to no job."""
    said: tuple[str, ...] = ()
    """Why it came to none."""
    hint: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    exit_code: int
    report: Mapping[str, Any] = field(default_factory=dict)
    """The document that `--json` prints; empty where there is none."""
    said: tuple[str, ...] = ()
    """Lines it wrote on stderr."""


class Runner(Protocol):
    """Asks and runs commands in the current folder."""

    def ask(self, argv: Sequence[str]) -> Answer:
        """Return what a command would do."""
        ...

    def run(self, argv: Sequence[str]) -> Outcome:
        """Run a command."""
        ...
