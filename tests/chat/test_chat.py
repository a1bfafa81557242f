"""Many calls to an endpoint that fails in every way, and a log that lets us go on."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from kina_build.chat import ChatReply, ChatRequest, Endpoint, ReplyLog, complete, cost_of
from kina_build.chat.reading import read_completion, retry_after_s
from kina_build.config import ChatRules
from kina_build.errors import ConfigError, InputError
from tests import servers
from tests.servers import Served, said, scripted

QUICK = ChatRules(backoff_s=0.01, attempts=2)


def ask(*texts: str, model: str = "m", **params: object) -> list[ChatRequest]:
    return [
        ChatRequest(model=model, messages=({"role": "user", "content": text},), params=dict(params))
        for text in texts
    ]


@pytest.mark.parametrize(
    ("served", "status"),
    [
        (said("Answer: B"), "ok"),
        (servers.EMPTY, "empty"),
        (servers.REFUSED, "refused"),
        (said("", finish="content_filter"), "refused"),
        (servers.REASONING_ONLY, "reasoning_only"),
        (servers.CUT, "truncated"),
        (servers.MALFORMED, "server_error"),
        (servers.NO_CHOICES, "server_error"),
        (Served(b"<html>gateway</html>"), "server_error"),
        (servers.RATE_LIMITED, "rate_limited"),
        (servers.SERVER_ERROR, "server_error"),
        (servers.LOADING, "server_error"),
        (servers.UNAUTHORISED, "auth"),
        (servers.BAD_REQUEST, "bad_request"),
        (servers.SLOW, "timeout"),
    ],
)
def test_each_failure_lands_in_its_status(served: Served, status: str) -> None:
    rules = QUICK.model_copy(update={"timeout_s": 0.1}) if served.held else QUICK
    with scripted(lambda _prompt, _times: served) as server:
        (reply,) = complete(ask("q"), server.endpoint(), ReplyLog(), rules=rules)
    assert reply.status == status
    assert (reply.error is None) == reply.answered


def test_nobody_listening_is_a_server_error() -> None:
    with servers.nobody() as url:
        (reply,) = complete(ask("q"), Endpoint(url), ReplyLog(), rules=QUICK)
    assert reply.status == "server_error"


def test_passing_errors_are_retried_and_the_answer_is_kept() -> None:
    hurdles = [servers.RATE_LIMITED, servers.SERVER_ERROR, servers.MALFORMED, said("Answer: C")]
    with scripted(lambda _prompt, times: hurdles[times]) as server:
        (reply,) = complete(
            ask("q"), server.endpoint(), ReplyLog(), rules=QUICK.model_copy(update={"attempts": 4})
        )
    assert (reply.status, reply.text, len(server.asked)) == ("ok", "Answer: C", 4)


def test_a_bad_request_is_not_retried() -> None:
    with scripted(lambda _prompt, _times: servers.BAD_REQUEST) as server:
        complete(ask("q"), server.endpoint(), ReplyLog(), rules=QUICK)
    assert len(server.asked) == 1


def test_retry_after_is_waited_for() -> None:
    limited = servers.failed(429, retry_after="0.4")
    with scripted(lambda _prompt, times: said("ok") if times else limited) as server:
        start = time.monotonic()
        (reply,) = complete(ask("q"), server.endpoint(), ReplyLog(), rules=QUICK)
    assert reply.status == "ok"
    assert time.monotonic() - start >= 0.4


def test_retry_after_reads_seconds_dates_and_rubbish() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    past = format_datetime(datetime.now(UTC) - timedelta(hours=2), usegmt=True)
    assert retry_after_s("2.5") == 2.5
    assert 3600 < (retry_after_s(soon) or 0) <= 7200
    assert retry_after_s(past) == 0
    assert retry_after_s("soon") is None
    assert retry_after_s(None) is None


def test_concurrency_is_capped() -> None:
    three_at_once = threading.Barrier(3)

    def together(_prompt: str, _times: int) -> Served:
        three_at_once.wait()
        return said("x")

    with scripted(together) as server:
        rules = QUICK.model_copy(update={"concurrency": 3})
        complete(ask(*"abcdefghi"), server.endpoint(), ReplyLog(), rules=rules)
    assert len(server.asked) == 9
    assert server.most_open == 3


def test_replies_come_in_the_order_of_the_requests_and_equal_ones_are_asked_once() -> None:
    with scripted(lambda prompt, _times: said(prompt.upper())) as server:
        replies = complete(ask("b", "a", "b"), server.endpoint(), ReplyLog(), rules=QUICK)
    assert [reply.text for reply in replies] == ["B", "A", "B"]
    assert server.prompts == {"a": 1, "b": 1}


def test_a_second_run_asks_only_what_failed(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with scripted(lambda prompt, _times: servers.SERVER_ERROR if prompt == "b" else said("x")) as server:
        first = complete(ask("a", "b"), server.endpoint(), ReplyLog(path), rules=QUICK)
    assert [reply.status for reply in first] == ["ok", "server_error"]
    with scripted(lambda _prompt, _times: said("y")) as server:
        second = complete(ask("a", "b", "c"), server.endpoint(), ReplyLog(path), rules=QUICK)
    assert [reply.text for reply in second] == ["x", "y", "y"]
    assert server.prompts == {"b": 1, "c": 1}


def test_a_torn_last_line_is_dropped_and_its_call_made_again(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = ReplyLog(path)
    for key in ("k1", "k2"):
        log.append(ChatReply(key=key, status="ok", text="x"))
    path.write_bytes(path.read_bytes()[:-9])
    again = ReplyLog(path)
    assert (len(again), again.torn) == (1, 1)
    again.append(ChatReply(key="k3", status="ok", text="z"))
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == ["k1", "k3"]


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"key": "k1", "status": "ok"}\nrubbish\n{"key": "k2", "status": "ok"}\n')
    with pytest.raises(InputError, match=r"log\.jsonl:2: not a reply"):
        ReplyLog(path)


def test_a_call_cap_leaves_the_rest_unsent_and_unlogged(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    rules = QUICK.model_copy(update={"max_calls": 2, "concurrency": 1})
    with scripted(lambda _prompt, _times: said("x")) as server:
        replies = complete(ask(*"abcd"), server.endpoint(), ReplyLog(path), rules=rules)
    assert [reply.status for reply in replies] == ["ok", "ok", "not_sent", "not_sent"]
    assert "2 calls" in (replies[-1].error or "")
    assert len(path.read_text().splitlines()) == len(server.asked) == 2


def test_a_cost_cap_stops_the_run() -> None:
    rules = QUICK.model_copy(update={"prompt_price": 1e6, "max_cost": 10.0, "concurrency": 1})
    with scripted(lambda _prompt, _times: said("x")) as server:
        replies = complete(ask(*"abcd"), server.endpoint(), ReplyLog(), rules=rules)
    assert [reply.status for reply in replies] == ["ok", "ok", "not_sent", "not_sent"]
    assert cost_of(replies, rules) == 14.0


def test_a_refused_key_stops_the_run_and_is_never_written(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    rules = QUICK.model_copy(update={"concurrency": 1})
    echo = servers.failed(401, "key sk-secret is not known")
    with scripted(lambda _prompt, _times: echo) as server:
        replies = complete(ask(*"abc"), server.endpoint("sk-secret"), ReplyLog(path), rules=rules)
    assert [reply.status for reply in replies] == ["auth", "not_sent", "not_sent"]
    assert server.keys == {"Bearer sk-secret"}
    assert "sk-secret" not in path.read_text()
    assert "sk-secret" not in repr(server.endpoint())


def test_params_are_sent_as_they_are_and_samples_are_different_calls() -> None:
    twice = [
        ChatRequest(
            model="m",
            messages=({"role": "user", "content": "q"},),
            params={"temperature": 0.5, "cache_prompt": False},
            sample=sample,
        )
        for sample in range(2)
    ]
    with scripted(lambda _prompt, _times: said("x")) as server:
        complete(twice, server.endpoint(), ReplyLog(), rules=QUICK)
    assert [(body["temperature"], body["cache_prompt"]) for body in server.asked] == [(0.5, False)] * 2
    assert "sample" not in server.asked[0]


def test_the_key_depends_on_all_of_the_request_and_not_on_the_order_of_its_fields() -> None:
    (base,) = ask("q", temperature=0, top_p=1)
    (same,) = ask("q", top_p=1, temperature=0)
    others = [*ask("p", temperature=0, top_p=1), *ask("q", temperature=0), *ask("q", model="n")]
    assert base.key == same.key
    assert base.key not in {other.key for other in others}
    assert base.model_copy(update={"sample": 1}).key != base.key


def test_tokens_are_counted() -> None:
    reply = read_completion("k", json.dumps(said("x").body).encode())
    assert (reply.prompt_tokens, reply.completion_tokens) == (7, 3)


def test_an_endpoint_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    with pytest.raises(ConfigError, match="no model endpoint"):
        Endpoint.from_environment()
    assert Endpoint.from_environment("http://127.0.0.1:1/v1") == Endpoint("http://127.0.0.1:1/v1", "sk-x")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:2/v1")
    assert Endpoint.from_environment().base_url == "http://127.0.0.1:2/v1"


def test_progress_counts_what_the_log_answered() -> None:
    seen: list[tuple[int, int]] = []
    log = ReplyLog()
    with scripted(lambda _prompt, _times: said("x")) as server:
        complete(ask("a"), server.endpoint(), log, rules=QUICK)
        complete(
            ask("a", "b"), server.endpoint(), log, rules=QUICK, on_progress=lambda d, t: seen.append((d, t))
        )
    assert seen == [(1, 2), (2, 2)]


def test_all_calls_of_one_request_carry_its_key() -> None:
    (request,) = ask("q")
    hurdles = [servers.SERVER_ERROR, servers.failed(409, "still being made"), servers.MALFORMED, said("x")]
    rules = QUICK.model_copy(update={"attempts": 4})
    with scripted(lambda _prompt, times: hurdles[times]) as server:
        (reply,) = complete([request], server.endpoint(), ReplyLog(), rules=rules)
    assert reply.status == "ok"
    assert server.request_keys == [request.key] * 4


def test_the_key_can_be_left_out() -> None:
    with scripted(lambda _prompt, _times: said("x")) as server:
        rules = QUICK.model_copy(update={"idempotency_key": False})
        complete(ask("q"), server.endpoint(), ReplyLog(), rules=rules)
    assert server.request_keys == [None]


def test_a_log_that_cannot_be_written_ends_the_run(tmp_path: Path) -> None:
    log = ReplyLog()
    log.path = tmp_path / "full"
    log.path.symlink_to("/dev/full")
    with scripted(lambda _prompt, _times: said("x")) as server:
        rules = QUICK.model_copy(update={"concurrency": 2})
        with pytest.raises(InputError, match="full: cannot write: No space left on device"):
            complete(ask(*"abcdef"), server.endpoint(), log, rules=rules)
    assert len(server.asked) <= 4


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_says_where_it_leads(code: int) -> None:
    with scripted(lambda prompt, times: said("Answer: B")) as stranger:

        def send_on(prompt: str, times: int) -> Served:
            return Served("", code, {"Location": f"{stranger.url}/chat/completions"})

        with scripted(send_on) as server:
            (reply,) = complete(ask("a secret question"), server.endpoint(), ReplyLog(), rules=QUICK)
            assert len(server.asked) == 1
        assert stranger.asked == []
    assert reply.status == "bad_request"
    assert reply.error == (
        f"redirects to {stranger.url}/chat/completions; prompts are sent nowhere else: "
        "give that address if it is right"
    )


def test_half_a_surrogate_pair_in_a_reply_is_replaced(tmp_path: Path) -> None:
    log = ReplyLog(tmp_path / "log.jsonl")
    with scripted(lambda prompt, times: said("Answer: B \ud83d", reasoning_content="\udc00")) as server:
        (reply,) = complete(ask("x"), server.endpoint(), log, rules=QUICK)
    assert (reply.text, reply.reasoning, reply.status) == ("Answer: B \ufffd", "\ufffd", "ok")
    assert ReplyLog(tmp_path / "log.jsonl").find(reply.key) == reply


def test_a_document_nested_too_deep_is_no_completion() -> None:
    reply = read_completion("k", b'{"choices":' + b"[" * 100_000)
    assert reply.status == "server_error"
