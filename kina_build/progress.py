"""How long work reports where it is, without knowing who listens, and goes without the collector."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Progress = Callable[[int, int], None]
"""Called with (units done, units in all) after each piece of long work."""


def silent(done: int, total: int) -> None:
    """Ignore progress: the default of every library function that takes one."""


Bars = Callable[[str], AbstractContextManager[Progress]]
"""Opens one bar with a label: `with bars("encoding") as progress`."""


@contextmanager
def no_bars(label: str) -> Iterator[Progress]:
    """Show no bar: the default of every library function that opens some."""
    yield silent


def unsaid(line: str) -> None:
    """Say nothing: the default of every library function that tells its user something."""


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
