"""Many calls to one endpoint: capped, retried, metered, each reply kept as soon as it is there."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kina_build.chat.endpoint import Endpoint
from kina_build.chat.log import ReplyLog
from kina_build.chat.records import ChatReply, ChatRequest, cost_of
from kina_build.config import ChatRules
from kina_build.progress import Progress, silent

if TYPE_CHECKING:
    from openai import AsyncOpenAI

RETRIED: frozenset[str] = frozenset({"timeout", "rate_limited", "server_error"})
"""Errors that may pass if one waits."""

CALLS_A_CLIENT = 20
"""Calls that share one SDK client: at every call it looks through all connections it keeps."""


@dataclass
class Meter:
    """What was used up so far; shared by calls of `complete` that one cap covers."""

    calls: int = 0
    cost: float = 0.0
    """In the currency of the prices."""
    reused: int = 0
    """Requests that the log answered."""
    cut_short: set[str] = field(default_factory=set)
    """Keys of the requests that failed and that a cap kept from another attempt."""


def complete(
    requests: Sequence[ChatRequest],
    endpoint: Endpoint,
    log: ReplyLog,
    *,
    rules: ChatRules = ChatRules(),
    meter: Meter | None = None,
    on_progress: Progress = silent,
) -> list[ChatReply]:
    """Get a reply to every request, asking only what the log does not answer.

    At most `rules.concurrency` calls are open at once. Errors that may pass are retried,
    after the server's Retry-After where it gives one. Calls beyond `rules.max_calls` or
    `rules.max_cost`, and calls after the endpoint refused the key, are "not_sent". A meter
    that is passed on makes the caps hold over several calls of this function.

    Returns:
        One reply a request, in their order.

    Raises:
        KeyboardInterrupt: Ctrl-C or SIGTERM; calls that were open had `rules.drain_s` to be
            answered, and what came is in the log.
        InputError: the log cannot be written.
    """
    keys = [request.key for request in requests]
    fresh = {key: r for key, r in zip(keys, requests, strict=True) if log.find(key) is None}
    session = _Session(endpoint, log, rules, on_progress, meter or Meter(), total=len(set(keys)))
    session.done = session.total - len(fresh)
    session.meter.reused += session.done
    on_progress(session.done, session.total)
    made = _run(session, fresh) if fresh else {}
    return [made[key] if key in made else _found(log, key) for key in keys]


def _run(session: _Session, requests: dict[str, ChatRequest]) -> dict[str, ChatReply]:
    try:
        made = asyncio.run(session.run(requests))
    except asyncio.CancelledError:
        if not session.stopped.is_set():
            raise
    if session.stopped.is_set():
        raise KeyboardInterrupt
    return made


def _found(log: ReplyLog, key: str) -> ChatReply:
    reply = log.find(key)
    if reply is None:
        raise AssertionError(f"no reply to {key}")
    return reply


@dataclass
class _Session:
    """One call of `complete`: workers that share an iterator, a meter and a log."""

    endpoint: Endpoint
    log: ReplyLog
    rules: ChatRules
    on_progress: Progress
    meter: Meter
    total: int
    done: int = 0
    closed: str = ""
    """Why no further call is made, once that is so."""
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by Ctrl-C or SIGTERM."""
    task: asyncio.Task[Any] | None = None
    """The one that `run` runs in."""

    async def run(self, requests: dict[str, ChatRequest]) -> dict[str, ChatReply]:
        self.task = asyncio.current_task()
        replies: dict[str, ChatReply] = {}
        queue, synced = iter(requests.items()), GroupSync(self.log.sync)
        workers = min(self.rules.concurrency, len(requests))
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(self.endpoint.client())
                for _ in range(0, workers, CALLS_A_CLIENT)
            ]
            work = [
                self._work(clients[number // CALLS_A_CLIENT], queue, synced, replies)
                for number in range(workers)
            ]
            with stopping(self._stop) if self.rules.drain_s else nullcontext():
                await asyncio.gather(*work)
        return replies

    async def _work(
        self,
        client: AsyncOpenAI,
        queue: Iterator[tuple[str, ChatRequest]],
        synced: GroupSync,
        replies: dict[str, ChatReply],
    ) -> None:
        for key, request in queue:
            reply = await self._persist(client, key, request)
            if reply.status != "not_sent":
                self.log.write([reply])
                if self.log.path is not None:
                    await synced.wait()
            replies[key] = reply
            self.done += 1
            self.on_progress(self.done, self.total)

    async def _persist(self, client: AsyncOpenAI, key: str, request: ChatRequest) -> ChatReply:
        reply = ChatReply(key=key, status="not_sent")
        for attempt in range(self.rules.attempts):
            if not self._may_call():
                if not attempt:
                    return reply.model_copy(update={"error": self.closed})
                # the failure of an earlier attempt says more than "not sent"
                self.meter.cut_short.add(key)
                return reply
            begun = time.monotonic()
            reply, wait_s = await self.endpoint.call(client, request, self.rules)
            reply = reply.model_copy(update={"time_s": round(time.monotonic() - begun, 3)})
            self.meter.cost += cost_of([reply], self.rules)
            if reply.status == "auth":
                self.closed = "the endpoint refused the key"
            if reply.status not in RETRIED:
                break
            if attempt + 1 < self.rules.attempts:
                backoff_s = self.rules.backoff_s * 2**attempt if wait_s is None else wait_s
                await self._pause(min(backoff_s, self.rules.max_wait_s))
        return reply

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.stopped.wait()

    def _stop(self) -> None:
        """Make no further call, and leave once the open ones are answered; asked again, leave at once."""
        if self.stopped.is_set():
            self._leave()
        self.closed = self.closed or "interrupted"
        self.stopped.set()
        asyncio.get_running_loop().call_later(self.rules.drain_s, self._leave)

    def _leave(self) -> None:
        if self.task is not None:
            self.task.cancel()

    def _may_call(self) -> bool:
        rules = self.rules
        if rules.max_calls is not None and self.meter.calls >= rules.max_calls:
            self.closed = self.closed or f"the cap of {rules.max_calls} calls is reached"
        if rules.max_cost is not None and self.meter.cost >= rules.max_cost:
            self.closed = self.closed or f"the cap of {rules.max_cost} on cost is reached"
        self.meter.calls += not self.closed
        return not self.closed


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
