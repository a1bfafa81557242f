"""Mark the responses of many models, on as many processes as there are cores when it pays."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence

from kina_build.config import ScoringRules
from kina_build.progress import Progress, silent
from kina_build.scoring.multiple_choice import ItemScore, ModelReport, report_model, score_items
from kina_build.scoring.questions import Question
from kina_build.scoring.responses import Response

WORTH_A_PROCESS = 20_000
"""Responses below which starting processes costs more than it saves."""


def mark_models(
    models: Sequence[str],
    questions: Mapping[str, Question],
    responses: Sequence[Response],
    rules: ScoringRules = ScoringRules(),
    *,
    allow_partial: bool = False,
    on_progress: Progress = silent,
) -> tuple[list[ItemScore], list[ModelReport]]:
    """Mark every model; return all item scores and one report a model, both sorted by model."""
    own: dict[str, list[Response]] = defaultdict(list)
    for response in responses:
        own[response.model].append(response)
    marked = _mark_all(models, questions, own, on_progress)
    scores = [row for model in models for row in marked[model]]
    reports = [
        report_model(model, questions, marked[model], own[model], rules, allow_partial=allow_partial)
        for model in models
    ]
    return scores, reports


def _mark_all(
    models: Sequence[str],
    questions: Mapping[str, Question],
    own: Mapping[str, list[Response]],
    on_progress: Progress,
) -> dict[str, list[ItemScore]]:
    total = sum(len(own[model]) for model in models)
    workers = min(os.cpu_count() or 1, len(models))
    if total < WORTH_A_PROCESS or workers < 2:
        return {model: score_items(questions, own[model], on_progress) for model in models}
    from concurrent.futures import ProcessPoolExecutor

    marked: dict[str, list[ItemScore]] = {}
    done = 0
    with ProcessPoolExecutor(workers) as pool:
        jobs = {model: pool.submit(score_items, questions, own[model]) for model in models}
        for model, job in jobs.items():
            marked[model] = job.result()
            done += len(own[model])
            on_progress(done, total)
    return marked
