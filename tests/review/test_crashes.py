"""kill -9 at random moments, and two processes at once: the ledger is as before or as after.

A moment is the number of a call, counted from the start of the work: a seed stands for the same
moments on any machine.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kina_review.pay.book.opening import open_ledger
from kina_review.pay.payees import book_path, read_book
from kina_review.pay.payments import read_payments

ITEMS = 60
DUE = ITEMS * 900
"""Two bases of 2.00 and one bonus of 5.00 an item."""

NURSERY = """
import os, signal, sys
from pathlib import Path
from kina_review.pay.book.opening import open_ledger
from kina_review.pay.payees import book_path, read_book
from kina_review.pay.plans import plan_into
from kina_review.pay.posting import post_to
from tests.review.stories import review, settled

def work(path, act, items):
    rows = [review(who, s, item=f"it-{n}") for n in range(items) for who, s in (("A", "18"), ("B", "15"))]
    done = settled(*rows)
    if "settle" in act:
        post_to(path, done)
    if "pay" in act:
        with open_ledger(path) as ledger:
            plan_into(ledger, read_book(book_path(path)).payees)

def watched(kill_at):
    # counts calls and returns, and dies at one of them
    seen = 0
    def count(frame, event, arg):
        nonlocal seen
        if seen == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1
    sys.setprofile(count)
    return lambda: seen

for line in sys.stdin:
    word, *rest = line.rstrip("\\n").split("\\t")
    if word == "go":
        told, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                count = watched(int(rest[3]))
                work(Path(rest[0]), rest[1], int(rest[2]))
                os.write(tell, b"%d" % count())
                status = 0
            finally:
                os._exit(status)
        os.close(tell)
        print(pid, told, flush=True)
    else:
        code = os.waitstatus_to_exitcode(os.waitpid(int(rest[0]), 0)[1])
        with open(int(rest[1]), "rb") as pipe:
            print(code, int(pipe.read() or 0), flush=True)
"""

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Worker:
    pid: int
    pipe: int
    """The number of the nursery's end of the pipe on which it tells how far it came."""


class Nursery:
    """A process that has imported everything and forks workers on demand."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", NURSERY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def ask(self, *words: object) -> tuple[int, int]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        one, two = map(int, self.process.stdout.readline().split())
        return one, two

    def start(self, path: Path, act: str, items: int = ITEMS, kill_at: int = -1) -> Worker:
        return Worker(*self.ask("go", path, act, items, kill_at))

    def wait(self, worker: Worker) -> int:
        return self.ask("wait", worker.pid, worker.pipe)[0]

    def count(self, worker: Worker) -> int:
        """Wait for a worker that ends well; return how many calls and returns it took."""
        code, calls = self.ask("wait", worker.pid, worker.pipe)
        assert code == 0
        return calls


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    assert nursery.process.stdin is not None
    assert nursery.process.stdout is not None
    nursery.process.stdin.close()
    nursery.process.wait()
    nursery.process.stdout.close()


def balance(path: Path) -> tuple[int, int]:
    """Return what is owed and what is planned, after verifying the chain."""
    with open_ledger(path) as ledger:
        ledger.verify()
        planned = sum(p.amount_minor for p in read_payments(ledger.entries("payment")).values())
        return sum(ledger.balances().values()), planned


def kill_and_restart(nursery: Nursery, folder: Path, kills: int, seed: int) -> None:
    """Kill workers at random calls, each on a fresh ledger."""
    rng = random.Random(seed)
    calls = nursery.count(nursery.start(folder / "whole.db", "settle+pay"))
    for n in range(kills):
        path = folder / f"{n}.db"
        # no two ledgers draw the same key, so that they may differ by a few calls
        worker = nursery.start(path, "settle+pay", kill_at=rng.randrange(int(0.9 * calls)))
        assert nursery.wait(worker) == -signal.SIGKILL
        check_and_restart(nursery, path)


def kill_by_the_clock(nursery: Nursery, folder: Path, kills: int, seed: int) -> None:
    """Kill workers at random times, also in the middle of what SQLite does; some have ended by then."""
    rng = random.Random(seed)
    begun = time.monotonic()
    nursery.count(nursery.start(folder / "whole.db", "settle+pay"))
    whole_s = time.monotonic() - begun
    for n in range(kills):
        worker = nursery.start(path := folder / f"{n}.db", "settle+pay")
        time.sleep(rng.uniform(0, whole_s))
        # not waited for yet: the pid cannot belong to anybody else
        os.kill(worker.pid, signal.SIGKILL)
        assert nursery.wait(worker) in {0, -signal.SIGKILL}
        check_and_restart(nursery, path)


def check_and_restart(nursery: Nursery, path: Path) -> None:
    if path.exists() and has_tables(path):
        assert balance(path) in {(0, 0), (DUE, 0), (0, DUE)}
    assert nursery.wait(nursery.start(path, "settle+pay")) == 0
    assert balance(path) == (0, DUE)
    assert sorted(read_book(book_path(path)).payees.values()) == ["A", "B"]


def has_tables(path: Path) -> bool:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return bool(
            connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'entries'").fetchone()[0]
        )


def test_kill_nine_at_random_moments(nursery: Nursery, tmp_path: Path) -> None:
    kill_and_restart(nursery, tmp_path, kills=12, seed=1)


@pytest.mark.live
@pytest.mark.timeout(1500)
def test_two_hundred_kills(nursery: Nursery, tmp_path: Path) -> None:
    for folder in (tmp_path / "calls", tmp_path / "clock"):
        folder.mkdir()
    kill_and_restart(nursery, tmp_path / "calls", kills=100, seed=2)
    kill_by_the_clock(nursery, tmp_path / "clock", kills=100, seed=3)


def test_two_processes_settling_at_once_post_every_line_once(nursery: Nursery, tmp_path: Path) -> None:
    path = tmp_path / "pay.db"
    workers = [nursery.start(path, "settle", 300) for _ in range(2)]
    assert [nursery.wait(worker) for worker in workers] == [0, 0]
    assert balance(path) == (300 * 900, 0)
    with open_ledger(path) as ledger:
        assert ledger.head().count == 1 + 300 * 5


def test_two_processes_planning_at_once_plan_one_batch(nursery: Nursery, tmp_path: Path) -> None:
    path = tmp_path / "pay.db"
    assert nursery.wait(nursery.start(path, "settle")) == 0
    workers = [nursery.start(path, "pay") for _ in range(2)]
    assert [nursery.wait(worker) for worker in workers] == [0, 0]
    assert balance(path) == (0, DUE)
