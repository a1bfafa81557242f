"""Many calls spread over the workers of an engine, none of them paid for twice.

The requests that the log does not answer are cut into batches with no request in common.
Whoever answers a batch keeps its replies in a file of its own, named by the batch's content,
in a folder beside the log that all workers must see. A batch that is started anew reads that
file first. The driver moves finished files into the log, and after a crash all it finds.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from kina_build.chat.client import Meter, complete
from kina_build.chat.endpoint import Endpoint
from kina_build.chat.log import ReplyLog
from kina_build.chat.records import ChatReply, ChatRequest, cost_of
from kina_build.config import ChatRules
from kina_build.errors import UsageError
from kina_build.progress import NOBODY, Progress, silent

T = TypeVar("T")
R = TypeVar("R")


class Workers(Protocol):
    """Where batches run: an engine."""

    @property
    def workers(self) -> int:
        """Tell how many batches run side by side."""

    def map(self, work: Callable[[T], R], parts: Iterable[T]) -> Iterator[R]:
        """Yield the result of every part, in their order; parts are taken as there is room."""


@dataclass(frozen=True)
class CallBatch:
    """What one worker answers."""

    requests: tuple[ChatRequest, ...]
    endpoint: Endpoint
    path: Path
    rules: ChatRules
    """With this batch's share of the calls that may be open, be made, and of the cost."""


@dataclass(frozen=True)
class BatchReplies:
    """What one worker hands back."""

    replies: tuple[ChatReply, ...]
    meter: Meter
    path: Path


def complete_batches(
    requests: Sequence[ChatRequest],
    endpoint: Endpoint,
    log: ReplyLog,
    *,
    engine: Workers,
    rules: ChatRules = ChatRules(),
    meter: Meter | None = None,
    on_progress: Progress = silent,
) -> list[ChatReply]:
    """Get a reply to every request, as `complete` does, by the workers of an engine.

    Each batch may have its share of `rules.concurrency` open, at least one. The caps are
    shared out over the batches by size; what a batch does not use goes to later ones, and a
    batch that ran short is taken up again while a cap leaves anything. `max_cost` may be
    passed by the calls that are open when it is reached, in all batches handed out.

    Raises:
        UsageError: the log is in memory.
        InputError: the log or a batch's file cannot be read or written.
    """
    if log.path is None:
        raise UsageError("batches need a log on disk")
    folder = fold_batches(log)
    keys = [request.key for request in requests]
    wanted = dict(zip(keys, requests, strict=True))
    waiting = {key: request for key, request in wanted.items() if log.find(key) is None}
    meter = meter or Meter()
    meter.reused += len(wanted) - len(waiting)
    spread = _Spread(endpoint, log, engine, rules, meter, folder, waiting, len(wanted))
    on_progress(len(wanted) - len(waiting), len(wanted))
    while waiting and spread.is_open():
        spread.hand_out(on_progress)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
    return [_reply(log.find(key) or spread.failed.get(key), key, spread.closed) for key in keys]


def _reply(found: ChatReply | None, key: str, closed: str) -> ChatReply:
    return found or ChatReply(key=key, status="not_sent", error=closed)


def fold_batches(log: ReplyLog) -> Path:
    """Move the replies in the files of unfinished batches into the log; return their folder.

    Raises:
        InputError: a file cannot be read, or the log cannot be written.
    """
    # workers elsewhere have a folder of their own to start from
    path = (log.path or Path()).absolute()
    folder = path.with_name(path.name + ".batches")
    for file in sorted(folder.glob("*.jsonl")):
        log.append(*(reply for reply in ReplyLog(file) if log.find(reply.key) is None))
        file.unlink(missing_ok=True)
    return folder


def answer_batch(batch: CallBatch) -> BatchReplies:
    """Answer a batch; what an earlier worker answered before it was lost is not asked again."""
    log = ReplyLog(batch.path)
    meter = Meter(len(log), cost_of(list(log), batch.rules))
    replies = complete(batch.requests, batch.endpoint, log, rules=batch.rules, meter=meter)
    return BatchReplies(tuple(replies), meter, batch.path)


