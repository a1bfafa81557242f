"""Support by a language-model judge: many anchors a call, and no score without a rating."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.chat import ChatReply, ChatRequest, cost_of
from kina_build.config import ChatRules, SupportRules
from kina_build.items.model import Item
from kina_build.support.anchors import Anchor
from kina_build.support.judge.prompts import judge_messages, judge_schema, read_ratings_reply, response_format
from kina_build.support.judge.ratings import Rating

Ask = Callable[[Sequence[ChatRequest]], list[ChatReply]]
"""Requests to one reply each, in their order: `chat.complete` with its endpoint and log."""

UNANSWERED = "not in the reply"


def split_judge(judge: str) -> tuple[str, int]:
    """Return the model behind a judge, and which reading of it the judge is: "m#2" is ("m", 1)."""
    model, _, reading = judge.partition("#")
    return model, int(reading or 1) - 1


@dataclass(frozen=True)
class Batch:
    """What one call asks: one item, some anchors, one judge."""

    judge: str
    """A model's name; "name#2" is a second, independent reading by the same model."""
    item: Item
    anchors: tuple[Anchor, ...]
    attempt: int = 0

    @property
    def model(self) -> str:
        """Return the model behind the judge."""
        return split_judge(self.judge)[0]

    @property
    def reading(self) -> int:
        """Return which reading of its model the judge is, 0 for the first."""
        return split_judge(self.judge)[1]


@dataclass(frozen=True)
class Unjudged:
    """A pair that a judge gave no usable rating, and why."""

    item_id: str
    anchor_id: str
    judge: str
    reason: str


@dataclass(frozen=True)
class Judged:
    """All ratings that were got, all that were not, and the replies they came from."""

    ratings: tuple[Rating, ...]
    unjudged: tuple[Unjudged, ...]
    replies: tuple[ChatReply, ...]


def choose_pairs(
    scores: NDArray[np.floating], scope: NDArray[np.bool_], rules: SupportRules = SupportRules()
) -> NDArray[np.bool_]:
    """Choose the pairs worth a judge's time: each item's nearest anchors, each anchor's nearest items.

    Args:
        scores: nearness by embedding, shape (items, anchors).
        scope: pairs that may be compared at all, same shape.
        rules: `prefilter_anchors` an item and `prefilter_items` an anchor; 0 keeps all.

    Returns:
        Same shape; the pairs left out count as unrelated (support 0).
    """
    if rules.prefilter_anchors == 0:
        return scope
    near = np.where(scope, scores, -np.inf)
    rank_in_row = _ranks(near, axis=1) < rules.prefilter_anchors
    rank_in_column = _ranks(near, axis=0) < rules.prefilter_items
    return np.asarray(scope & (rank_in_row | rank_in_column))


def plan_batches(
    items: Sequence[Item],
    anchors: Sequence[Anchor],
    wanted: NDArray[np.bool_],
    judges: Sequence[str],
    rules: SupportRules = SupportRules(),
) -> list[Batch]:
    """Cut the wanted pairs into calls of even size, at most `rules.judge_batch` anchors each.

    The anchors of an item are asked in an order of their own for each judge, so that
    no anchor profits from its place in the list.
    """
    batches: list[Batch] = []
    for judge in judges:
        for row, item in enumerate(items):
            picked = [anchors[column] for column in np.flatnonzero(wanted[row])]
            batches += split_batch(Batch(judge, item, _shuffled(picked, item, judge)), rules.judge_batch)
    return batches


