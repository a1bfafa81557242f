"""kill -9 at random moments, and two processes at once: the ledger is as before or as after."""

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
from pathlib import Path

import pytest

from kina_review.pay.book.ledger import open_ledger
from kina_review.pay.payees import book_path, read_book
from kina_review.pay.payments import read_payments

ITEMS = 60
DUE = ITEMS * 900
"""Two bases of 2.00 and one bonus of 5.00 an item."""

NURSERY = """
import os, sys
from pathlib import Path
from kina_review.pay.book.ledger import open_ledger
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

for line in sys.stdin:
    word, *rest = line.rstrip("\\n").split("\\t")
    if word == "go":
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                work(Path(rest[0]), rest[1], int(rest[2]))
                status = 0
            finally:
                os._exit(status)
        print(pid, flush=True)
    else:
        print(os.waitstatus_to_exitcode(os.waitpid(int(rest[0]), 0)[1]), flush=True)
"""

ROOT = Path(__file__).resolve().parents[2]


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

    def ask(self, *words: object) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def start(self, path: Path, act: str, items: int = ITEMS) -> int:
        return self.ask("go", path, act, items)

    def wait(self, pid: int) -> int:
        return self.ask("wait", pid)


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    assert nursery.process.stdin is not None
    assert nursery.process.stdout is not None
    nursery.process.stdin.close()
    nursery.process.wait(timeout=60)
    nursery.process.stdout.close()


def balance(path: Path) -> tuple[int, int]:
    """Return what is owed and what is planned, after verifying the chain."""
    with open_ledger(path) as ledger:
        ledger.verify()
        planned = sum(p.amount_minor for p in read_payments(ledger.entries("payment")).values())
        return sum(ledger.balances().values()), planned


def kill_and_restart(nursery: Nursery, folder: Path, kills: int, seed: int) -> int:
    """Kill workers at random moments, each on a fresh ledger; return how many were cut short."""
    rng = random.Random(seed)
    whole = min(time_one(nursery, folder / name) for name in ("first.db", "second.db"))
    cut = 0
    for n in range(kills):
        path = folder / f"{n}.db"
        worker = nursery.start(path, "settle+pay")
        time.sleep(rng.uniform(0, 0.9 * whole))
        # not waited for yet: the pid cannot belong to anybody else
        os.kill(worker, signal.SIGKILL)
        cut += nursery.wait(worker) == -signal.SIGKILL
        if path.exists() and has_tables(path):
            assert balance(path) in {(0, 0), (DUE, 0), (0, DUE)}
        assert nursery.wait(nursery.start(path, "settle+pay")) == 0
        assert balance(path) == (0, DUE)
        assert sorted(read_book(book_path(path)).payees.values()) == ["A", "B"]
    return cut


def time_one(nursery: Nursery, path: Path) -> float:
    begin = time.monotonic()
    assert nursery.wait(nursery.start(path, "settle+pay")) == 0
    return time.monotonic() - begin


def has_tables(path: Path) -> bool:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return bool(
            connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'entries'").fetchone()[0]
        )


@pytest.mark.timeout(200)
def test_kill_nine_at_random_moments(nursery: Nursery, tmp_path: Path) -> None:
    assert kill_and_restart(nursery, tmp_path, kills=12, seed=1) >= 3


@pytest.mark.live
@pytest.mark.timeout(1500)
def test_two_hundred_kills(nursery: Nursery, tmp_path: Path) -> None:
    assert kill_and_restart(nursery, tmp_path, kills=200, seed=2) >= 60


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
