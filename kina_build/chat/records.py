"""A call to a model and what came back: the records that are kept of both."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from kina_build.config import ChatRules
from kina_build.rows.jsonl import canonical

Status = Literal[
    "ok",
    "refused",
    "empty",
    "reasoning_only",
    "truncated",
    "timeout",
    "rate_limited",
    "server_error",
    "auth",
    "bad_request",
    "not_sent",
]

ANSWERED: frozenset[str] = frozenset({"ok", "refused", "empty", "reasoning_only", "truncated"})
"""What the model itself did; every other status is an error and is asked again on resume."""


class ChatRequest(BaseModel):
    """One call: what is asked of which model, and which of its samples this is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    messages: tuple[dict[str, str], ...]
    """Objects {role, content}, in order."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Sent as they are: temperature, max_tokens, seed, ..."""
    sample: int = 0
    """0-based; tells apart the k calls of one question. Not sent."""

    @property
    def echoes(self) -> bool:
        """Tell whether the completions API is to say how likely the last message follows the others."""
        tried = bool(self.messages) and self.messages[-1].get("role") == "assistant"
        return tried and bool(self.params.get("echo"))

    @property
    def key(self) -> str:
        """Return the sha256 of the request's canonical JSON."""
        return hashlib.sha256(canonical(self.model_dump(mode="json")).encode()).hexdigest()


class ChatReply(BaseModel):
    """What came back for one request."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    status: Status
    text: str = ""
    """The reply as the model wrote it, reasoning that the server splits off excluded."""
    reasoning: str = ""
    """Reasoning that the server returned in a field of its own."""
    finish_reason: str | None = None
    served_model: str | None = None
    """The model that the endpoint names as the one that answered."""
    tool_calls: str | None = None
    """Calls of tools that the model made in place of an answer, as the endpoint wrote them (JSON)."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    time_s: float | None = None
    """Seconds from the call to its reply."""
    first_token: dict[str, float] | None = None
    """Log-probabilities of the likeliest first tokens, where the endpoint tells them."""
    continuation: float | None = None
    """Log-probability of the last message as what follows the others, of a request that `echoes`."""
    error: str | None = None

    @property
    def answered(self) -> bool:
        """Tell whether the model answered, in whatever way, rather than the call failing."""
        return self.status in ANSWERED


def cost_of(replies: Sequence[ChatReply], rules: ChatRules = ChatRules()) -> float:
    """Return what replies cost, in the currency of the prices."""
    prompt = sum(reply.prompt_tokens for reply in replies) * rules.prompt_price
    completion = sum(reply.completion_tokens for reply in replies) * rules.completion_price
    return (prompt + completion) / 1e6


def count_statuses(replies: Sequence[ChatReply]) -> dict[str, int]:
    """Count replies by status, in a fixed order."""
    return dict(sorted(Counter(reply.status for reply in replies).items()))
