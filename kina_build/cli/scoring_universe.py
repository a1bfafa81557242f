"""The bodies of `kina score --task universe`: lists against golds, and the stages of failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kina_build.cli import scoring_views
from kina_build.cli.command import Run
from kina_build.cli.scoring_tasks import need
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from kina_build.scoring.pairing import Quality
    from kina_build.scoring.lists import Matched, Outcome, UniverseScores
    from kina_build.scoring.lists.stages import ConditionScore


def universe(
    run: Run,
    questions: Path | None,
    replies: Path | None,
    matching: str,
    judge: str | None,
    judge_log: Path | None,
    output: Path | None,
) -> None:
    """Mark lists of names, by rules and, if asked, by a judge too."""
    from kina_build.jsonl import write_records
    from kina_build.scoring.lists import (
        FORM,
        MATCHINGS,
        match_replies,
        read_replies,
        read_seeds,
        sum_up,
    )

    need(questions=questions, replies=replies)
    if matching not in MATCHINGS:
        raise UsageError(f"--matching {matching}: no such matching", hint=", ".join(MATCHINGS))
    stage = run.stage(
        "score",
        inputs=[path for path in (questions, replies) if path],
        outputs=[output] if output else [],
        params={"task": "universe", "matching": matching, "judge": judge},
        show=scoring_views.show_universe,
        kept=[judge_log] if judge_log else [],
    )
    outcomes, unanswered, ignored = match_replies(
        read_seeds(questions or Path()),
        read_replies(replies or Path()),
        matching,  # type: ignore[arg-type]
    )
    by_rules = sum_up(outcomes, unanswered, ignored)
    scores, failed, reused = by_rules, 0, 0
    if judge is not None or judge_log is not None:
        outcomes, failed, reused = _judge(run, outcomes, judge, judge_log)
        scores = sum_up(outcomes, unanswered, ignored)
    report = _universe_report(scores) | {"task": "universe", "form": FORM, "matching": matching}
    report |= {"rule_only": _prf(by_rules.overall), "judge": judge, "judge_failures": failed}
    if judge is not None:
        report["reused"] = {"replies": reused}
    if output is not None:
        write_records(output, report["per_question"])
    stage.finish(report, exit_code=int(failed > 0))


def _judge(
    run: Run, outcomes: Sequence[Outcome], judge: str | None, judge_log: Path | None
) -> tuple[list[Outcome], int, int]:
    from kina_build.chat import Endpoint, Meter, complete
    from kina_build.cli.kept import open_log
    from kina_build.scoring.lists.judge import apply_judge, ask_judge

    need(judge=judge)
    log, meter = open_log(run, judge_log), Meter()
    asked = ask_judge(outcomes, judge or "")
    requests = list(asked.values())
    if all(log.find(request.key) is not None for request in requests):
        endpoint = Endpoint("http://replayed.invalid")  # every answer is in the log
    else:
        endpoint = Endpoint.from_environment()
    with run.console.progress("judging") as progress:
        rules = run.settings.chat
        received = complete(requests, endpoint, log, rules=rules, meter=meter, on_progress=progress)
    failed = sum(not reply.answered for reply in received)
    return apply_judge(outcomes, dict(zip(asked, received, strict=True))), failed, meter.reused


def _universe_report(scores: UniverseScores) -> dict[str, Any]:
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


def stages(run: Run, scored: Sequence[str], output: Path | None) -> None:
    """Compare a model's accuracy under the four conditions."""
    from kina_build.jsonl import write_records
    from kina_build.scoring.lists.stages import compare_conditions

    stage = run.stage(
        "score",
        inputs=[Path(given.partition("=")[2] or given) for given in scored],
        outputs=[output] if output else [],
        params={"task": "universe", "stages": [given.rpartition("=")[0] for given in scored]},
        show=scoring_views.show_stages,
    )
    compared = compare_conditions([row for given in scored for row in _read_condition(given)])
    models = [
        {"model": one.model, "items": one.items, "left_out": one.left_out}
        | {"accuracy": dict(one.accuracy)}
        | asdict(one.stages)
        for one in compared
    ]
    if output is not None:
        write_records(output, models)
    stage.finish({"task": "universe", "stages": models})


def _read_condition(given: str) -> list[ConditionScore]:
    """Read CONDITION=FILE, or a FILE whose rows name their condition themselves."""
    from kina_build.scoring.lists.stages import CONDITIONS, read_scores

    condition, parted, path = given.partition("=")
    if not parted:
        return read_scores(Path(given))
    if condition not in CONDITIONS:
        raise UsageError(f"--stages {given}: no such condition", hint=", ".join(CONDITIONS))
    return read_scores(Path(path), condition)
