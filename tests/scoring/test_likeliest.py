"""kina run --likeliest: labels by the first token's log-probabilities, and endpoints that tell none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from kina_build.scoring.runs.likeliest import pick_label
from tests.servers import RATE_LIMITED, REFUSED, Served, failed, said, scripted

Kina = Callable[..., Result]
RUN = ("run", "--release", "release", "--model", "m", "-o", "r.jsonl", "--likeliest", "label", "--json")
MARK = ("score", "--task", "multiple-choice", "--release", "release", "--responses", "r.jsonl", "--json")


def first(text: str, **shares: float) -> Served:
    """Serve one token and the log-probabilities of some; "_B" stands for " B"."""
    served = said(text, finish="length")
    tops = [{"token": token.replace("_", " "), "logprob": log(share)} for token, share in shares.items()]
    served.body["choices"][0]["logprobs"] = {"content": [{"token": text, "logprob": 0, "top_logprobs": tops}]}
    return served


@pytest.mark.parametrize(
    ("shares", "label"),
    [
        ({"A": 0.4, "B": 0.3, " B": 0.2}, "B"),  # one label in two tokens
        ({"A": 0.3, "B": 0.3}, "A"),  # the first of equals
        ({"Answer": 0.9, "C": 0.05}, "C"),
        ({"The": 0.9, "b": 0.05, "Z": 0.05}, None),  # no label of this item
    ],
)
def test_the_likeliest_label(shares: dict[str, float], label: str | None) -> None:
    assert pick_label({token: log(share) for token, share in shares.items()}, ["A", "B", "C"]) == label


def release(names: tuple[str, ...]) -> None:
    """Write a release of questions whose answer is B."""
    Path("release").mkdir()
    rows = [
        {"id": name, "question": f"Which, {name}?", "choices": ["cats", "dogs", "fish"], "answer": "B"}
        for name in names
    ]
    Path("release/test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_labels_are_marked_whatever_the_model_would_go_on_to_say(kina: Kina) -> None:
    release(("q1", "q2", "q3", "q4"))
    replies = {"q1": first("The", The=0.5, B=0.3, A=0.1), "q2": first("A", A=0.6, _B=0.2),
               "q3": REFUSED, "q4": first("Well", Well=0.9)}  # fmt: skip

    def script(prompt: str, times: int) -> Served:
        if times == 0:
            return RATE_LIMITED
        return next(served for name, served in replies.items() if name in prompt)

    with scripted(script) as server:
        done = kina(*RUN, "--base-url", server.url)
        assert done.exit_code == 0, done.stderr
        kina(*RUN, "--base-url", server.url)  # nothing is asked again
    assert max(server.prompts.values()) == 2
    sent = {name: server.asked[0][name] for name in ("max_tokens", "temperature", "logprobs", "top_logprobs")}
    assert sent == {"max_tokens": 1, "temperature": 0, "logprobs": True, "top_logprobs": 20}
    rows = {row["item_id"]: row for row in map(json.loads, Path("r.jsonl").read_text().splitlines())}
    assert {name: row["response"] for name, row in rows.items()} == {
        "q1": "B", "q2": "A", "q3": "I will not.", "q4": "Well",
    }  # fmt: skip
    marked = json.loads(kina(*MARK).stdout)["models"][0]
    assert (marked["score"], marked["answered"]) == (0.25, 4)


def test_an_endpoint_without_log_probabilities_is_refused_after_one_call(kina: Kina) -> None:
    release(("q1", "q2", "q3"))
    with scripted(lambda prompt, times: said("B")) as server:
        done = kina(*RUN, "--base-url", server.url)
    assert (done.exit_code, len(server.asked)) == (2, 1)
    assert "the endpoint tells no log-probabilities of the first token" in done.stderr
    assert not Path("r.jsonl").exists()


@pytest.mark.parametrize("other", ["--direct", "--batch"])
def test_what_does_not_go_with_it_is_refused(other: str, kina: Kina) -> None:
    release(("q1",))
    done = kina(*RUN, other)
    assert (done.exit_code, f"--likeliest label does not go with {other}" in done.stderr) == (2, True)


def test_the_tokens_of_a_reply_are_kept_in_the_log(kina: Kina) -> None:
    release(("q1",))
    with scripted(lambda prompt, times: first("B", B=0.5)) as server:
        kina(*RUN, "--base-url", server.url)
    kept: dict[str, Any] = json.loads(Path("r.replies.jsonl").read_text())
    assert kept["first_token"] == {"B": log(0.5)}


def echoed(prompt: str, values: dict[str, float]) -> Served:
    """Echo a prompt by words, each of which has a log-probability; one more word is made up."""
    words = re.findall(r" ?\S+|\s", prompt)
    offsets = [sum(map(len, words[:place])) for place in range(len(words) + 1)]
    told = [None, *(values.get(word.strip(), -0.5) for word in words[1:]), -9.0]
    choice = {"text": prompt, "logprobs": {"text_offset": offsets, "token_logprobs": told}}
    return Served({"choices": [choice], "model": "m", "usage": {"prompt_tokens": len(words)}})


TEXT = [*RUN[:-2], "text", "--json"]


def test_the_likeliest_text_is_what_the_endpoint_echoes(kina: Kina) -> None:
    """Each option is tried once; what stands before it and what was made up behind it do not count."""
    release(("q1", "q2"))
    right, wrong = {"dogs": -1.0, "cats": -2.0, "fish": -3.0}, {"dogs": -2.0, "cats": -2.0, "fish": -3.0}
    with scripted(lambda prompt, times: echoed(prompt, right if "q1" in prompt else wrong)) as server:
        done = kina(*TEXT, "--base-url", server.url)
        assert done.exit_code == 0, done.stderr
        kina(*TEXT, "--base-url", server.url)
    assert (len(server.asked), max(server.prompts.values())) == (6, 1)
    assert server.asked[0]["echo"] is True
    rows = {row["item_id"]: row for row in map(json.loads, Path("r.jsonl").read_text().splitlines())}
    assert {name: row["response"] for name, row in rows.items()} == {"q1": "B", "q2": "A"}
    assert rows["q1"]["prompt_tokens"] == 18
    marked = json.loads(kina(*MARK).stdout)["models"][0]
    assert (marked["score"], marked["answered"]) == (0.5, 2)


@pytest.mark.parametrize(
    "served", [Served({"choices": [{"text": "x", "logprobs": None}]}), failed(404, "no such address")]
)
def test_an_endpoint_that_echoes_nothing_is_refused_after_one_call(served: Served, kina: Kina) -> None:
    release(("q1", "q2"))
    with scripted(lambda prompt, times: served) as server:
        done = kina(*TEXT, "--base-url", server.url)
    assert (done.exit_code, len(server.asked)) == (2, 1)
    assert "the endpoint echoes no log-probabilities of a prompt" in done.stderr


def test_a_question_with_a_try_that_failed_has_no_answer(kina: Kina) -> None:
    release(("q1", "q2"))

    def script(prompt: str, times: int) -> Served:
        return failed(400, "too long") if "q2" in prompt and "fish" in prompt else echoed(prompt, {})

    with scripted(script) as server:
        done = kina(*TEXT, "--base-url", server.url)
    rows = {row["item_id"]: row for row in map(json.loads, Path("r.jsonl").read_text().splitlines())}
    assert (done.exit_code, rows["q1"]["status"], rows["q2"]["status"]) == (1, "ok", "bad_request")
    assert "response" not in rows["q2"]
