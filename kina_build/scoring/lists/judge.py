"""A model's judgement on names that no rule matched: one of the golds left over, or none."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kina_build.chat import ChatReply, ChatRequest
from kina_build.scoring.lists.match import add_judged
from kina_build.scoring.lists.score import Outcome, Seed

JUDGE_PROMPT_VERSION = "universe-judge-1"

_VERDICT = re.compile(r"Answer:[\s*]*(\d{1,9}|none)", re.IGNORECASE)
"""Matches "Answer: **2" and "answer: none"."""

Question = tuple[int, int]
"""(place of the outcome, place of the prediction in it)."""


def ask_judge(outcomes: Sequence[Outcome], model: str) -> dict[Question, ChatRequest]:
    """Write a request for each unmatched prediction of a question with unmatched golds."""
    requests: dict[Question, ChatRequest] = {}
    for place, outcome in enumerate(outcomes):
        seed, matched = outcome.seed, outcome.matched
        said, golds = matched.unmatched
        for prediction in said if golds else ():
            text = _prompt(seed, matched.predicted[prediction], [matched.golds[gold][0] for gold in golds])
            requests[place, prediction] = ChatRequest(
                model=model, messages=({"role": "user", "content": text},), params={"temperature": 0}
            )
    return requests


def _prompt(seed: Seed, name: str, golds: Sequence[str]) -> str:
    lines = "\n".join(f"{number}. {gold}" for number, gold in enumerate(golds, start=1))
    return (
        f"Question: {seed.question or seed.id}\nA reply to it names: {name}\n\n"
        f"Which of these entries is the same thing, if any?\n{lines}\n\n"
        'End with one line: "Answer: " and the number of the entry, or "Answer: none".'
    )


def read_verdict(text: str, n_golds: int) -> int | None:
    """Return the 0-based entry a judge's reply names last; None for none or anything unreadable."""
    found = _VERDICT.findall(text)
    entries = {str(place + 1): place for place in range(n_golds)}
    return entries.get(found[-1].lstrip("0")) if found else None


def apply_judge(outcomes: Sequence[Outcome], replies: Mapping[Question, ChatReply]) -> list[Outcome]:
    """Add the judge's verdicts to the outcomes by rules."""
    verdicts: dict[int, dict[int, int]] = defaultdict(dict)
    for (place, prediction), reply in replies.items():
        golds = outcomes[place].matched.unmatched[1]
        entry = read_verdict(reply.text, len(golds)) if reply.answered else None
        if entry is not None:
            verdicts[place][prediction] = golds[entry]
    return [
        replace(outcome, matched=add_judged(outcome.matched, verdicts[place]))
        for place, outcome in enumerate(outcomes)
    ]
