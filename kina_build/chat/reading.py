"""What an endpoint's replies mean: completion documents, HTTP codes, Retry-After."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from kina_build.chat.records import ChatReply, Status
from kina_build.escapes import whole

THOUGHTS = frozenset({"thinking", "reasoning", "reasoning_text", "thought", "redacted_thinking"})
"""Types of content parts that are no part of the answer."""

FILTERS = frozenset(
    {"contentfilter", "contentpolicyviolation", "responsibleaipolicyviolation", "datainspectionfailed"}
)
"""Codes, without underscores, with which services say that a filter stopped a call."""

REFUSING_ENDS = frozenset({"content_filter", "refusal", "safety", "prohibited_content"})
"""Reasons to finish which say that no answer was wanted."""


def read_completion(key: str, body: bytes) -> ChatReply:
    """Turn a chat completion document into a reply; what is not one is a server error.

    An error that a provider puts inside a status 200 is read like one with its own status.
    Halves of surrogate pairs, which no file takes, are replaced.
    """
    try:
        document = json.loads(body)
        inside = _error_inside(document)
        if inside is not None:
            return ChatReply(key=key, status=_status_inside(inside), error=describe_error(inside))
        choice = document["choices"][0]
        message = choice["message"]
        usage = document.get("usage") or {}
        content = read_content(message.get("content"))
        text, reasoning = whole(content.text), whole(_reasoning(message) or content.reasoning)
        refusal = message.get("refusal") or content.refusal
        return ChatReply(
            key=key,
            status=_status(text, reasoning, choice.get("finish_reason"), refusal),
            text=text or whole(refusal or ""),
            reasoning=reasoning,
            finish_reason=choice.get("finish_reason"),
            served_model=_named(document.get("model")),
            tool_calls=_tool_calls(message),
            first_token=_first_token(choice),
            prompt_tokens=usage.get("prompt_tokens") or 0,
            completion_tokens=usage.get("completion_tokens") or 0,
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        shown = body[:60].decode(errors="replace")
        return ChatReply(key=key, status="server_error", error=f"not a chat completion: {shown!r}")


def read_echo(key: str, body: bytes, begin: int, end: int) -> ChatReply:
    """Turn a completion that echoes its prompt into a reply: how likely the end of the prompt was.

    Args:
        key: of the request.
        body: of the completions API, with `logprobs.text_offset` and `logprobs.token_logprobs`.
        begin: place in the prompt at which the continuation begins.
        end: length of the prompt; tokens behind it were made up.

    Returns:
        A reply whose `continuation` is None where the endpoint echoes no log-probabilities.
    """
    try:
        document = json.loads(body)
        inside = _error_inside(document)
        if inside is not None:
            return ChatReply(key=key, status=_status_inside(inside), error=describe_error(inside))
        told = document["choices"][0].get("logprobs") or {}
        pairs = zip(told.get("text_offset") or (), told.get("token_logprobs") or (), strict=True)
        values = [float(value) for offset, value in pairs if begin <= offset < end and value is not None]
        usage = document.get("usage") or {}
        return ChatReply(
            key=key,
            status="ok",
            continuation=math.fsum(values) if values else None,
            served_model=_named(document.get("model")),
            prompt_tokens=usage.get("prompt_tokens") or 0,
            completion_tokens=usage.get("completion_tokens") or 0,
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        shown = body[:60].decode(errors="replace")
        return ChatReply(key=key, status="server_error", error=f"not a completion: {shown!r}")


@dataclass(frozen=True)
class Content:
    """What the content of a message says, by kind of part."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""


def read_content(content: Any) -> Content:
    """Read a message's content: a text, or a list of parts of which some are thoughts or a refusal.

    Raises:
        TypeError: neither a text nor a list of parts.
    """
    if content is None or isinstance(content, str):
        return Content(content or "")
    if not isinstance(content, list):
        raise TypeError("content is neither a text nor a list of parts")
    kinds: dict[str, list[str]] = {"text": [], "reasoning": [], "refusal": []}
    for part in content:
        kind, text = _part(part)
        if kind in kinds:
            kinds[kind].append(text)
    return Content("".join(kinds["text"]), "".join(kinds["reasoning"]), "".join(kinds["refusal"]))


def _part(part: Any) -> tuple[str, str]:
    """Return the kind of one part and its text; a picture or a call of a tool has none."""
    if isinstance(part, str):
        return "text", part
    named = str(part.get("type", "text"))
    kind = "reasoning" if named in THOUGHTS else "text" if named in ("text", "output_text") else named
    if kind not in ("text", "reasoning", "refusal"):
        return kind, ""
    value = next((part[name] for name in (named, "text", "content", "summary") if part.get(name)), "")
    return kind, read_content(value).text


def is_filtered(error: Any) -> bool:
    """Tell whether an error says that a filter stopped the prompt or the reply."""
    if not isinstance(error, dict):
        return False
    inner = error.get("innererror")
    codes = {str(error.get("code", "")), str(error.get("type", ""))}
    codes |= {str(inner.get("code", ""))} if isinstance(inner, dict) else set()
    return any(code.replace("_", "").lower() in FILTERS for code in codes)


def describe_error(error: Any) -> str:
    """Write what a provider's error says, in one text."""
    if isinstance(error, dict) and error.get("message"):
        code = error.get("code")
        return whole(f"{error['message']}" + (f" (code {code})" if code else ""))
    return whole(str(error))


def _error_inside(document: dict[str, Any]) -> Any:
    """Return the error that stands where a completion should be."""
    if document.get("error") and not document.get("choices"):
        return document["error"]
    choices = document.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first.get("error") if isinstance(first, dict) else None


def _status_inside(error: Any) -> Status:
    if is_filtered(error):
        return "refused"
    code = error.get("code") if isinstance(error, dict) else None
    numbered = isinstance(code, int) or (isinstance(code, str) and code.isdecimal())
    return status_of_code(int(code) if numbered and code is not None else None)


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


def _named(model: Any) -> str | None:
    return whole(model) if isinstance(model, str) and model else None


def _tool_calls(message: dict[str, Any]) -> str | None:
    """Return the calls of tools in a message, as JSON text."""
    calls = message.get("tool_calls") or message.get("function_call")
    return whole(json.dumps(calls, ensure_ascii=False)) if calls else None


def _first_token(choice: dict[str, Any]) -> dict[str, float] | None:
    """Return the likeliest first tokens with their log-probabilities; None where none are told."""
    told = choice.get("logprobs")
    content = told.get("content") if isinstance(told, dict) else None
    if not isinstance(content, list) or not content:
        return None
    tops = content[0].get("top_logprobs") or [content[0]]
    values = {whole(str(one["token"])): float(one["logprob"]) for one in tops}
    return {token: value for token, value in values.items() if math.isfinite(value)}


def _status(text: str, reasoning: str, finish_reason: str | None, refusal: str | None) -> Status:
    if refusal or str(finish_reason).lower() in REFUSING_ENDS:
        return "refused"
    if not text.strip() and reasoning.strip():
        return "reasoning_only"
    if finish_reason == "length":
        return "truncated"
    return "ok" if text.strip() else "empty"
