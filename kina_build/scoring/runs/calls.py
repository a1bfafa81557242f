"""The calls of a model run, and the rows their replies become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kina_build.chat import ChatReply, ChatRequest
from kina_build.scoring.lists import Seed
from kina_build.scoring.prompts import build_list_prompt, prompt_digest, shuffled_order
from kina_build.scoring.questions import Question
from kina_build.scoring.responses import Response
from kina_build.scoring.runs.wording import Wording

OWN_WORDS = Wording()
"""Our own prompt, and nothing before it."""


@dataclass(frozen=True)
class Call:
    """One call of a run and what it is about."""

    item_id: str
    order: tuple[int, ...] | None
    """Order in which the options are shown, where they are shuffled."""
    prompt_sha: str
    request: ChatRequest
    option_hashes: tuple[str, ...] | None = None
    """Of the options in the item's own order, where the prompt alone does not prove them."""


def plan_calls(
    questions: Sequence[Question],
    model: str,
    samples: int,
    params: dict[str, Any] | None = None,
    *,
    shuffle_seed: int | None = None,
    wording: Wording = OWN_WORDS,
) -> list[Call]:
    """List the calls of a run: each sample of each question is a call of its own.

    Args:
        questions: what is asked.
        model: name the endpoint knows.
        samples: replies per question; a server seed in `params` is raised by the sample's number.
        params: sent with each call.
        shuffle_seed: show options in a seeded order of their own for each item.
        wording: the words around a question.

    Raises:
        InputError: a template that does not hold.
    """
    return [
        _plan(question, model, sample, dict(params or {}), _Manner(shuffle_seed, wording))
        for question in questions
        for sample in range(samples)
    ]


@dataclass(frozen=True)
class _Manner:
    """How a question is put."""

    shuffle_seed: int | None
    wording: Wording


def _plan(question: Question, model: str, sample: int, params: dict[str, Any], manner: _Manner) -> Call:
    seed, wording = manner.shuffle_seed, manner.wording
    order = None if seed is None else shuffled_order(question, seed)
    if "seed" in params:
        params["seed"] += sample
    messages = wording.messages(question, order)
    request = ChatRequest(model=model, messages=messages, params=params, sample=sample)
    return Call(question.item_id, order, wording.digest(question), request, wording.option_hashes(question))


def collect_responses(calls: Sequence[Call], replies: Sequence[ChatReply]) -> list[Response]:
    """Turn the replies of a run into rows, sorted by item and sample."""
    rows = [_row(call, reply) for call, reply in zip(calls, replies, strict=True)]
    return sorted(rows, key=lambda row: row.key)


def _row(call: Call, reply: ChatReply) -> Response:
    return Response(
        item_id=call.item_id,
        model=call.request.model,
        sample=call.request.sample,
        response=reply.text if reply.answered else None,
        reasoning=reply.reasoning,
        status=reply.status,
        prompt_sha=call.prompt_sha,
        option_hashes=call.option_hashes,
        served_model=None if reply.served_model == call.request.model else reply.served_model,
        option_order=call.order,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        error=reply.error,
    )


def plan_list_calls(
    seeds: Sequence[Seed], model: str, samples: int, params: dict[str, Any] | None = None
) -> list[Call]:
    """List the calls that ask enumeration questions.

    Args:
        seeds: the questions.
        model: name the endpoint knows.
        samples: replies per question.
        params: sent with each call.
    """
    calls: list[Call] = []
    for seed in seeds:
        prompt = build_list_prompt(seed.question)
        message = {"role": "user", "content": prompt}
        for sample in range(samples):
            request = ChatRequest(model=model, messages=(message,), params=dict(params or {}), sample=sample)
            calls.append(Call(seed.id, None, prompt_digest(prompt), request))
    return calls
