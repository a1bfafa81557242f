"""The processes in which `kina build` runs stages side by side."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import TYPE_CHECKING

from kina_build.cli.projects.runner import InProcess
from kina_build.cli.supervised import PIPES

if TYPE_CHECKING:
    from kina_build.project.runner import Outcome

SERVE = "from kina_build.cli.projects.crew import serve; serve()"
END_S = 10.0
"""Seconds that an interrupted command has to end by itself."""


@dataclass(frozen=True)
class Worker:
    """One process that runs one command after another."""

    process: subprocess.Popen[bytes]
    pipe: Connection


@dataclass
class Processes:
    """A crew: a command that is alone is run in this process, several each in one of their own."""

    places: int
    runner: InProcess
    held: int
    """File descriptor that the processes inherit."""
    apart: bool = False
    """Run every command in a process of its own: on Ray, which ends a process whose cluster is lost."""
    waiting: list[tuple[str, Sequence[str]]] = field(default_factory=list)
    idle: list[Worker] = field(default_factory=list)
    busy: dict[str, Worker] = field(default_factory=dict)

    def start(self, name: str, argv: Sequence[str]) -> None:
        """Take a command; it begins when the next end is waited for."""
        self.waiting.append((name, argv))

    def wait(self) -> tuple[str, Outcome]:
        """Return the first command that ends, by its name."""
        if len(self.waiting) == 1 and not (self.busy or self.apart):
            name, argv = self.waiting.pop()
            return name, self.runner.run(argv)
        for name, argv in self.waiting:
            worker = self.busy[name] = self.idle.pop() if self.idle else self._hire()
            worker.pipe.send(list(argv))
        self.waiting.clear()
        (first, *_) = wait([worker.pipe for worker in self.busy.values()])
        name = next(name for name, worker in self.busy.items() if worker.pipe is first)
        return name, self._hear(self.busy.pop(name))

    def _hire(self) -> Worker:
        here, there = Pipe()
        environment = {key: value for key, value in os.environ.items() if key != PIPES}
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        process = subprocess.Popen(  # noqa: S603  our own module; -P: no module of the project's folder
            [sys.executable, "-P", "-c", SERVE, str(there.fileno())],
            env=environment,
            pass_fds=(there.fileno(), self.held),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is passed on once, by us
        )
        there.close()
        worker = Worker(process, here)
        here.send(self.runner)
        return worker

    def _hear(self, worker: Worker) -> Outcome:
        from kina_build.project.runner import Outcome

        try:
            found: Outcome = worker.pipe.recv()
        except (EOFError, OSError):
            code = worker.process.wait()
            ended = f"was killed (signal {-code})" if code < 0 else f"ended with exit code {code}"
            said = (f"error: its process {ended}", "hint: finished parts are kept: kina build goes on")
            return Outcome(2, {}, said)
        self.idle.append(worker)
        return found

    def close(self) -> None:
        """End the processes; what still runs is interrupted."""
        for worker in self.busy.values():
            worker.process.send_signal(signal.SIGINT)
        for worker in self.busy.values():
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(END_S)
        for worker in (*self.busy.values(), *self.idle):
            worker.pipe.close()  # this ends it
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(END_S)
            worker.process.kill()
            worker.process.wait()


@contextmanager
def gather_crew(runner: InProcess, places: int, held: int, *, apart: bool) -> Iterator[Processes]:
    """Gather a crew, and end its processes in the end.

    Args:
        runner: how a command is run in a process.
        places: commands that run side by side at most.
        held: file descriptor that the processes inherit.
        apart: run none in this process.
    """
    crew = Processes(places, runner, held, apart)
    try:
        yield crew
    finally:
        crew.close()


def serve() -> None:
    """Run the commands that come over a pipe, whose number is the first argument, until it closes."""
    pipe = Connection(int(sys.argv[1]))
    runner: InProcess = pipe.recv()
    lines: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, lines), daemon=True).start()
    with suppress(KeyboardInterrupt):
        while True:
            pipe.send(runner.run(lines.get()))


def _listen(pipe: Connection, lines: queue.SimpleQueue[list[str]]) -> None:
    """Pass on what comes; where the other end closes, nobody waits for what is done here."""
    while True:
        try:
            lines.put(pipe.recv())
        except (EOFError, OSError):
            os._exit(1)
