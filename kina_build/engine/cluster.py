"""Work on a Ray cluster, which starts again what a lost worker or node was doing. The only home of `ray`."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO, TypeVar, cast

from kina_build.config import EngineRules
from kina_build.engine.threads import Keepers, count_workers
from kina_build.errors import ConfigError, KinaError

KNOCK_S = 10.0
"""Seconds that a cluster has to take a connection."""

T = TypeVar("T")
R = TypeVar("R")


class RayEngine:
    """Tasks and actors of a Ray cluster."""

    name = "ray"

    def __init__(self, rules: EngineRules) -> None:
        import ray

        self.workers = rules.workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._ahead = rules.ahead
        self._task = ray.remote(max_retries=rules.retries)(_run)
        # no claim on a core: an actor of a lost node must find a place on the nodes that are left
        self._keeper = ray.remote(
            max_restarts=rules.retries,
            max_task_retries=rules.retries,
            num_cpus=0,
            scheduling_strategy="SPREAD",
        )(_Kept)

    def map(self, work: Callable[[T], R], parts: Iterable[T]) -> Iterator[R]:
        """Run the parts as tasks."""
        import ray

        pending: deque[Any] = deque()
        for part in parts:
            if len(pending) >= self.workers * self._ahead:
                with _told_plainly():
                    done = ray.get(pending.popleft())
                yield done
            pending.append(self._task.remote(work, part))
        while pending:
            with _told_plainly():
                done = ray.get(pending.popleft())
            yield done

    def share(self, value: Any) -> Any:
        """Put the value where every worker can read it."""
        import ray

        return ray.put(value)

    def keep(self, build: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> Keepers:
        """Build the objects as actors, spread over the nodes."""
        import ray

        return _RayKeepers([(self._keeper.remote(), ray.put((build, part))) for part in parts])


class _RayKeepers:
    def __init__(self, actors: Sequence[tuple[Any, Any]]) -> None:
        self._actors = actors

    def __len__(self) -> int:
        return len(self._actors)

    def ask(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        import ray

        asked = {}
        for at, given in arguments.items():
            actor, plan = self._actors[at]
            asked[at] = actor.ask.remote(plan, method, *given)
        with _told_plainly():
            return dict(zip(asked, ray.get(list(asked.values())), strict=True))


class _Kept:
    """An object that lives in an actor, built when it is first asked.

    Every question brings its plan: an actor of a lost node starts again without one.
    """

    def __init__(self) -> None:
        self._object: Any = None

    def ask(self, plan: tuple[Callable[..., Any], tuple[Any, ...]], method: str, *arguments: Any) -> Any:
        """Call a method of the object."""
        if self._object is None:
            build, part = plan
            self._object = build(*part)
        return getattr(self._object, method)(*arguments)


def _run(work: Callable[[Any], Any], part: Any) -> Any:
    return work(part)


@contextmanager
def ray_session(rules: EngineRules) -> Iterator[RayEngine]:
    """Join the cluster of RAY_ADDRESS, or start one on this machine, and leave it at the end.

    Raises:
        ConfigError: Ray is not installed, or the cluster cannot be reached.
    """
    try:
        # no usage report leaves this machine; no message is kept back to be printed at the end
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_DEDUP_LOGS", "0")
        import ray
    except ImportError:
        raise ConfigError("Ray is not installed", hint="pip install 'kina-build[ray]'") from None
    address = os.environ.get("RAY_ADDRESS")
    _check_reachable(address or "")
    local = {} if address else {"num_cpus": count_workers(rules), "include_dashboard": False}
    # "local": without it Ray joins whatever cluster somebody left on this machine
    try:
        ray.init(address=address or "local", log_to_driver=False, logging_level="ERROR", **local)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        where = f"at RAY_ADDRESS={address}" if address else "on this machine"
        raise ConfigError(f"no Ray cluster {where}: {_first_line(error)}") from None
    try:
        with redirect_stdout(cast("TextIO", _WithoutRay(sys.stdout))):
            yield RayEngine(rules)
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Knock at a cluster's door: Ray itself would try for minutes, and tell of each try.

    Raises:
        ConfigError: nobody listens there.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # "auto" and the like: Ray knows where to look
    try:
        socket.create_connection((host, int(port)), timeout=KNOCK_S).close()
    except OSError as error:
        raise ConfigError(
            f"no Ray cluster at RAY_ADDRESS={address}: {error.strerror or error}",
            hint="unset RAY_ADDRESS to start one on this machine",
        ) from None


class _WithoutRay:
    """Standard output less what Ray's own threads print there: it is for data.

    What they tell of lost workers stays in Ray's logs.
    """

    def __init__(self, out: Any) -> None:
        self._out = out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)

    def write(self, text: str) -> int:
        """Write, unless a thread of Ray does."""
        if threading.current_thread().name.startswith("ray_"):
            return len(text)
        return int(self._out.write(text))


@contextmanager
def _told_plainly() -> Iterator[None]:
    """Raise a part's own error as it was, and the loss of a cluster as one line."""
    from ray.exceptions import RayError, RayTaskError

    try:
        yield
    except RayTaskError as error:
        raise error.cause if isinstance(error.cause, KinaError) else error from None
    except RayError as error:
        raise KinaError(
            f"the Ray cluster gave up: {_first_line(error)}",
            hint="finished parts are kept: run the command again",
        ) from None


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
