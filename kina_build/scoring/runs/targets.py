"""Whom a run asks, and what that would take: calls, tokens, money, hours."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from kina_build.chat import Endpoint, ReplyLog
from kina_build.config import ChatRules
from kina_build.errors import InputError
from kina_build.rows.tables import read_typed
from kina_build.scoring.runs.calls import Call
from kina_build.scoring.runs.options import RunOptions

if TYPE_CHECKING:
    from kina_build.scoring.runs.planning import Inquiry


@dataclass(frozen=True)
class Target:
    """One model to ask: where, with what parameters, at what prices."""

    model: str
    rules: ChatRules
    """With its own prices."""
    base_url: str | None = None
    """None: OPENAI_BASE_URL."""
    api_key_env: str | None = None
    """Name of the variable that holds its key; None: OPENAI_API_KEY."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """Beside those that all models are sent."""

    def endpoint(self) -> Endpoint:
        """Return where it is asked, with the key of the environment.

        Raises:
            ConfigError: no base URL is given or set.
            InputError: the key's variable is not set.
        """
        endpoint = Endpoint.from_environment(self.base_url)
        if self.api_key_env is None:
            return endpoint
        if not os.environ.get(self.api_key_env):
            raise InputError(f"{self.api_key_env} is not set", hint=f"it is to hold the key of {self.model}")
        return Endpoint(endpoint.base_url, os.environ[self.api_key_env])


class TargetRow(BaseModel):
    """One row of a table of models."""

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)

    model: str = Field(min_length=1)
    base_url: str | None = None
    api_key_env: str | None = None
    """Name of the variable that holds its key; never the key itself."""
    params: str | dict[str, Any] | None = None
    """More of the call, as a JSON object."""
    prompt_price: float | None = Field(None, ge=0)
    """Of a million tokens."""
    completion_price: float | None = Field(None, ge=0)


def read_targets(options: RunOptions, rules: ChatRules) -> list[Target]:
    """Return the models to ask: the one that is named, or those of a table.

    Args:
        options: checked.
        rules: prices and caps of those that name none.

    Raises:
        InputError, RowErrors: a table that cannot be read, or a model that stands twice.
    """
    if options.models is None:
        return [Target(options.model or "", rules, options.base_url)]
    rows = read_typed(options.models, TargetRow)
    twice = next((name for name, times in Counter(row.model for row in rows).items() if times > 1), None)
    if twice is not None:
        raise InputError(f"{options.models}: the model {twice!r} stands twice", hint="one row a model")
    return [_target(row, options, rules) for row in rows]


def _target(row: TargetRow, options: RunOptions, rules: ChatRules) -> Target:
    prices = {"prompt_price": row.prompt_price, "completion_price": row.completion_price}
    own = rules.model_copy(update={name: value for name, value in prices.items() if value is not None})
    params: Any = row.params or {}
    if isinstance(params, str):
        try:
            params = json.loads(params)
        except json.JSONDecodeError:
            params = None
    if not isinstance(params, dict):
        raise InputError(f"{options.models}: params of {row.model!r}: not a JSON object")
    return Target(row.model, own, row.base_url or options.base_url, row.api_key_env, params)


@dataclass(frozen=True)
class Estimate:
    """What a run would take, from what the log holds of it, else from the lengths of its prompts."""

    calls: int
    """Those that the log does not answer."""
    prompt_tokens: int
    completion_tokens: int
    cost: float
    hours: float | None
    """None where no reply in the log says how long one takes."""
    sampled: int
    """Replies of this run in the log, on which the estimate rests; 0: completion_tokens is the most there
    may be."""


CHARACTERS_A_TOKEN = 4
"""Bytes of a prompt that make a token, where no reply tells: a rule of thumb for English."""


def estimate(inquiry: Inquiry, target: Target, log: ReplyLog) -> Estimate:
    """Estimate what a run would take: ask a few items (--limit) first, and the log makes it precise."""
    known = [(call, log.find(call.request.key)) for call in inquiry.calls]
    sample = [(call, reply) for call, reply in known if reply is not None]
    waiting = [call for call, reply in known if reply is None]
    bytes_left = sum(map(_prompt_bytes, waiting))
    seen = sum(_prompt_bytes(call) for call, _ in sample)
    told = sum(reply.prompt_tokens for _, reply in sample)
    rate = told / seen if told and seen else 1 / CHARACTERS_A_TOKEN
    most = int(inquiry.params.get("max_tokens") or 0)
    mean = sum(reply.completion_tokens for _, reply in sample) / len(sample) if sample else most
    times = [reply.time_s for _, reply in sample if reply.time_s is not None]
    hours = None
    if times:
        hours = sum(times) / len(times) * len(waiting) / target.rules.concurrency / 3600
    prompt, completion = round(bytes_left * rate), round(mean * len(waiting))
    prices = target.rules
    cost = (prompt * prices.prompt_price + completion * prices.completion_price) / 1e6
    return Estimate(len(waiting), prompt, completion, cost, hours, len(sample))


def _prompt_bytes(call: Call) -> int:
    return sum(len(message["content"].encode()) for message in call.request.messages)
