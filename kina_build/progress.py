"""How long work reports where it is, without knowing who listens, and goes without the collector."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

Progress = Callable[[int, int], None]
"""Called with (units done, units in all) after each piece of long work."""


def silent(done: int, total: int) -> None:
    """Ignore progress: the default of every library function that takes one."""


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep Python's collector from walking a million live options again and again; none form cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


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
