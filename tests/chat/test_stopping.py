"""Ctrl-C and SIGTERM in the middle of a run: open calls are waited for, nothing new is asked.

Replies are held, so that the moment of a signal is a matter of order and not of time.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kina_build.chat import ChatReply, ChatRequest, ReplyLog, complete
from kina_build.chat.client import _Session
from kina_build.config import ChatRules
from tests import servers
from tests.servers import ScriptedEndpoint, Served, said, scripted

DAY_S = 86_400.0
RULES = ChatRules(concurrency=2, drain_s=DAY_S, timeout_s=DAY_S, max_wait_s=DAY_S)
"""Nothing of this ends by itself while a test runs."""


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Take SIGINT as a terminal sends it, also where a shell started the tests with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def held(prompt: str, _times: int) -> Served:
    return Served(said(prompt).body, held=True)


def ask(*texts: str) -> list[ChatRequest]:
    return [ChatRequest(model="m", messages=({"role": "user", "content": text},)) for text in texts]


def run(
    server: ScriptedEndpoint, number: signal.Signals, *texts: str, log: ReplyLog | None = None, **rules: float
) -> list[ChatReply]:
    """Ask two at once, and be sent a signal once two calls are open."""

    def wait_and_send() -> None:
        while server.open_calls < 2:
            if server.released.wait(0.005):
                return  # the test is over
        os.kill(os.getpid(), number)

    threading.Thread(target=wait_and_send, daemon=True).start()
    kept = ReplyLog() if log is None else log
    return complete(ask(*texts), server.endpoint(), kept, rules=RULES.model_copy(update=dict(rules)))


def once_stopped(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Act when the run has noticed its first signal."""
    stop = _Session._stop

    def stop_and_act(self: _Session) -> None:
        first = not self.stopped.is_set()
        stop(self)
        if first:
            act()

    monkeypatch.setattr(_Session, "_stop", stop_and_act)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_open_calls_are_answered_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    log, before = ReplyLog(tmp_path / "log.jsonl"), signal.getsignal(number)
    with scripted(held) as server:
        once_stopped(monkeypatch, server.released.set)
        with pytest.raises(KeyboardInterrupt):
            run(server, number, *"abcdef", log=log)
    assert sorted(server.prompts) == ["a", "b"]
    assert len(ReplyLog(tmp_path / "log.jsonl")) == 2
    assert signal.getsignal(number) is before


def test_one_who_asks_twice_need_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = ReplyLog(tmp_path / "log.jsonl")
    once_stopped(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGINT))
    with scripted(held) as server, pytest.raises(KeyboardInterrupt):
        run(server, signal.SIGINT, *"ab", log=log)
    assert len(log) == 0


def test_calls_that_take_too_long_are_left() -> None:
    log = ReplyLog()
    with scripted(held) as server, pytest.raises(KeyboardInterrupt):
        run(server, signal.SIGTERM, *"ab", log=log, drain_s=0.1)
    assert len(log) == 0


LIMITED = servers.failed(429, retry_after=str(DAY_S))


def test_nobody_begins_to_wait_for_a_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Served(LIMITED.body, LIMITED.code, LIMITED.headers, held=True)
    with scripted(lambda _prompt, _times: answer) as server:
        once_stopped(monkeypatch, server.released.set)
        with pytest.raises(KeyboardInterrupt):
            run(server, signal.SIGINT, *"abcd")
    assert len(server.asked) == 2


def test_nobody_waits_out_a_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    pause = _Session._pause
    pausing: list[float] = []

    async def pause_and_be_stopped(self: _Session, seconds: float) -> None:
        pausing.append(seconds)
        if len(pausing) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        await pause(self, seconds)

    monkeypatch.setattr(_Session, "_pause", pause_and_be_stopped)
    with scripted(lambda _prompt, _times: LIMITED) as server, pytest.raises(KeyboardInterrupt):
        complete(ask(*"abcd"), server.endpoint(), ReplyLog(), rules=RULES)
    assert (len(server.asked), pausing) == (2, [DAY_S, DAY_S])


def test_without_time_to_drain_a_signal_means_what_it_always_means() -> None:
    with scripted(held) as server, pytest.raises(KeyboardInterrupt):
        run(server, signal.SIGINT, *"ab", drain_s=0.0)