@dataclass
class _Spread:
    """One call of `complete_batches`: what waits, what is handed out, what is used up."""

    endpoint: Endpoint
    log: ReplyLog
    engine: Workers
    rules: ChatRules
    meter: Meter
    folder: Path
    waiting: dict[str, ChatRequest]
    total: int
    failed: dict[str, ChatReply] = field(default_factory=dict)
    handed: dict[Path, ChatRules] = field(default_factory=dict)
    """The shares of the batches that have not come back."""
    closed: str = ""
    """Why no further call is made, once that is so."""

    def hand_out(self, on_progress: Progress) -> None:
        """Hand out once all that waits; what a batch's share did not suffice for waits on."""
        for done in self.engine.map(answer_batch, self._batches(list(self.waiting))):
            del self.handed[done.path]
            self.meter.calls += done.meter.calls
            self.meter.cost += done.meter.cost
            self._keep(done)
            on_progress(self.total - len(self.waiting), self.total)

    def is_open(self) -> bool:
        """Tell whether the caps and the endpoint allow for further calls."""
        rules, meter = self.rules, self.meter
        if rules.max_calls is not None and meter.calls >= rules.max_calls:
            self.closed = self.closed or f"the cap of {rules.max_calls} calls is reached"
        if rules.max_cost is not None and meter.cost >= rules.max_cost:
            self.closed = self.closed or f"the cap of {rules.max_cost} on cost is reached"
        return not self.closed

    def _batches(self, keys: Sequence[str]) -> Iterator[CallBatch]:
        for start in range(0, len(keys), self.rules.batch_calls):
            part = keys[start : start + self.rules.batch_calls]
            rules = self._share(len(part) / (len(keys) - start))
            if not self.is_open() or rules.max_calls == 0 or rules.max_cost == 0:
                continue
            name = hashlib.sha256("\n".join(part).encode()).hexdigest()
            path = self.folder / f"{name}.jsonl"
            self.handed[path] = rules
            yield CallBatch(tuple(self.waiting[key] for key in part), self.endpoint, path, rules)

    def _share(self, share: float) -> ChatRules:
        """Cut a share from what is neither used up nor handed out."""
        calls, cost = self.rules.max_calls, self.rules.max_cost
        if calls is not None:
            left = calls - self.meter.calls - sum(rules.max_calls or 0 for rules in self.handed.values())
            calls = max(0, min(left, math.ceil(left * share)))
        if cost is not None:
            left_cost = cost - self.meter.cost - sum(rules.max_cost or 0 for rules in self.handed.values())
            cost = max(0.0, left_cost * share)
        open_calls = max(1, self.rules.concurrency // self.engine.workers)
        # a worker that is told to go leaves its batch to the next one
        shared = {"max_calls": calls, "max_cost": cost, "concurrency": open_calls, "drain_s": 0.0}
        return self.rules.model_copy(update=shared)

    def _keep(self, done: BatchReplies) -> None:
        """Move a finished batch's replies into the log, and its file out of the way."""
        kept = [reply for reply in done.replies if reply.status != "not_sent"]
        self.log.append(*kept)
        done.path.unlink(missing_ok=True)
        for reply in kept:
            if not reply.answered:
                self.failed[reply.key] = reply
            if reply.key not in done.meter.cut_short:
                del self.waiting[reply.key]
            if reply.status == "auth":
                self.closed = "the endpoint refused the key"


def open_log(path: Path | None, *, fresh: bool = False, say: Callable[[str], None] = NOBODY.say) -> ReplyLog:
    """Open a log of replies, those of batches left over included.

    Args:
        path: of the log; None keeps replies in memory.
        fresh: serve none of the replies that are there.
        say: told of replies that cannot be checked.

    Raises:
        InputError: a file that cannot be read, or a line that was changed since it was written.
    """
    log = ReplyLog(path)
    if path is not None:
        fold_batches(log)
    if log.unsigned and not fresh:
        say(f"{path}: {log.unsigned} replies carry no digest (an older version kept them): unchecked")
    if fresh:
        log.set_aside()
    return log
