"""Ask a model every question of a release, a pool or a file, and keep its raw replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kina_build.chat import ChatReply, Endpoint, Meter, ReplyLog, complete, cost_of, count_statuses
from kina_build.chat.batchapi import complete_by_batch
from kina_build.config import ChatRules, ScoringRules
from kina_build.items.model import Item
from kina_build.progress import Progress, silent
from kina_build.rows.jsonl import write_records
from kina_build.scoring.prompts import (
    PROMPT_VERSION,
)
from kina_build.scoring.questions import Question, as_questions
from kina_build.scoring.runs.calls import collect_responses, plan_calls
from kina_build.scoring.runs.planning import AnswerRow, Inquiry, call_params


@dataclass(frozen=True)
class Answers:
    """What a model replied, one row a call, and what the calls came to."""

    rows: Sequence[AnswerRow]
    report: Mapping[str, Any]
    """Calls, statuses, tokens and cost, as `kina run --json` prints them."""
    reused: int
    """Replies that the log held already."""

    def write(self, path: Path | str) -> None:
        """Write the rows as responses.jsonl."""
        write_records(path, self.rows)

    def __str__(self) -> str:
        """Say how many calls were answered."""
        return "{answered} of {calls} calls answered ({items} items)".format(**self.report)


def ask(
    questions: Iterable[Question | Item],
    model: str,
    *,
    endpoint: Endpoint | None = None,
    log: Path | ReplyLog | None = None,
    samples: int | None = None,
    params: Mapping[str, Any] | None = None,
    shuffle_seed: int | None = None,
    rules: ScoringRules = ScoringRules(),
    chat: ChatRules = ChatRules(),
    on_progress: Progress = silent,
) -> Answers:
    """Ask a model multiple-choice questions.

    Args:
        questions: items of a pool, or questions as read_release gives them.
        model: name the endpoint knows it by.
        endpoint: whom to ask; None reads OPENAI_BASE_URL and OPENAI_API_KEY.
        log: file that keeps each reply as it comes: what it answers is not asked again.
        samples: replies per question; None: [scoring] samples.
        params: sent with each call, beside max_tokens and temperature of `rules`.
        shuffle_seed: show the options of each item in a seeded order of its own.
        rules: samples, temperature, most tokens.
        chat: attempts, calls open at once, caps, prices.
        on_progress: told of calls.

    Raises:
        InputError: no endpoint, or a log that cannot be read.
    """
    asked = call_params(rules) | dict(params or {})
    count = samples or rules.samples
    calls = plan_calls(as_questions(questions), model, count, asked, shuffle_seed=shuffle_seed)
    inquiry = Inquiry(calls, collect_responses, PROMPT_VERSION, count, asked)
    opened = log if isinstance(log, ReplyLog) else ReplyLog(log)
    whom = endpoint or Endpoint.from_environment(None)
    return carry_out(inquiry, model, whom, opened, rules=chat, on_progress=on_progress)


def carry_out(
    inquiry: Inquiry,
    model: str,
    endpoint: Endpoint,
    log: ReplyLog,
    *,
    rules: ChatRules = ChatRules(),
    on_progress: Progress = silent,
    batch: bool = False,
) -> Answers:
    """Make the calls of a run that its log does not answer, and collect the rows.

    Args:
        inquiry: the calls.
        model: whom they ask, for the report.
        endpoint: where.
        log: of replies.
        rules: attempts, calls open at once, caps, prices.
        on_progress: told of calls.
        batch: make one batch of them, by the provider's Batch API.

    Raises:
        InputError: the log cannot be written, or the provider takes no batch.
    """
    meter = Meter()
    requests = [call.request for call in inquiry.calls]
    if inquiry.check is not None:
        inquiry.check(complete(requests[:1], endpoint, log, rules=rules, meter=meter)[0])
    replies = (complete_by_batch if batch else complete)(
        requests,
        endpoint,
        log,
        rules=rules,
        meter=meter,
        on_progress=on_progress,
    )
    failed = [reply for reply in replies if not reply.answered]
    report = {
        "model": model,
        "items": inquiry.items,
        "calls": len(inquiry.calls),
        "answered": len(inquiry.calls) - len(failed),
        "failed": len(failed),
        "statuses": count_statuses(replies),
        "first_error": failed[0].error if failed else None,
        "prompt_tokens": sum(reply.prompt_tokens for reply in replies),
        "completion_tokens": sum(reply.completion_tokens for reply in replies),
        "cost": cost_of(replies, rules),
        "torn_log_lines": log.torn,
        "served": _count_served(replies),
        "tool_calls": sum(reply.tool_calls is not None for reply in replies),
        "first_tool_call": next((reply.tool_calls for reply in replies if reply.tool_calls), None),
    }
    return Answers(inquiry.collect(inquiry.calls, replies), report, meter.reused)


def _count_served(replies: Sequence[ChatReply]) -> dict[str, int]:
    """Count replies by the model that the endpoint says has answered."""
    return dict(sorted(Counter(reply.served_model for reply in replies if reply.served_model).items()))


def put_together(parts: Sequence[Answers]) -> Answers:
    """Put the answers of several models into one; of one alone they stay as they are."""
    if len(parts) == 1:
        return parts[0]
    reports = [dict(part.report) for part in parts]
    summed = ("calls", "answered", "failed", "prompt_tokens", "completion_tokens", "cost", "tool_calls")
    statuses: Counter[str] = Counter()
    for report in reports:
        statuses.update(report["statuses"])
    total: dict[str, Any] = {name: sum(report[name] for report in reports) for name in summed}
    total |= {
        "model": ", ".join(report["model"] for report in reports),
        "items": max(report["items"] for report in reports),
        "statuses": dict(sorted(statuses.items())),
        "first_error": next((report["first_error"] for report in reports if report["first_error"]), None),
        "torn_log_lines": reports[0]["torn_log_lines"],
        "models": reports,
    }
    rows = [row for part in parts for row in part.rows]
    return Answers(rows, total, sum(part.reused for part in parts))
