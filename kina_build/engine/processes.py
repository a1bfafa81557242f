"""Work in processes of this machine, for what holds Python's lock: results in the order of the parts."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from typing import TypeVar

from kina_build.errors import KinaError

AHEAD = 4
"""Parts a process that are handed out before the first result is waited for."""

T = TypeVar("T")
R = TypeVar("R")


def map_in_processes(
    work: Callable[[T], R], parts: Iterable[T], processes: int, *, hint: str = ""
) -> Iterator[R]:
    """Yield the result of every part, in the order of the parts.

    Args:
        work: a function of a module; it and the parts are pickled.
        parts: taken as there is room for them.
        processes: 1 works here; more are started anew, never forked, and end with this one.
            A script that asks for more needs its `if __name__ == "__main__":`.
        hint: how to go on where a process was killed.

    Raises:
        KinaError: a process was killed.
    """
    if processes < 2:
        yield from map(work, parts)
        return
    with _started(processes, hint) as pool:
        waiting: deque[Future[R]] = deque()
        for part in parts:
            with _interrupts_held():  # a process started here inherits that: Ctrl-C is for us alone
                waiting.append(pool.submit(work, part))
            if len(waiting) >= AHEAD * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def _started(processes: int, hint: str) -> Iterator[ProcessPoolExecutor]:
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_end_with_parent)
    try:
        yield pool
    except BrokenProcessPool:
        _end_all(pool)
        raise KinaError(
            "a process that shared the work was killed, perhaps for want of memory", hint=hint
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
