"""Judges that err at stated rates: they know the truth, miss some faults, see some that are not there."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kina_build.chat import ChatReply, ChatRequest


@dataclass(frozen=True)
class Truth:
    """What is right of an item, and what is wrong with it."""

    right: str
    """Letters of the right options."""
    issue: str = "none"


def judges(
    truths: Mapping[str, Truth], *, miss: float, false: float, biased: str = "", seed: int = 0
) -> Callable[[Sequence[ChatRequest]], list[ChatReply]]:
    """Return what answers as the judges do.

    Args:
        truths: question to the truth about it.
        miss: share of faults that a judge overlooks: it then repeats what the key says.
        false: share of sound items that a judge finds a fault in.
        biased: the judge that always holds the first option right.
        seed: of their errors.
    """

    def answer(request: ChatRequest) -> ChatReply:
        question = re.search(r"Question: (.*)", request.messages[-1]["content"])
        assert question is not None
        name, _, key = question[1].rpartition(" ")
        draw = random.Random(f"{seed}/{request.model}/{name}").random()
        truth = truths[question[1]]
        right, issue = truth.right, truth.issue
        faulty = right != key or issue != "none"
        if faulty and draw < miss:
            right, issue = key, "none"
        elif not faulty and draw < false:
            right = "B" if key != "B" else "C"
        if request.model == biased:
            right = "A"
        text = json.dumps({"right": list(right), "issue": issue, "why": "so it is"})
        return ChatReply(key=request.key, status="ok", text=text)

    return lambda requests: [answer(request) for request in requests]
