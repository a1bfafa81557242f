"""How long work reports where it is, without knowing who listens, and goes without the collector."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
