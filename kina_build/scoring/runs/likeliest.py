"""Options by log-probability: which label a model would name first, or which text it would go on with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kina_build.chat import ChatReply, ChatRequest
from kina_build.errors import InputError, UsageError
from kina_build.scoring.prompts import prompt_digest
from kina_build.scoring.questions import Question, hash_option
from kina_build.scoring.replies import labels as labels_of
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
    """Refuse questions with several right answers: the likeliest option is one.

    Raises:
        UsageError: there is one.
    """
    several = [one.item_id for one in questions if one.several]
    if several:
        raise UsageError(
            f"--likeliest takes one option, and {several[0]} has several right answers ({len(several)} such)",
            hint="leave out --likeliest: the options are then read from the reply",
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


ECHO = {"echo": True, "max_tokens": 0, "logprobs": 1, "temperature": 0}
"""Asks the completions API for the log-probabilities of the prompt itself."""


NO_SUCH_ADDRESS = ("Error code: 404", "Error code: 405")
"""How the client words that there is no completions API."""


def plan_continuations(questions: Sequence[Question], model: str, params: Mapping[str, Any]) -> list[Call]:
    """List the calls that try each option's text as what follows a question, one an option."""
    return [
        Call(
            question.item_id,
            None,
            prompt_digest(_cloze(question)),
            ChatRequest(model=model, messages=_tried(question, text), params=dict(params)),
            tuple(map(hash_option, question.choices)),
        )
        for question in questions
        for text in question.choices
    ]


def _cloze(question: Question) -> str:
    parts = (question.material.strip(), question.question.strip(), "Answer:")
    return "\n\n".join(part for part in parts if part)


def _tried(question: Question, text: str) -> tuple[dict[str, str], ...]:
    return {"role": "user", "content": _cloze(question)}, {"role": "assistant", "content": f" {text}"}


def check_continuation(reply: ChatReply) -> None:
    """Refuse an endpoint that echoes no log-probabilities of a prompt.

    Raises:
        InputError: it does not, or has no completions API.
    """
    nowhere = reply.status == "bad_request" and str(reply.error).startswith(NO_SUCH_ADDRESS)
    if nowhere or (reply.answered and reply.continuation is None):
        raise InputError(
            "the endpoint echoes no log-probabilities of a prompt",
            hint="--likeliest label needs those of the first token alone; without it replies are read",
        )


def collect_continuations(calls: Sequence[Call], replies: Sequence[ChatReply]) -> list[Response]:
    """Turn the tries of each question into one row, whose response is the label of the likeliest text.

    The first of equals is taken; a question with a call that failed has no answer.

    Raises:
        InputError: a reply without log-probabilities.
    """
    tries: dict[str, list[tuple[Call, ChatReply]]] = {}
    for call, reply in zip(calls, replies, strict=True):
        tries.setdefault(call.item_id, []).append((call, reply))
    told = [_best(own) for own in tries.values()]
    return collect_responses([call for call, _ in told], [reply for _, reply in told])


def _best(tries: Sequence[tuple[Call, ChatReply]]) -> tuple[Call, ChatReply]:
    call, replies = tries[0][0], [reply for _, reply in tries]
    failed = next((reply for reply in replies if not reply.answered), None)
    if failed is not None:
        return call, failed
    for reply in replies:
        check_continuation(reply)
    values = [-math.inf if reply.continuation is None else reply.continuation for reply in replies]
    label = labels_of(len(replies))[values.index(max(values))]
    told = {"text": label, "prompt_tokens": sum(reply.prompt_tokens for reply in replies)}
    return call, replies[0].model_copy(update=told)
