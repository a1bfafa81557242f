"""Work on a large pool in several processes: batches of items out, results back in order."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from typing import TypeVar

from kina_build.config import ItemRules
from kina_build.errors import KinaError
from kina_build.items.model import Item

BATCH = 500
"""Items a batch: some .1 s of work, and the step between two reports of progress."""
AHEAD = 4
"""Batches a process that are handed out before the first result is waited for."""

Result = TypeVar("Result")
Work = Callable[[Sequence[Item]], Result]


def count_processes(items: int, rules: ItemRules = ItemRules()) -> int:
    """Return how many processes are worth their start for so many items; 1: none but this one."""
    return max(1, min(rules.processes or os.cpu_count() or 1, items // rules.process_items))


def map_batches(work: Work[Result], items: Sequence[Item], processes: int = 1) -> Iterator[Result]:
    """Apply a function to batches of items and yield the results in the items' order.

    Args:
        work: a pure function of items, in a module; it may look at anything but their metadata.
        items: in any number.
        processes: 1 works here; more are started anew, never forked, and end with this one.
            A script that asks for more needs its `if __name__ == "__main__":`.

    Raises:
        KinaError: a process was killed.
    """
    batches = (items[start : start + BATCH] for start in range(0, len(items), BATCH))
    if processes < 2:
        yield from map(work, batches)
        return
    with _started(processes) as pool:
        waiting: deque[Future[Result]] = deque()
        for batch in batches:
            with _interrupts_held():  # a process started here inherits that: Ctrl-C is for us alone
                waiting.append(pool.submit(_work, work, _pack(batch)))
            if len(waiting) >= AHEAD * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def _started(processes: int) -> Iterator[ProcessPoolExecutor]:
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_end_with_parent)
    try:
        yield pool
    except BrokenProcessPool:
        _end_all(pool)
        raise KinaError(
            "a process that worked on items was killed, perhaps for want of memory",
            hint="set processes = 1 under [items] in kina.toml",
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _end_all(pool: ProcessPoolExecutor) -> None:
    """End what a broken pool still runs: one that was starting when another died would run on."""
    for process in list((pool._processes or {}).values()):  # noqa: SLF001  Python 3.11 tells it to nobody else
        process.kill()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back for a moment, and for good in processes started meanwhile.

    An interrupt halfway through the start of a process would leave it without its orders.
    """
    if threading.current_thread() is not threading.main_thread():  # never interrupted
        with _interrupts_masked():
            yield
        return
    held: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        with _interrupts_masked():
            yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if handler is None else handler)
    if held and callable(handler):
        handler(held[0], None)


@contextmanager
def _interrupts_masked() -> Iterator[None]:
    """Mask Ctrl-C in this thread: processes inherit that; other threads may still be told of it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """Watch the process that started this one, which may be killed without a word."""

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _pack(items: Sequence[Item]) -> list[str]:
    """Write items as JSON, which is read several times as fast as pickled models."""
    return [item.model_dump_json(exclude={"metadata"}) for item in items]


def _work(work: Work[Result], packed: Sequence[str]) -> Result:
    return work([Item.model_validate_json(line) for line in packed])
