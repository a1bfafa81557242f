"""Many calls to one endpoint: capped, retried, metered. The only home of `openai`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kina_build.chat.log import ReplyLog
from kina_build.chat.reading import read_completion, retry_after_s, status_of_code
from kina_build.chat.records import ChatReply, ChatRequest, cost_of
from kina_build.config import ChatRules
from kina_build.errors import ConfigError
from kina_build.progress import Progress, silent

if TYPE_CHECKING:
    from openai import AsyncOpenAI

RETRIED: frozenset[str] = frozenset({"timeout", "rate_limited", "server_error"})
"""Errors that may pass if one waits."""

ERROR_LENGTH = 300
"""Characters kept of an error's text."""


@dataclass(frozen=True)
class Endpoint:
    """Where to ask, and with which key."""

    base_url: str
    api_key: str = field(default="", repr=False)

    @classmethod
    def from_environment(cls, base_url: str | None = None) -> Endpoint:
        """Read OPENAI_BASE_URL (unless given) and OPENAI_API_KEY.

        Raises:
            ConfigError: no base URL is given or set.
        """
        url = base_url or os.environ.get("OPENAI_BASE_URL", "")
        if not url:
            raise ConfigError(
                "no model endpoint", hint="set OPENAI_BASE_URL, for instance to http://127.0.0.1:8080/v1"
            )
        return cls(url, os.environ.get("OPENAI_API_KEY", ""))

    def client(self) -> AsyncOpenAI:
        """Return an SDK client that leaves time-outs and retries to us."""
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            base_url=self.base_url, api_key=self.api_key or "none", max_retries=0, timeout=None
        )


@dataclass
class Meter:
    """What was used up so far; shared by calls of `complete` that one cap covers."""

    calls: int = 0
    cost: float = 0.0
    """In the currency of the prices."""


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
    """
    keys = [request.key for request in requests]
    fresh = {key: r for key, r in zip(keys, requests, strict=True) if log.find(key) is None}
    session = _Session(endpoint, log, rules, on_progress, meter or Meter(), total=len(set(keys)))
    session.done = session.total - len(fresh)
    on_progress(session.done, session.total)
    made = asyncio.run(session.run(list(fresh.values()))) if fresh else {}
    return [made[key] if key in made else _found(log, key) for key in keys]


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

    async def run(self, requests: Sequence[ChatRequest]) -> dict[str, ChatReply]:
        replies: dict[str, ChatReply] = {}
        queue = iter(requests)
        async with self.endpoint.client() as client:
            workers = min(self.rules.concurrency, len(requests))
            await asyncio.gather(*(self._work(client, queue, replies) for _ in range(workers)))
        return replies

    async def _work(
        self, client: AsyncOpenAI, queue: Iterator[ChatRequest], replies: dict[str, ChatReply]
    ) -> None:
        for request in queue:
            reply = await self._persist(client, request)
            if reply.status != "not_sent":
                self.log.append(reply)
            replies[request.key] = reply
            self.done += 1
            self.on_progress(self.done, self.total)

    async def _persist(self, client: AsyncOpenAI, request: ChatRequest) -> ChatReply:
        reply = ChatReply(key=request.key, status="not_sent")
        for attempt in range(self.rules.attempts):
            if not self._may_call():
                # the failure of an earlier attempt says more than "not sent"
                return reply if attempt else reply.model_copy(update={"error": self.closed})
            reply, wait_s = await self._call(client, request)
            self.meter.cost += cost_of([reply], self.rules)
            if reply.status == "auth":
                self.closed = "the endpoint refused the key"
            if reply.status not in RETRIED:
                break
            if attempt + 1 < self.rules.attempts:
                backoff_s = self.rules.backoff_s * 2**attempt if wait_s is None else wait_s
                await asyncio.sleep(min(backoff_s, self.rules.max_wait_s))
        return reply

    def _may_call(self) -> bool:
        rules = self.rules
        if rules.max_calls is not None and self.meter.calls >= rules.max_calls:
            self.closed = self.closed or f"the cap of {rules.max_calls} calls is reached"
        if rules.max_cost is not None and self.meter.cost >= rules.max_cost:
            self.closed = self.closed or f"the cap of {rules.max_cost} on cost is reached"
        self.meter.calls += not self.closed
        return not self.closed

    async def _call(self, client: AsyncOpenAI, request: ChatRequest) -> tuple[ChatReply, float | None]:
        """Make one call; return its reply and the seconds the server asks us to wait."""
        try:
            async with asyncio.timeout(self.rules.timeout_s):
                raw = await client.chat.completions.with_raw_response.create(
                    model=request.model,
                    messages=list(request.messages),  # type: ignore[arg-type]
                    extra_body=request.params or None,
                )
            return read_completion(request.key, raw.http_response.content), None
        except TimeoutError:
            text = f"no reply within {self.rules.timeout_s} s"
            return ChatReply(key=request.key, status="timeout", error=text), None
        except Exception as error:  # noqa: BLE001  whatever the SDK raises is one failed call of many
            return self._failed(request.key, error)

    def _failed(self, key: str, error: Exception) -> tuple[ChatReply, float | None]:
        response = getattr(error, "response", None)
        code = getattr(error, "status_code", None)
        text = str(error) or type(error).__name__
        if self.endpoint.api_key:
            text = text.replace(self.endpoint.api_key, "***")
        reply = ChatReply(key=key, status=status_of_code(code), error=text[:ERROR_LENGTH])
        return reply, None if response is None else retry_after_s(response.headers.get("retry-after"))
