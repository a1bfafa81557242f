"""The Batch API in OpenAI's form: upload all calls as one file, wait, collect the replies.

A batch is paid for once it is made. So before one is made, the file beside the log and then the
provider's own list are asked whether these very calls are under way already; a run that was
stopped goes on waiting where it was.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from kina_build.chat.client import Meter
from kina_build.chat.endpoint import Endpoint
from kina_build.chat.log import ReplyLog
from kina_build.chat.reading import is_filtered, read_completion, status_of_code
from kina_build.chat.records import ChatReply, ChatRequest, cost_of
from kina_build.config import ChatRules
from kina_build.errors import InputError, UsageError
from kina_build.progress import Progress, silent
from kina_build.rows.jsonl import read_document, write_document

if TYPE_CHECKING:
    from openai import OpenAI

POLL_S = 30.0
"""Seconds between two looks at a batch."""

URL: Literal["/v1/chat/completions"] = "/v1/chat/completions"
MARK = "kina_calls"
"""Name under which a batch carries the digest of its calls."""

OPEN = frozenset({"validating", "in_progress", "finalizing"})
ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
LISTED = 100
"""Batches of the provider's list that are looked through."""


class BatchState(BaseModel):
    """What is known of a batch that is under way: the file beside the log."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    batch_id: str
    calls: str
    """Digest of its calls."""


@dataclass(frozen=True)
class _Desk:
    """Where batches are made and looked after."""

    client: OpenAI
    state: Path
    poll_s: float
    on_progress: Progress


def complete_by_batch(
    requests: Sequence[ChatRequest],
    endpoint: Endpoint,
    log: ReplyLog,
    *,
    rules: ChatRules = ChatRules(),
    meter: Meter | None = None,
    on_progress: Progress = silent,
    poll_s: float = POLL_S,
) -> list[ChatReply]:
    """Get a reply to every request by one batch, asking only what the log does not answer.

    Args:
        requests: of one model.
        endpoint: a provider with the Batch API.
        log: on disk; the batch under way is noted beside it.
        rules: prices; the cap on calls.
        meter: told of calls and cost.
        on_progress: told of answered calls.
        poll_s: seconds between two looks.

    Returns:
        One reply a request, in their order; those that the batch left out are not sent.

    Raises:
        UsageError: the log is in memory, the cap on calls is below what is asked, or there is one on cost.
        InputError: the provider refuses the file or the batch.
    """
    if log.path is None:
        raise UsageError("a batch needs a log on disk")
    keys = [request.key for request in requests]
    waiting = {key: one for key, one in zip(keys, requests, strict=True) if log.find(key) is None}
    meter = meter or Meter()
    meter.reused += len(set(keys)) - len(waiting)
    failed: dict[str, ChatReply] = {}
    if waiting:
        _check_caps(len(waiting), rules)
        model = hashlib.sha256(requests[0].model.encode()).hexdigest()[:8]
        state = log.path.with_name(f"{log.path.name}.batch-{model}.json")
        with _client(endpoint) as client:
            replies = _carry_out(_Desk(client, state, poll_s, on_progress), waiting, rules)
        log.append(*replies)
        meter.calls += len(replies)
        meter.cost += cost_of(replies, rules)
        state.unlink(missing_ok=True)
        failed = {reply.key: reply for reply in replies if not reply.answered}
    return [
        log.find(key) or failed.get(key) or _left_out(key, "the batch holds no reply to it") for key in keys
    ]


def _check_caps(calls: int, rules: ChatRules) -> None:
    if rules.max_calls is not None and calls > rules.max_calls:
        raise UsageError(f"a batch of {calls} calls is above the cap of {rules.max_calls}")
    if rules.max_cost is not None:
        raise UsageError(
            "a batch cannot be stopped at [chat] max_cost: what it costs is known at its end",
            hint="see --dry-run for an estimate, and leave max_cost out",
        )


def _client(endpoint: Endpoint) -> OpenAI:
    from openai import DefaultHttpxClient, OpenAI

    return OpenAI(
        base_url=endpoint.base_url,
        api_key=endpoint.api_key or "none",
        http_client=DefaultHttpxClient(follow_redirects=False),
    )


def _carry_out(desk: _Desk, waiting: Mapping[str, ChatRequest], rules: ChatRules) -> list[ChatReply]:
    calls = hashlib.sha256("\n".join(sorted(waiting)).encode()).hexdigest()
    batch_id = _under_way(desk, calls) or _submit(desk, waiting, calls)
    write_document(desk.state, BatchState(batch_id=batch_id, calls=calls))
    batch = _wait(desk, batch_id)
    found = {reply.key: reply for reply in _collect(desk, batch)}
    why = f"the batch {batch_id} is {batch.status}" + (f": {_fault(batch)}" if _fault(batch) else "")
    return [found.get(key) or _left_out(key, why) for key in waiting]


def _left_out(key: str, why: str) -> ChatReply:
    return ChatReply(key=key, status="not_sent", error=why)


def _under_way(desk: _Desk, calls: str) -> str | None:
    """Return the batch that holds these very calls, where one was made and did not fail."""
    if desk.state.exists():
        state = read_document(desk.state, BatchState)
        if state.calls != calls:
            raise InputError(
                f"{desk.state}: a batch with other calls is under way",
                hint="run it to its end with the options it was begun with, or delete the file to give it up",
            )
        return state.batch_id
    listed = _asked(lambda: desk.client.batches.list(limit=LISTED), "list its batches")
    for one in listed.data:
        if (one.metadata or {}).get(MARK) == calls and (one.status in OPEN or _has_answers(one)):
            return str(one.id)
    return None


def _has_answers(batch: Any) -> bool:
    """Tell whether a batch came to its end with an answer: one whose calls all failed is made again."""
    counts = batch.request_counts
    return batch.status == "completed" and counts is not None and counts.completed > 0


def _submit(desk: _Desk, waiting: Mapping[str, ChatRequest], calls: str) -> str:
    lines = "".join(_line(key, request) + "\n" for key, request in waiting.items())
    upload = (f"{calls[:12]}.jsonl", lines.encode("utf-8", "surrogatepass"))
    file = _asked(lambda: desk.client.files.create(file=upload, purpose="batch"), "take the file of calls")
    batch = _asked(
        lambda: desk.client.batches.create(
            input_file_id=file.id, endpoint=URL, completion_window="24h", metadata={MARK: calls}
        ),
        "make the batch",
    )
    return str(batch.id)


def _line(key: str, request: ChatRequest) -> str:
    body = {"model": request.model, "messages": list(request.messages), **request.params}
    return json.dumps({"custom_id": key, "method": "POST", "url": URL, "body": body}, ensure_ascii=False)


def _asked(call: Callable[[], Any], what: str) -> Any:
    """Make one call to the provider; what it refuses is one line."""
    from openai import OpenAIError

    try:
        return call()
    except OpenAIError as error:
        raise InputError(
            f"the endpoint does not {what}: {error}",
            hint="without --batch every endpoint will do; run again to go on with a batch that was made",
        ) from None


def _wait(desk: _Desk, batch_id: str) -> Any:
    while True:
        batch = _asked(lambda: desk.client.batches.retrieve(batch_id), f"know the batch {batch_id}")
        counts = batch.request_counts
        if counts is not None:
            desk.on_progress(counts.completed + counts.failed, counts.total)
        if batch.status in ENDED:
            return batch
        time.sleep(desk.poll_s)


def _fault(batch: Any) -> str:
    errors = getattr(batch.errors, "data", None) or []
    return str(errors[0].message) if errors else ""


def _collect(desk: _Desk, batch: Any) -> Iterator[ChatReply]:
    for file_id in (batch.output_file_id, batch.error_file_id):
        if file_id:
            content = _asked(partial(desk.client.files.content, file_id), "give the replies")
            for line in content.text.split("\n"):
                if line.strip():
                    yield _reply(line)


def _reply(line: str) -> ChatReply:
    """Turn one line of a batch's output into a reply.

    Raises:
        InputError: a line that is none.
    """
    try:
        row = json.loads(line)
        key, response, error = str(row["custom_id"]), row.get("response") or {}, row.get("error")
        code, body = response.get("status_code"), response.get("body")
    except (ValueError, LookupError, TypeError, AttributeError):
        raise InputError(f"the batch's output holds a line that is no reply: {line[:60]!r}") from None
    if code == 200:
        return read_completion(key, json.dumps(body).encode())
    inside = error or (body.get("error") if isinstance(body, dict) else None)
    status = "refused" if is_filtered(inside) else status_of_code(code)
    told = inside.get("message") if isinstance(inside, dict) else inside
    return ChatReply(key=key, status=status, error=str(told or f"status {code}")[:300])
