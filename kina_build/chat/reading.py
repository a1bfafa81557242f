"""What an endpoint's replies mean: completion documents, HTTP codes, Retry-After."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from kina_build.chat.records import ChatReply, Status
from kina_build.escapes import whole


def read_completion(key: str, body: bytes) -> ChatReply:
    """Turn a chat completion document into a reply; what is not one is a server error.

    Halves of surrogate pairs, which no file takes, are replaced.
    """
    try:
        document = json.loads(body)
        choice = document["choices"][0]
        message = choice["message"]
        usage = document.get("usage") or {}
        text, reasoning = whole(message.get("content") or ""), whole(_reasoning(message))
        return ChatReply(
            key=key,
            status=_status(text, reasoning, choice.get("finish_reason"), message.get("refusal")),
            text=text or whole(message.get("refusal") or ""),
            reasoning=reasoning,
            finish_reason=choice.get("finish_reason"),
            prompt_tokens=usage.get("prompt_tokens") or 0,
            completion_tokens=usage.get("completion_tokens") or 0,
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        shown = body[:60].decode(errors="replace")
        return ChatReply(key=key, status="server_error", error=f"not a chat completion: {shown!r}")


def status_of_code(code: int | None) -> Status:
    """Return the status of a failed call by its HTTP code; None means no HTTP reply at all."""
    if code in (401, 403):
        return "auth"
    if code == 429:
        return "rate_limited"
    if code is not None and 300 <= code < 400:
        return "bad_request"  # redirects are not followed, and asking again would change nothing
    if code in (408, 409):  # 409: the call that timed out here is still being answered there
        return "timeout"
    return "bad_request" if code is not None and 400 <= code < 500 else "server_error"


def retry_after_s(header: str | None) -> float | None:
    """Read a Retry-After header: seconds or an HTTP date (RFC 9110, 10.2.3)."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _reasoning(message: dict[str, Any]) -> str:
    return str(message.get("reasoning_content") or message.get("reasoning") or "")


def _status(text: str, reasoning: str, finish_reason: str | None, refusal: str | None) -> Status:
    if refusal or finish_reason == "content_filter":
        return "refused"
    if not text.strip() and reasoning.strip():
        return "reasoning_only"
    if finish_reason == "length":
        return "truncated"
    return "ok" if text.strip() else "empty"
