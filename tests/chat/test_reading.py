"""What servers send: content in parts, refusals of a filter, errors inside a status 200."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kina_build.chat.reading import is_filtered, read_completion, read_content


def completion(content: Any, **choice: Any) -> bytes:
    return json.dumps(
        {"choices": [{"message": {"content": content}, "finish_reason": "stop"} | choice]}
    ).encode()


@pytest.mark.parametrize(
    ("content", "text", "reasoning"),
    [
        ("Answer: B", "Answer: B", ""),
        ([{"type": "text", "text": "Answer: "}, {"type": "text", "text": "B"}], "Answer: B", ""),
        ([{"type": "thinking", "thinking": "D?"}, {"type": "text", "text": "Answer: B"}], "Answer: B", "D?"),
        (
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Answer: D"}]},
                {"type": "text", "text": "B"},
            ],
            "B",
            "Answer: D",
        ),
        ([{"type": "image_url", "image_url": {"url": "x"}}, {"type": "output_text", "text": "B"}], "B", ""),
        (None, "", ""),
    ],
)
def test_parts_of_a_content(content: Any, text: str, reasoning: str) -> None:
    found = read_content(content)
    assert (found.text, found.reasoning) == (text, reasoning)


def test_a_refusal_in_a_part_is_a_refusal() -> None:
    reply = read_completion("k", completion([{"type": "refusal", "refusal": "I will not."}]))
    assert (reply.status, reply.text) == ("refused", "I will not.")


def test_content_of_another_kind_is_no_completion() -> None:
    assert read_completion("k", completion(7)).status == "server_error"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"message": "overloaded: try model-b", "code": 502}, "server_error"),
        ({"message": "slow down", "code": "429"}, "rate_limited"),
        ({"message": "no", "code": "content_filter"}, "refused"),
        ("out of memory", "server_error"),
    ],
)
def test_an_error_inside_a_status_200(error: Any, status: str) -> None:
    reply = read_completion("k", json.dumps({"error": error}).encode())
    told = error["message"] if isinstance(error, dict) else error
    assert (reply.status, told in (reply.error or "")) == (status, True)


def test_an_error_inside_a_choice() -> None:
    assert (
        read_completion("k", completion("", error={"message": "cut", "code": 503})).error == "cut (code 503)"
    )


def test_a_filter_is_told_by_its_code() -> None:
    assert is_filtered({"code": "content_filter"})
    assert is_filtered({"code": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}})
    assert not is_filtered({"code": "invalid_api_key"})
    assert not is_filtered("content_filter")
