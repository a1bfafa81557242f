"""Where work runs: on threads of this process, or, by the same interface, on a Ray cluster.

Work is cut into parts whose results do not depend on where or in which order they are made;
an engine only decides where. What is started again after a loss runs twice, so a part must be
safe to run twice and must take all it needs from its arguments and from files.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from kina_build.config import EngineRules

T = TypeVar("T")
R = TypeVar("R")


class Keepers(Protocol):
    """Objects that stay where work runs, numbered from 0."""

    def __len__(self) -> int: ...

    def ask(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Call a method of some objects, side by side; return their answers by number.

        A lost object is built anew from its part and asked again: its answers may depend on
        the part and the arguments only, whatever it remembers to be quicker.
        """


class Engine(Protocol):
    """Run parts of work somewhere."""

    name: str
    workers: int
    """Parts that run side by side."""

    def map(self, work: Callable[[T], R], parts: Iterable[T]) -> Iterator[R]:
        """Yield the result of every part, in the order of the parts.

        Parts are taken as there is room for them, a few more than run: neither the parts nor
        the results ever wait in memory all at once.
        """

    def share(self, value: Any) -> Any:
        """Return what to pass as an argument of `ask` in place of a large value used many times."""

    def keep(self, build: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> Keepers:
        """Build one object a part, build(*part), where work runs."""


@contextmanager
def open_engine(rules: EngineRules = EngineRules()) -> Iterator[Engine]:
    """Open the engine that the settings name, and close it.

    Raises:
        ConfigError: Ray is not installed, or the cluster cannot be reached.
        KinaError: the cluster was lost.
    """
    if rules.kind == "ray":
        from kina_build.engine.cluster import ray_session

        with ray_session(rules) as engine:
            yield engine
    else:
        with ThreadPoolExecutor(max_workers=count_workers(rules)) as pool:
            yield LocalEngine(pool, count_workers(rules))


def count_workers(rules: EngineRules) -> int:
    """Return how many parts run side by side: as the settings say, else one a core."""
    return rules.workers or os.cpu_count() or 1


class LocalEngine:
    """Threads of this process: the work itself is in numpy and compiled code, which let go of the lock."""

    name = "local"

    def __init__(self, pool: ThreadPoolExecutor, workers: int) -> None:
        self.workers = workers
        self._pool = pool

    def map(self, work: Callable[[T], R], parts: Iterable[T]) -> Iterator[R]:
        """Run the parts on the threads."""
        pending: deque[Future[R]] = deque()
        try:
            for part in parts:
                if len(pending) > self.workers:
                    yield pending.popleft().result()
                pending.append(self._pool.submit(work, part))
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()

    def share(self, value: Any) -> Any:
        """Return the value: threads see the same memory."""
        return value

    def keep(self, build: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> Keepers:
        """Build the objects here."""
        return _LocalKeepers([build(*part) for part in parts], self._pool)


class _LocalKeepers:
    def __init__(self, kept: Sequence[Any], pool: ThreadPoolExecutor) -> None:
        self._kept = kept
        self._pool = pool

    def __len__(self) -> int:
        return len(self._kept)

    def ask(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        if len(arguments) == 1:
            return {at: getattr(self._kept[at], method)(*given) for at, given in arguments.items()}
        asked = {
            at: self._pool.submit(getattr(self._kept[at], method), *given) for at, given in arguments.items()
        }
        return {at: future.result() for at, future in asked.items()}
