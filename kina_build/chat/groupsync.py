"""One sync of a file for all who wait for one: a sync takes milliseconds, replies come faster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class GroupSync:
    """Sync at most once at a time; what is written meanwhile is covered by the next sync."""

    def __init__(self, sync: Callable[[], None]) -> None:
        self._sync = sync
        self._running: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None

    async def wait(self) -> None:
        """Return once all that was written before this call is synced.

        Raises:
            Exception: what the sync raised.
        """
        if self._next is None:
            self._next = asyncio.create_task(self._follow(self._running))
        # one who gives up waiting must not stop the sync of the others
        await asyncio.shield(self._next)

    async def _follow(self, running: asyncio.Task[None] | None) -> None:
        if running is not None:
            await asyncio.wait([running])
        self._running, self._next = self._next, None
        await asyncio.to_thread(self._sync)
