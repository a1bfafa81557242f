"""Damaged files against every command that reads them: python -m tests.soak.fuzz --cases 1000 --jobs 2."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tests.soak import counts, trial, world
from tests.soak.trial import HANG_S, Violation

MEMORY = 4 << 30
"""Bytes that a case may map beyond what the worker had."""
RECYCLED = 1_000
"""Cases after which a worker makes room for a new one."""
PATIENCE_S = 10 * HANG_S
"""Silence after which a worker is taken to hang in compiled code."""


@dataclass
class Worker:
    """A process that runs cases one by one, and the case it is at."""

    process: BaseProcess
    line: Connection
    case: int = -1
    since: float = 0.0
    done: int = 0

    def give(self, case: int) -> None:
        self.case, self.since = case, time.monotonic()
        self.line.send(case)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.line.close()


def run_cases(seed: int, cases: Sequence[int], jobs: int) -> Iterator[tuple[int, list[Violation]]]:
    """Run cases of a seed in processes; yield each with the laws that did not hold.

    A process that dies or hangs is a violation of its case, and is replaced.
    """
    with tempfile.TemporaryDirectory(prefix="kina-soak-world-") as folder:
        ready = Path(folder) / "world"
        world.build(ready)
        waiting = iter(cases)
        busy = [_start(ready, seed) for _ in range(min(jobs, len(cases)))]
        try:
            for worker in busy:
                _go_on(worker, waiting)
            while busy:
                for worker in _heard_or_lost(busy):
                    yield worker.case, _outcome(worker, seed)
                    busy.remove(worker)
                    following = _fresh(worker, ready, seed)
                    if _go_on(following, waiting):
                        busy.append(following)
                    else:
                        following.end()
        finally:
            for worker in busy:
                worker.end()


def _start(ready: Path, seed: int) -> Worker:
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_work, args=(ready, seed, theirs), daemon=True)
    process.start()
    theirs.close()
    return Worker(process, mine)


def _fresh(worker: Worker, ready: Path, seed: int) -> Worker:
    """Return the worker itself, or a new one where it died or has done enough."""
    if worker.process.is_alive() and worker.done < RECYCLED:
        return worker
    worker.end()
    return _start(ready, seed)


def _go_on(worker: Worker, waiting: Iterator[int]) -> bool:
    case = next(waiting, None)
    if case is None:
        return False
    worker.give(case)
    return True


def _heard_or_lost(busy: Sequence[Worker]) -> list[Worker]:
    while True:
        ready = wait([worker.line for worker in busy], timeout=1)
        late = time.monotonic() - PATIENCE_S
        found = [worker for worker in busy if worker.line in ready or worker.since < late]
        if found:
            return found


def _outcome(worker: Worker, seed: int) -> list[Violation]:
    try:
        if worker.line.poll():
            worker.done += 1
            return [Violation(**row) for row in worker.line.recv()]
        worker.process.kill()
        law = "ends in time"
    except EOFError:
        law = "does not kill its process"
    worker.process.join()
    return [Violation(law, f"exit {worker.process.exitcode}", seed, worker.case, "", "", "", "")]


def _work(ready: Path, seed: int, line: Connection) -> None:
    """Run the cases that come down the line until it is closed."""
    home = tempfile.mkdtemp(prefix="kina-soak-home-")
    os.environ.update(HOME=home, XDG_CACHE_HOME=home, COLUMNS="120", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    pairs = trial.plan(ready)
    trial.run(ready, pairs, seed, 0)  # what is loaded once does not count as a case's memory
    _limit_memory()
    while True:
        try:
            case = line.recv()
        except EOFError:
            return
        line.send([violation.record() for violation in trial.run(ready, pairs, seed, case)])


def _limit_memory() -> None:
    mapped = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))


def fuzz(seed: int, first: int, last: int, jobs: int = 2) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Run the cases from `first` up to `last`, not included."""
    for case, violations in run_cases(seed, range(first, last), jobs):
        yield case, [violation.record() for violation in violations]


def main(words: Sequence[str] | None = None) -> int:
    """Run on from where the last run of this seed stopped; exit 1 where a law did not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="run up to this many in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="cases to run again, by number: 17,23; counts nothing")
    parser.add_argument("--fresh", action="store_true", help="begin again at case 0")
    given = parser.parse_args(words)
    if given.only:
        chosen = [int(case) for case in given.only.split(",")]
        found = [row.record() for _, rows in run_cases(given.seed, chosen, given.jobs) for row in rows]
        print("\n".join(json.dumps(row, indent=1) for row in found))
        return 1 if found else 0
    return counts.go_on("fuzz", fuzz, given.seed, given.cases, given.jobs, fresh=given.fresh)


if __name__ == "__main__":
    sys.exit(main())
