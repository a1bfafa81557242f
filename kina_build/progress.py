"""How long work reports where it is, without knowing who listens."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

Progress = Callable[[int, int], None]
"""Called with (units done, units in all) after each piece of long work."""


def silent(done: int, total: int) -> None:
    """Ignore progress: the default of every library function that takes one."""


class Teller(Protocol):
    """Whoever is told what long work does: a console, or nobody."""

    def say(self, message: str) -> None:
        """Tell something that is not data."""

    def warn(self, message: str) -> None:
        """Tell something that must not be missed."""

    def progress(self, label: str) -> AbstractContextManager[Progress]:
        """Show where a piece of work is while it runs."""


class Nobody:
    """A teller that keeps silent: the default of library functions that take one."""

    def say(self, message: str) -> None:
        """Say nothing."""

    def warn(self, message: str) -> None:
        """Say nothing."""

    def progress(self, label: str) -> AbstractContextManager[Progress]:
        """Show nothing."""
        return nullcontext(silent)


NOBODY = Nobody()