def split_batch(batch: Batch, size: int) -> list[Batch]:
    """Cut a batch into the fewest batches of at most `size` anchors, even in size."""
    calls = -(-len(batch.anchors) // size)
    if calls == 0:
        return []
    even = -(-len(batch.anchors) // calls)
    parts = [batch.anchors[start : start + even] for start in range(0, len(batch.anchors), even)]
    return [Batch(batch.judge, batch.item, part, batch.attempt) for part in parts]


def request_of(batch: Batch, rules: SupportRules = SupportRules()) -> ChatRequest:
    """Write the call of a batch."""
    count = len(batch.anchors)
    return ChatRequest(
        model=batch.model,
        messages=judge_messages(batch.item, batch.anchors),
        params={
            "temperature": rules.judge_temperature,
            "max_tokens": rules.judge_tokens * (count + 1),
            **response_format(rules.judge_form, "ratings", judge_schema(count, rules.judge_quote)),
            **rules.judge_params,
        },
        sample=batch.reading * rules.judge_rounds + batch.attempt,
    )


def judge_pairs(batches: Sequence[Batch], ask: Ask, rules: SupportRules = SupportRules()) -> Judged:
    """Ask for ratings; anchors that a reply left out or spoilt are asked again in smaller batches.

    What a model answered badly is asked again up to `rules.judge_rounds` times in all.
    What failed on the way (time-outs, HTTP errors, caps) was tried again by `ask` and is
    not asked here a second time. Nothing that failed becomes a rating.
    """
    ratings: list[Rating] = []
    unjudged: list[Unjudged] = []
    replies: list[ChatReply] = []
    waiting = list(batches)
    while waiting:
        answers = ask([request_of(batch, rules) for batch in waiting])
        replies += answers
        again: list[Batch] = []
        for batch, reply in zip(waiting, answers, strict=True):
            found, lost = read_reply(batch, reply)
            ratings += found
            if lost and reply.answered and batch.attempt + 1 < rules.judge_rounds:
                rest = tuple(a for a in batch.anchors if a.anchor_id in {u.anchor_id for u in lost})
                smaller = -(-len(batch.anchors) // 2)
                again += split_batch(Batch(batch.judge, batch.item, rest, batch.attempt + 1), smaller)
            else:
                unjudged += lost
        waiting = again
    return Judged(tuple(ratings), tuple(unjudged), tuple(replies))


def read_reply(batch: Batch, reply: ChatReply) -> tuple[list[Rating], list[Unjudged]]:
    """Read the ratings of one reply, and the pairs it holds no usable rating for."""
    read = read_ratings_reply(reply.text if reply.status in ("ok", "truncated") else "", len(batch.anchors))
    ratings: list[Rating] = []
    unjudged: list[Unjudged] = []
    for number, anchor in enumerate(batch.anchors, start=1):
        pair = {"item_id": batch.item.item_id, "anchor_id": anchor.anchor_id, "judge": batch.judge}
        if number in read.ratings:
            rating, evidence = read.ratings[number]
            ratings.append(Rating(**pair, rating=rating, evidence=evidence, model=batch.model))
        else:
            silent = UNANSWERED if reply.status == "ok" else reply.status
            unjudged.append(Unjudged(**pair, reason=read.faults.get(number, silent)))
    return ratings, unjudged


def estimate_calls(
    batches: Sequence[Batch],
    is_answered: Callable[[str], bool],
    rules: SupportRules = SupportRules(),
    prices: ChatRules = ChatRules(),
) -> dict[str, Any]:
    """Estimate what the planned calls take: calls, tokens, cost; calls made again are not foreseen.

    Args:
        batches: the plan.
        is_answered: tells by its key whether a request is answered already.
        rules: characters a token, tokens an answer.
        prices: price of tokens.
    """
    requests = [request_of(batch, rules) for batch in batches]
    open_ones = [request for request in requests if not is_answered(request.key)]
    text = sum(len(message["content"]) for request in open_ones for message in request.messages)
    prompt = round(text / rules.characters_a_token)
    most = sum(int(request.params["max_tokens"]) for request in open_ones)
    expected = ChatReply(key="", status="ok", prompt_tokens=prompt, completion_tokens=most)
    return {
        "calls": len(open_ones),
        "calls_answered": len(requests) - len(open_ones),
        "pairs": sum(len(batch.anchors) for batch in batches),
        "prompt_tokens": prompt,
        "completion_tokens_at_most": most,
        "cost_at_most": round(cost_of([expected], prices), 4),
    }


def _ranks(values: NDArray[np.floating], axis: int) -> NDArray[np.int64]:
    """Rank from the largest, 0 first; ties in order of place."""
    order = np.argsort(-values, axis=axis, kind="stable")
    return np.asarray(np.argsort(order, axis=axis, kind="stable"))


def _shuffled(anchors: Sequence[Anchor], item: Item, judge: str) -> tuple[Anchor, ...]:
    def place(anchor: Anchor) -> bytes:
        return hashlib.sha256(f"{judge}\n{item.item_id}\n{anchor.anchor_id}".encode()).digest()

    return tuple(sorted(anchors, key=place))
