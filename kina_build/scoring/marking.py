"""Mark the responses of many models, on as many processes as there are cores when it pays."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence

from kina_build.config import ScoringRules
from kina_build.progress import Progress, silent
from kina_build.scoring.multiple_choice import ItemScore, ModelReport, report_model, score_items
from kina_build.scoring.questions import Question
from kina_build.scoring.responses import Asked, Response

WORTH_A_PROCESS = 20_000
"""Responses below which starting processes costs more than it saves."""


def mark_models(
    models: Sequence[str],
    questions: Mapping[str, Question],
    responses: Sequence[Response],
    rules: ScoringRules = ScoringRules(),
    *,
    asked: Mapping[Asked, Question] | None = None,
    allow_partial: bool = False,
    on_progress: Progress = silent,
) -> tuple[list[ItemScore], list[ModelReport]]:
    """Mark every model; return all item scores and one report a model, both sorted by model."""
    own: dict[str, list[Response]] = defaultdict(list)
    for response in responses:
        own[response.model].append(response)
    shared = (questions, asked or {}, rules, allow_partial)
    marked = _mark_all([(model, own[model], *shared) for model in models], on_progress)
    return [row for scores, _ in marked for row in scores], [report for _, report in marked]


Work = tuple[str, Sequence[Response], Mapping[str, Question], Mapping[Asked, Question], ScoringRules, bool]
Marked = tuple[list[ItemScore], ModelReport]


def _mark_one(work: Work, on_progress: Progress = silent) -> Marked:
    model, responses, questions, asked, rules, allow_partial = work
    scores = score_items(questions, responses, on_progress, asked)
    return scores, report_model(model, questions, scores, responses, rules, allow_partial=allow_partial)


def _mark_all(works: Sequence[Work], on_progress: Progress) -> list[Marked]:
    total = sum(len(responses) for _, responses, *_ in works)
    workers = min(os.cpu_count() or 1, len(works))
    if total < WORTH_A_PROCESS or workers < 2:
        return [_mark_one(work, on_progress) for work in works]
    from concurrent.futures import ProcessPoolExecutor

    marked: list[Marked] = []
    done = 0
    with ProcessPoolExecutor(workers) as pool:
        for work, result in zip(works, pool.map(_mark_one, works), strict=True):
            marked.append(result)
            done += len(work[1])
            on_progress(done, total)
    return marked
