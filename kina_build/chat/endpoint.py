"""One endpoint, and one call to it. The only home of `openai`."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kina_build.chat.reading import is_filtered, read_completion, read_echo, retry_after_s, status_of_code
from kina_build.chat.records import ChatReply, ChatRequest
from kina_build.config import ChatRules
from kina_build.errors import ConfigError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

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
        """Return an SDK client that leaves time-outs and retries to us, and follows no redirect.

        A redirect would send prompts and the key to whoever it names.
        """
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        return AsyncOpenAI(
            base_url=self.base_url,
            api_key=self.api_key or "none",
            max_retries=0,
            timeout=None,
            http_client=DefaultAsyncHttpxClient(follow_redirects=False, timeout=None),
        )

    async def call(
        self, client: AsyncOpenAI, request: ChatRequest, rules: ChatRules = ChatRules()
    ) -> tuple[ChatReply, float | None]:
        """Make one call; return its reply and the seconds the server asks us to wait.

        Every call for one request carries the same Idempotency-Key (IETF draft
        httpapi-idempotency-key-header): an endpoint that honours it bills them once.
        """
        try:
            async with asyncio.timeout(rules.timeout_s):
                body = await self._ask(client, request, rules)
            if request.echoes:
                told = [message["content"] for message in request.messages]
                return read_echo(request.key, body, sum(map(len, told[:-1])), sum(map(len, told))), None
            return read_completion(request.key, body), None
        except TimeoutError:
            text = f"no reply within {rules.timeout_s} s"
            return ChatReply(key=request.key, status="timeout", error=text), None
        except Exception as error:  # noqa: BLE001  whatever the SDK raises is one failed call of many
            return self._failed(request.key, error)

    async def _ask(self, client: AsyncOpenAI, request: ChatRequest, rules: ChatRules) -> bytes:
        headers = {"Idempotency-Key": request.key} if rules.idempotency_key else None
        if request.echoes:
            prompt = "".join(message["content"] for message in request.messages)
            echoed = await client.completions.with_raw_response.create(
                model=request.model, prompt=prompt, extra_body=dict(request.params), extra_headers=headers
            )
            return bytes(echoed.http_response.content)
        raw = await client.chat.completions.with_raw_response.create(
            model=request.model,
            # the SDK checks every message's form, a tenth of its time, except in extra_body
            messages=[],
            extra_body={"messages": list(request.messages), **request.params},
            extra_headers=headers,
        )
        return bytes(raw.http_response.content)

    def _failed(self, key: str, error: Exception) -> tuple[ChatReply, float | None]:
        response = getattr(error, "response", None)
        code = getattr(error, "status_code", None)
        text = str(error) or type(error).__name__
        if response is not None and response.has_redirect_location:
            place = response.headers["location"]
            text = f"redirects to {place}; prompts are sent nowhere else: give that address if it is right"
        if self.api_key:
            text = text.replace(self.api_key, "***")
        status = "refused" if is_filtered(getattr(error, "body", None)) else status_of_code(code)
        reply = ChatReply(key=key, status=status, error=text[:ERROR_LENGTH])
        return reply, None if response is None else retry_after_s(response.headers.get("retry-after"))
