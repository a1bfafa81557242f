"""Calls spread over workers: nothing is paid twice, and the caps hold over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from kina_build.chat import ChatReply, ChatRequest, Meter, ReplyLog, complete, complete_batches
from kina_build.chat.batches import CallBatch, answer_batch, fold_batches
from kina_build.config import ChatRules, EngineRules
from kina_build.engine import Engine, open_engine
from kina_build.errors import UsageError
from tests import servers
from tests.servers import Served, said, scripted

QUICK = ChatRules(backoff_s=0.01, attempts=2, batch_calls=3, concurrency=4)


def ask(*texts: str) -> list[ChatRequest]:
    return [ChatRequest(model="m", messages=({"role": "user", "content": text},)) for text in texts]


@pytest.fixture
def engine() -> Iterator[Engine]:
    with open_engine(EngineRules(workers=2)) as opened:
        yield opened


class LosesFirst:
    """An engine whose first worker dies after two replies, and whose batch is then started anew."""

    workers = 1

    def map(self, work: Callable[[CallBatch], object], parts: Iterable[CallBatch]) -> Iterator[object]:
        for number, part in enumerate(parts):
            if number == 0:
                complete(part.requests[:2], part.endpoint, ReplyLog(part.path), rules=part.rules)
            yield work(part)


def test_batches_answer_as_one_process_does(tmp_path: Path, engine: Engine) -> None:
    def by_text(prompt: str, _times: int) -> Served:
        return servers.BAD_REQUEST if prompt == "bad" else said(prompt.upper())

    requests = ask(*"abcdefgh", "bad", "a")
    seen: list[tuple[int, int]] = []
    meter = Meter()
    with scripted(by_text) as server:
        spread = complete_batches(
            requests, server.endpoint(), ReplyLog(tmp_path / "log.jsonl"), engine=engine, rules=QUICK,
            meter=meter, on_progress=lambda done, total: seen.append((done, total)),
        )  # fmt: skip
        assert (len(server.asked), meter.calls) == (9, 9)
        assert server.most_open <= QUICK.concurrency
        alone = complete(requests, server.endpoint(), ReplyLog(), rules=QUICK)
    untimed = {"time_s": None}
    assert [one.model_copy(update=untimed) for one in spread] == [
        one.model_copy(update=untimed) for one in alone
    ]
    assert seen == [(0, 9), (3, 9), (6, 9), (9, 9)]
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]


def test_what_the_log_answers_is_not_asked_again(tmp_path: Path, engine: Engine) -> None:
    path = tmp_path / "log.jsonl"
    with scripted(lambda prompt, _times: said(prompt)) as server:
        complete(ask(*"abc"), server.endpoint(), ReplyLog(path), rules=QUICK)
        complete_batches(ask(*"abcd"), server.endpoint(), ReplyLog(path), engine=engine, rules=QUICK)
        complete(ask(*"abcd"), server.endpoint(), ReplyLog(path), rules=QUICK)
    assert max(server.prompts.values()) == 1
    assert len(ReplyLog(path)) == 4


def test_a_batch_started_anew_asks_only_what_the_lost_worker_did_not(tmp_path: Path) -> None:
    meter = Meter()
    with scripted(lambda prompt, _times: said(prompt)) as server:
        replies = complete_batches(
            ask(*"abcd"), server.endpoint(), ReplyLog(tmp_path / "log.jsonl"), engine=LosesFirst(),
            rules=QUICK, meter=meter,
        )  # fmt: skip
    assert [reply.text for reply in replies] == list("abcd")
    assert max(server.prompts.values()) == 1
    assert meter.calls == 4


def test_a_lost_driver_finds_what_its_workers_kept(tmp_path: Path, engine: Engine) -> None:
    log = ReplyLog(tmp_path / "log.jsonl")
    with scripted(lambda prompt, _times: said(prompt)) as server:
        batch = CallBatch(
            tuple(ask(*"ab")), server.endpoint(), tmp_path / "log.jsonl.batches/x.jsonl", rules=QUICK
        )
        assert len(answer_batch(batch).replies) == 2
        replies = complete_batches(ask(*"abc"), server.endpoint(), log, engine=engine, rules=QUICK)
    assert [reply.text for reply in replies] == list("abc")
    assert max(server.prompts.values()) == 1
    assert not (tmp_path / "log.jsonl.batches").exists()


def test_workers_are_told_where_files_lie_whatever_folder_they_start_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Path] = []

    class Notes:
        workers = 1

        def map(self, work: Callable[[CallBatch], object], parts: Iterable[CallBatch]) -> Iterator[object]:
            for part in parts:
                given.append(part.path)
                yield work(part)

    monkeypatch.chdir(tmp_path)
    with scripted(lambda prompt, _times: said(prompt)) as server:
        complete_batches(
            ask("a"), server.endpoint(), ReplyLog(Path("log.jsonl")), engine=Notes(), rules=QUICK
        )
    assert [path.parent for path in given] == [tmp_path / "log.jsonl.batches"]


def test_a_file_that_was_moved_but_not_deleted_is_not_moved_twice(tmp_path: Path) -> None:
    log = ReplyLog(tmp_path / "log.jsonl")
    left = ReplyLog(tmp_path / "log.jsonl.batches" / "x.jsonl")
    for one in (log, left):
        one.append(ChatReply(key="k", status="ok", text="x"))
    fold_batches(log)
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 1


def test_a_cap_on_calls_holds_over_all_batches_and_is_used_up(tmp_path: Path, engine: Engine) -> None:
    rules = QUICK.model_copy(update={"max_calls": 7})
    meter = Meter()
    with scripted(lambda prompt, _times: said(prompt)) as server:
        log = ReplyLog(tmp_path / "log.jsonl")
        letters = "abcdefghijkl"
        replies = complete_batches(
            ask(*letters), server.endpoint(), log, engine=engine, rules=rules, meter=meter
        )
    assert (len(server.asked), meter.calls, len(log)) == (7, 7, 7)
    assert sum(reply.status == "not_sent" for reply in replies) == 5
    assert {reply.error for reply in replies if reply.error} == {"the cap of 7 calls is reached"}


def test_a_batch_that_needs_more_than_its_share_gets_what_others_leave(
    tmp_path: Path, engine: Engine
) -> None:
    def at_second_try(prompt: str, times: int) -> Served:
        return said("x") if times or prompt > "c" else servers.SERVER_ERROR

    rules = QUICK.model_copy(update={"max_calls": 12})
    with scripted(at_second_try) as server:
        log = ReplyLog(tmp_path / "log.jsonl")
        replies = complete_batches(ask(*"abcdefghi"), server.endpoint(), log, engine=engine, rules=rules)
    # the first batch of three needs six calls, its share is four
    assert {reply.status for reply in replies} == {"ok"}
    assert len(server.asked) == 12


def test_what_failed_once_is_tried_again_with_the_calls_that_others_leave(
    tmp_path: Path, engine: Engine
) -> None:
    def b_at_second_try(prompt: str, times: int) -> Served:
        return said("x") if times or prompt != "b" else servers.SERVER_ERROR

    rules = QUICK.model_copy(update={"max_calls": 4, "batch_calls": 1})
    with scripted(b_at_second_try) as server:
        log = ReplyLog(tmp_path / "log.jsonl")
        replies = complete_batches(ask(*"abc"), server.endpoint(), log, engine=engine, rules=rules)
    # b's own share is one call
    assert {reply.status for reply in replies} == {"ok"}
    assert server.prompts == {"a": 1, "b": 2, "c": 1}


def test_a_cap_on_cost_stops_all_batches(tmp_path: Path, engine: Engine) -> None:
    rules = QUICK.model_copy(update={"prompt_price": 1e6, "max_cost": 30.0, "concurrency": 1})
    with scripted(lambda _prompt, _times: said("x")) as server:  # 7 a call
        log = ReplyLog(tmp_path / "log.jsonl")
        replies = complete_batches(
            ask(*map(str, range(60))), server.endpoint(), log, engine=engine, rules=rules
        )
    # each of the batches handed out may have one call open when the cap is reached
    assert 5 <= len(server.asked) <= 5 + engine.workers + 1
    assert "cost" in (replies[-1].error or "")


def test_no_batch_follows_a_refused_key(tmp_path: Path, engine: Engine) -> None:
    with scripted(lambda _prompt, _times: servers.UNAUTHORISED) as server:
        replies = complete_batches(
            ask(*map(str, range(60))),
            server.endpoint(),
            ReplyLog(tmp_path / "log.jsonl"),
            engine=engine,
            rules=QUICK,
        )
    assert len(server.asked) <= 2 * QUICK.concurrency
    assert {reply.status for reply in replies} == {"auth", "not_sent"}


def test_batches_need_a_file(engine: Engine) -> None:
    with (
        scripted(lambda _prompt, _times: said("x")) as server,
        pytest.raises(UsageError, match="on disk"),
    ):
        complete_batches(ask("a"), server.endpoint(), ReplyLog(), engine=engine)
