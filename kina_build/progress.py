"""How long work reports where it is, without knowing who listens."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with (units done, units in all) after each piece of long work."""


def silent(done: int, total: int) -> None:
    """Ignore progress: the default of every library function that takes one."""
