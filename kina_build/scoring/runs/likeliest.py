"""Labels by log-probability: which option a model would name first, whatever it goes on to say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kina_build.chat import ChatReply
from kina_build.errors import InputError, UsageError
from kina_build.scoring.questions import Question
from kina_build.scoring.responses import Response
from kina_build.scoring.runs.calls import Call, collect_responses

TOP_TOKENS = 20
"""Tokens asked for: the most that OpenAI's form allows."""


def label_params(max_tokens: int | None) -> dict[str, Any]:
    """Return what is sent to get the log-probabilities of the first token.

    Args:
        max_tokens: of the reply; None: the one token is enough.
    """
    return {"max_tokens": max_tokens or 1, "temperature": 0, "logprobs": True, "top_logprobs": TOP_TOKENS}


def check_single(questions: Sequence[Question]) -> None:
    """Refuse questions with several right answers: one token names one of them.

    Raises:
        UsageError: there is one.
    """
    several = [one.item_id for one in questions if one.several]
    if several:
        raise UsageError(
            f"--likeliest reads one label, and {several[0]} has several right answers ({len(several)} such)",
            hint="leave out --likeliest: the labels are then read from the reply",
        )


def check_first_token(reply: ChatReply) -> None:
    """Refuse an endpoint that answers without log-probabilities.

    Raises:
        InputError: it does.
    """
    if reply.status in ("ok", "truncated") and reply.first_token is None:
        raise InputError(
            "the endpoint tells no log-probabilities of the first token",
            hint="leave out --likeliest: --direct asks for the answer alone, and reads it from the reply",
        )


def pick_label(first_token: Mapping[str, float], labels: Sequence[str]) -> str | None:
    """Return the likeliest label, the first of equals; None where no likely token is one.

    "B" and " B" are one label: their probabilities add up.
    """
    shares = dict.fromkeys(labels, 0.0)
    for token, value in first_token.items():
        label = token.strip()
        if label in shares:
            shares[label] += math.exp(value)
    best = max(labels, key=lambda label: shares[label])
    return best if shares[best] > 0 else None


@dataclass(frozen=True)
class LikeliestLabels:
    """Turns the replies of a run into rows whose response is the likeliest label."""

    labels: Mapping[str, Sequence[str]]
    """Of each item's options."""

    def __call__(self, calls: Sequence[Call], replies: Sequence[ChatReply]) -> list[Response]:
        """Return the rows, sorted by item and sample.

        Raises:
            InputError: a reply without log-probabilities.
        """
        return collect_responses(calls, [self._told(*one) for one in zip(calls, replies, strict=True)])

    def _told(self, call: Call, reply: ChatReply) -> ChatReply:
        check_first_token(reply)
        if reply.first_token is None:
            return reply
        label = pick_label(reply.first_token, self.labels[call.item_id])
        # a reply is cut after its first token because that was all that was asked for
        status = "ok" if label or reply.status == "truncated" else reply.status
        return reply.model_copy(update={"text": label or reply.text, "status": status})
