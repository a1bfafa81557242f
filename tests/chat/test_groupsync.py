from __future__ import annotations

import asyncio
import threading

import pytest

from kina_build.chat.client import GroupSync


def test_those_who_come_while_a_sync_runs_share_the_next_one() -> None:
    begun, may_end = threading.Event(), threading.Event()
    syncs = []

    def sync() -> None:
        syncs.append(len(syncs))
        begun.set()
        may_end.wait(60)

    async def story() -> None:
        synced = GroupSync(sync)
        first = asyncio.create_task(synced.wait())
        await asyncio.to_thread(begun.wait)
        late = [asyncio.create_task(synced.wait()) for _ in range(20)]
        for _ in range(20):
            await asyncio.sleep(0)  # they have all come, and wait
        assert syncs == [0]
        assert not any(task.done() for task in late)
        may_end.set()
        await asyncio.gather(first, *late)
        await synced.wait()

    asyncio.run(story())
    assert syncs == [0, 1, 2]


def test_nobody_returns_before_a_sync_that_began_after_they_came() -> None:
    written: list[int] = []
    durable: set[int] = set()

    async def write(synced: GroupSync, number: int) -> None:
        written.append(number)
        await synced.wait()
        assert number in durable

    async def story() -> None:
        synced = GroupSync(lambda: durable.update(list(written)))
        for start in range(0, 60, 7):
            await asyncio.gather(*(write(synced, start + n) for n in range(7)))

    asyncio.run(story())


def test_all_who_wait_are_told_that_a_sync_failed() -> None:
    def fail() -> None:
        raise OSError("disk full")

    async def story() -> list[object]:
        synced = GroupSync(fail)
        return list(await asyncio.gather(*(synced.wait() for _ in range(3)), return_exceptions=True))

    assert [str(error) for error in asyncio.run(story())] == ["disk full"] * 3


def test_one_who_gives_up_does_not_stop_the_others() -> None:
    async def story() -> None:
        synced = GroupSync(lambda: None)
        one, two = (asyncio.create_task(synced.wait()) for _ in range(2))
        await asyncio.sleep(0)
        one.cancel()
        await two
        with pytest.raises(asyncio.CancelledError):
            await one

    asyncio.run(story())
