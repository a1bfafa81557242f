"""Ctrl-C and SIGTERM in the middle of a run: open calls are waited for, nothing new is asked."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kina_build.chat import ChatRequest, ReplyLog, complete
from kina_build.config import ChatRules
from tests import servers
from tests.servers import ScriptedEndpoint, Served, said, scripted

RULES = ChatRules(concurrency=2, drain_s=5.0)


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Take SIGINT as a terminal sends it, also where a shell started the tests with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ask(*texts: str) -> list[ChatRequest]:
    return [ChatRequest(model="m", messages=({"role": "user", "content": text},)) for text in texts]


def send(server: ScriptedEndpoint, *numbers: signal.Signals, open_calls: int = 2) -> None:
    """Send ourselves signals once some calls are open."""

    def wait_and_send() -> None:
        deadline = time.monotonic() + 20
        while server.open_calls < open_calls and time.monotonic() < deadline:
            time.sleep(0.005)
        for number in numbers:
            os.kill(os.getpid(), number)
            time.sleep(0.05)

    threading.Thread(target=wait_and_send, daemon=True).start()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_open_calls_are_answered_and_kept(tmp_path: Path, number: signal.Signals) -> None:
    log, before = ReplyLog(tmp_path / "log.jsonl"), signal.getsignal(number)
    with scripted(lambda prompt, _times: Served(said(prompt).body, delay_s=0.4)) as server:
        send(server, number)
        with pytest.raises(KeyboardInterrupt):
            complete(ask(*"abcdef"), server.endpoint(), log, rules=RULES)
    assert sorted(server.prompts) == ["a", "b"]
    assert len(ReplyLog(tmp_path / "log.jsonl")) == 2
    assert signal.getsignal(number) is before


def test_one_who_asks_twice_need_not_wait(tmp_path: Path) -> None:
    log = ReplyLog(tmp_path / "log.jsonl")
    start = time.monotonic()
    with scripted(lambda prompt, _times: Served(said(prompt).body, delay_s=2.0)) as server:
        send(server, signal.SIGINT, signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            complete(ask(*"ab"), server.endpoint(), log, rules=RULES)
        assert time.monotonic() - start < 2.0
    assert len(log) == 0


def test_calls_that_take_too_long_are_left(tmp_path: Path) -> None:
    start = time.monotonic()
    with scripted(lambda prompt, _times: Served(said(prompt).body, delay_s=2.0)) as server:
        send(server, signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            complete(
                ask(*"ab"),
                server.endpoint(),
                ReplyLog(),
                rules=RULES.model_copy(update={"drain_s": 0.1}),
            )
        assert time.monotonic() - start < 2.0


def test_nobody_waits_out_a_retry(tmp_path: Path) -> None:
    start = time.monotonic()
    slow = Served(servers.failed(429, retry_after="30").body, 429, {"retry-after": "30"}, delay_s=0.2)
    with scripted(lambda _prompt, _times: slow) as server:
        send(server, signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            complete(ask(*"abcd"), server.endpoint(), ReplyLog(), rules=RULES)
    assert time.monotonic() - start < 5.0
    assert len(server.asked) == 2


def test_without_time_to_drain_a_signal_means_what_it_always_means() -> None:
    with scripted(lambda prompt, _times: Served(said(prompt).body, delay_s=1.0)) as server:
        send(server, signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            complete(
                ask(*"ab"), server.endpoint(), ReplyLog(), rules=RULES.model_copy(update={"drain_s": 0.0})
            )
