from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator

import pytest

from kina_build.config import EngineRules
from kina_build.engine import Engine, open_engine
from kina_build.errors import ConfigError, InputError, KinaError, RowErrors, RowFault
from kina_build.selection.solver.shortage import Infeasible, Shortage


class Adder:
    def __init__(self, start: int) -> None:
        self.start = start

    def plus(self, step: int) -> int:
        return self.start + step


def square(number: int) -> int:
    if number == 7:
        raise InputError("seven", hint="leave it out")
    return number * number


@pytest.fixture
def engine() -> Iterator[Engine]:
    with open_engine(EngineRules(workers=2)) as opened:
        yield opened


def test_results_come_in_the_order_of_the_parts(engine: Engine) -> None:
    assert list(engine.map(square, [3, 1, 2])) == [9, 1, 4]
    assert list(engine.map(square, [])) == []


def test_parts_are_taken_only_as_there_is_room(engine: Engine) -> None:
    taken = []

    def parts() -> Iterator[int]:
        for part in range(100):
            taken.append(part)
            yield part if part < 7 else 0

    results = engine.map(square, parts())
    assert next(results) == 0
    assert len(taken) <= engine.workers + 2


def test_a_part_that_fails_says_so_in_its_own_words(engine: Engine) -> None:
    with pytest.raises(InputError, match="seven") as caught:
        list(engine.map(square, range(20)))
    assert caught.value.hint == "leave it out"


def test_kept_objects_answer_by_number(engine: Engine) -> None:
    kept = engine.keep(Adder, [(10,), (20,), (30,)])
    assert len(kept) == 3
    assert kept.ask("plus", {2: (1,), 0: (engine.share(5),)}) == {2: 31, 0: 15}
    assert kept.ask("plus", {}) == {}


def test_a_cluster_that_nobody_serves_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
    with pytest.raises(ConfigError, match=f"no Ray cluster at RAY_ADDRESS=127.0.0.1:{port}: ") as caught:
        open_engine(EngineRules(kind="ray")).__enter__()
    assert "unset RAY_ADDRESS" in caught.value.hint


def test_without_an_address_no_strangers_cluster_is_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    asked: list[str] = []

    def refuse(*, address: str, **_: object) -> None:
        asked.append(address)
        raise ConnectionError("none")

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(ConfigError, match="no Ray cluster on this machine: none"):
        open_engine(EngineRules(kind="ray")).__enter__()
    assert asked == ["local"]


@pytest.mark.parametrize(
    "error",
    [
        InputError("no", hint="so"),
        RowErrors([RowFault("pool.jsonl", 3, "bad")], hint="see"),
        Infeasible("too few", Shortage(1, {"a": 1}, {})),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_cross_between_processes_whole(error: KinaError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert back.__dict__ == error.__dict__
