"""Mark lists of names by rules, and then by a judge.

The judge is a model that sees each name no rule matched and the golds left over, and names one
of them or none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kina_build.chat import ChatReply, ChatRequest, Endpoint, Meter, ReplyLog, complete
from kina_build.config import ChatRules
from kina_build.errors import UsageError
from kina_build.progress import Progress, silent
from kina_build.rows.jsonl import write_records
from kina_build.scoring.lists.match import MATCHINGS, Matched, Quality, add_judged
from kina_build.scoring.lists.score import (
    FORM,
    Outcome,
    Seed,
    UniverseScores,
    match_replies,
    read_replies,
    read_seeds,
    sum_up,
)
from kina_build.scoring.options import ScoreOptions

JUDGE_PROMPT_VERSION = "universe-judge-1"

_VERDICT = re.compile(r"Answer:[\s*]*(\d{1,9}|none)", re.IGNORECASE)
"""Matches "Answer: **2" and "answer: none"."""

Question = tuple[int, int]
"""(place of the outcome, place of the prediction in it)."""


@dataclass(frozen=True)
class MarkedLists:
    """Scores of lists, by rules alone and with a judge's verdicts."""

    scores: UniverseScores
    by_rules: UniverseScores
    matching: str
    judge: str | None = None
    failed: int = 0
    """Judge's calls that brought no answer."""
    reused: int = 0
    """Judge's replies that the log held already."""

    @property
    def report(self) -> dict[str, Any]:
        """Return the document that `kina score --task universe --json` prints."""
        report = _report(self.scores) | {"task": "universe", "form": FORM, "matching": self.matching}
        report |= {"rule_only": _prf(self.by_rules.overall), "judge": self.judge}
        report |= {"judge_failures": self.failed}
        return report if self.judge is None else report | {"reused": {"replies": self.reused}}

    def write(self, path: Path) -> None:
        """Write one row a question."""
        write_records(path, self.report["per_question"])


def mark_lists(
    options: ScoreOptions,
    log: ReplyLog | None = None,
    *,
    rules: ChatRules = ChatRules(),
    on_progress: Progress = silent,
) -> MarkedLists:
    """Mark the lists that the options name, by rules and, where a judge is named, by it too.

    Args:
        options: checked; questions, replies, matching, judge.
        log: of the judge's replies; only what it does not answer is asked.
        rules: of the judge's calls.
        on_progress: told of the judge's calls.

    Raises:
        UsageError: no such matching.
        InputError, RowErrors: files that cannot be read; no endpoint for a judge that must be asked.
    """
    if options.matching not in MATCHINGS:
        raise UsageError(f"--matching {options.matching}: no such matching", hint=", ".join(MATCHINGS))
    outcomes, unanswered, ignored = match_replies(
        read_seeds(options.questions or Path()),
        read_replies(options.replies or Path()),
        options.matching,  # type: ignore[arg-type]
    )
    by_rules = sum_up(outcomes, unanswered, ignored)
    if options.judge is None:
        return MarkedLists(by_rules, by_rules, options.matching)
    meter = Meter()
    asked = ask_judge(outcomes, options.judge)
    received = _hear(list(asked.values()), ReplyLog() if log is None else log, rules, meter, on_progress)
    judged = apply_judge(outcomes, dict(zip(asked, received, strict=True)))
    scores = sum_up(judged, unanswered, ignored)
    failed = sum(not reply.answered for reply in received)
    return MarkedLists(scores, by_rules, options.matching, options.judge, failed, meter.reused)


def _hear(
    requests: Sequence[ChatRequest], log: ReplyLog, rules: ChatRules, meter: Meter, on_progress: Progress
) -> list[ChatReply]:
    if all(log.find(request.key) is not None for request in requests):
        endpoint = Endpoint("http://replayed.invalid")  # every answer is in the log
    else:
        endpoint = Endpoint.from_environment()
    return complete(requests, endpoint, log, rules=rules, meter=meter, on_progress=on_progress)


def _report(scores: UniverseScores) -> dict[str, Any]:
    return {
        "f1": scores.overall.f1,
        "precision": scores.overall.p,
        "recall": scores.overall.r,
        "micro": _prf(scores.micro),
        "languages": {name: _prf(row) for name, row in scores.by_language.items()},
        "domains": {name: _prf(row) for name, row in scores.by_domain.items()},
        "per_question": [
            {"id": seed.id, "language": seed.language, "domain": seed.domain, **_prf(seed.quality)}
            | {"samples": seed.samples, **_counts(seed.matched)}
            for seed in scores.seeds
        ],
        "statuses": dict(scores.statuses),
        "unparsed_rate": scores.unparsed_rate,
        "unanswered": list(scores.unanswered),
        "replies_without_question": scores.ignored,
    }


def _counts(samples: Sequence[Matched]) -> dict[str, int]:
    """Add up what the samples of one question name, its golds as often as there are samples."""
    return {
        "predicted": sum(len(one.predicted) for one in samples),
        "gold": sum(len(one.golds) for one in samples),
        "matched": sum(len(one.pairs) for one in samples),
        "repeats": sum(one.repeats for one in samples),
    }


def _prf(row: Quality) -> dict[str, float]:
    return {"f1": row.f1, "precision": row.p, "recall": row.r}


def ask_judge(outcomes: Sequence[Outcome], model: str) -> dict[Question, ChatRequest]:
    """Write a request for each unmatched prediction of a question with unmatched golds."""
    requests: dict[Question, ChatRequest] = {}
    for place, outcome in enumerate(outcomes):
        seed, matched = outcome.seed, outcome.matched
        said, golds = matched.unmatched
        for prediction in said if golds else ():
            text = _prompt(seed, matched.predicted[prediction], [matched.golds[gold][0] for gold in golds])
            requests[place, prediction] = ChatRequest(
                model=model, messages=({"role": "user", "content": text},), params={"temperature": 0}
            )
    return requests


def _prompt(seed: Seed, name: str, golds: Sequence[str]) -> str:
    lines = "\n".join(f"{number}. {gold}" for number, gold in enumerate(golds, start=1))
    return (
        f"Question: {seed.question or seed.id}\nA reply to it names: {name}\n\n"
        f"Which of these entries is the same thing, if any?\n{lines}\n\n"
        'End with one line: "Answer: " and the number of the entry, or "Answer: none".'
    )


def read_verdict(text: str, n_golds: int) -> int | None:
    """Return the 0-based entry a judge's reply names last; None for none or anything unreadable."""
    found = _VERDICT.findall(text)
    entries = {str(place + 1): place for place in range(n_golds)}
    return entries.get(found[-1].lstrip("0")) if found else None


def apply_judge(outcomes: Sequence[Outcome], replies: Mapping[Question, ChatReply]) -> list[Outcome]:
    """Add the judge's verdicts to the outcomes by rules."""
    verdicts: dict[int, dict[int, int]] = defaultdict(dict)
    for (place, prediction), reply in replies.items():
        golds = outcomes[place].matched.unmatched[1]
        entry = read_verdict(reply.text, len(golds)) if reply.answered else None
        if entry is not None:
            verdicts[place][prediction] = golds[entry]
    return [
        replace(outcome, matched=add_judged(outcome.matched, verdicts[place]))
        for place, outcome in enumerate(outcomes)
    ]
