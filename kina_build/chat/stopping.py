"""Ctrl-C and SIGTERM while calls are open: they are paid for, so their replies are waited for."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on Ctrl-C and SIGTERM while the block lasts, instead of what they would do.

    Signals that are ignored stay so. Outside of the main thread, and where the event loop
    has no signal handlers, nothing changes.
    """
    loop = asyncio.get_running_loop()
    before: dict[signal.Signals, Any] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                handler = signal.getsignal(number)
                if handler not in (None, signal.SIG_IGN):
                    loop.add_signal_handler(number, stop)
                    before[number] = handler
    except NotImplementedError:  # Windows
        pass
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
