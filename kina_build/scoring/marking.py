"""Mark the responses of many models: whole files in, item scores and a report a model out."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from kina_build.config import ScoringRules
from kina_build.engine import map_in_processes
from kina_build.errors import UsageError
from kina_build.items.model import Item
from kina_build.progress import NOBODY, Progress, silent
from kina_build.rows.jsonl import read_document
from kina_build.scoring.estimator import estimate_rows, read_estimator
from kina_build.scoring.extractors import compare_rules
from kina_build.scoring.lettering import Forms, Lettering, find_forms, refuse_unproven
from kina_build.scoring.multiple_choice import ItemScore, score_items
from kina_build.scoring.options import ScoreOptions
from kina_build.scoring.public import OURS
from kina_build.scoring.questions import Question, as_questions, read_forms, read_items, read_release
from kina_build.scoring.reports import ModelReport, report_model
from kina_build.scoring.responses import Asked, Response, ResponseFile, read_responses, sift_responses
from kina_build.scoring.scores import Scores

WORTH_A_PROCESS = 20_000
"""Responses below which starting processes costs more than it saves."""


def score(
    responses: ResponseFile | Iterable[Response],
    questions: Iterable[Question | Item],
    *,
    stated: Mapping[str, Question] | None = None,
    rules: ScoringRules = ScoringRules(),
    allow_partial: bool = False,
    partial_credit: bool = False,
    on_progress: Progress = silent,
    source: str = "POOL",
) -> Scores:
    """Mark replies to multiple-choice questions.

    A letter means an option only together with an order of the options: a reply is matched to
    its form by its digests. One with none is read only in the order that `stated` gives.

    Args:
        responses: as read_responses gives them.
        questions: items of a pool, or questions as read_release gives them.
        stated: the forms, by item_id, that replies without a digest answer (read_forms).
        rules: the coverage floor.
        allow_partial: give a score below the floor too.
        partial_credit: of several right options a share counts too (multiple_choice.credit).
        on_progress: told of responses.
        source: what the hint of a refusal calls the questions.

    Raises:
        UsageError: replies without a digest while no order is stated.
        InputError: an id that stands twice, or a key that names no option.
    """
    files = [responses] if isinstance(responses, ResponseFile) else [ResponseFile(tuple(responses), (), 0)]
    asked = {question.item_id: question for question in as_questions(questions)}
    manner = _Manner(rules, allow_partial, on_progress, source, partial=partial_credit)
    return _score(files, asked, stated, manner)


def score_files(
    options: ScoreOptions,
    rules: ScoringRules = ScoringRules(),
    *,
    say: Callable[[str], None] = NOBODY.say,
    on_progress: Progress = silent,
) -> Scores:
    """Mark the files that the options name, against a release, a pool, or what they carry themselves.

    Args:
        options: checked.
        rules: the coverage floor.
        say: told of replies that are left out.
        on_progress: told of responses.

    Raises:
        UsageError: no questions, or replies that do not say which order of the options they answer.
        InputError, RowErrors: files that cannot be read.
    """
    files = [read_responses(path) for path in options.responses]
    if options.release is not None:
        listed = read_release(options.release, options.split, options.answers)
    elif options.items is not None:
        listed = read_items(options.items)
    else:
        listed = [question for file in files for question in file.questions]
        if not listed:
            raise UsageError("give --release or --items", hint="or a results file of the public KINA runner")
    questions = {question.item_id: question for question in listed}
    stated = read_forms(options.letters_of) if options.letters_of is not None else None
    source = (options.items or options.release or Path("POOL")).name
    manner = _Manner(
        rules,
        options.allow_partial,
        on_progress,
        source,
        say,
        options.extractor,
        options.all_extractors,
        options.partial_credit,
    )
    scores = _score(files, questions, stated, manner)
    if options.estimate is not None:
        scores = replace(scores, estimates=estimate_rows(read_estimator(options.estimate), scores.rows))
    return scores if options.release is None else _stamp(scores, options.release)


class _Stamp(BaseModel):
    """What says which release it is."""

    model_config = ConfigDict(extra="ignore")

    version: str | None = None
    content_hash: str | None = None


def _stamp(scores: Scores, release: Path) -> Scores:
    """Add the version of the release, where it has a manifest."""
    if not (release / "release.json").exists():
        return scores
    stamp = read_document(release / "release.json", _Stamp)
    return replace(scores, dataset=stamp.model_dump())


@dataclass(frozen=True)
class _Manner:
    """How replies are marked, and who hears of it."""

    rules: ScoringRules
    allow_partial: bool
    on_progress: Progress
    source: str
    say: Callable[[str], None] = NOBODY.say
    extractor: str = OURS
    side_by_side: bool = False
    partial: bool = False


def _score(
    files: Sequence[ResponseFile],
    questions: Mapping[str, Question],
    stated: Mapping[str, Question] | None,
    manner: _Manner,
) -> Scores:
    several = sum(question.several for question in questions.values())
    if several and (manner.side_by_side or manner.extractor != OURS):
        raise UsageError(
            f"{several} questions have several right answers, and public rules read one letter a reply",
            hint="leave out --extractor and --all-extractors, or those questions",
        )
    rows = [response for file in files for response in file.responses]
    lettering = find_forms((one.asked for one in rows if one.answered), Forms(questions, stated=stated))
    refuse_unproven(lettering, manner.source)
    _tell_foreign(lettering, manner.say)
    sifted = sift_responses(rows, questions, lettering.foreign)
    names = sorted({response.model for response in rows})

    def mark(extractor: str) -> tuple[list[ItemScore], list[ModelReport]]:
        return mark_models(
            names,
            questions,
            sifted.responses,
            manner.rules,
            asked=lettering.asked,
            allow_partial=manner.allow_partial,
            extractor=extractor,
            partial=manner.partial,
            on_progress=manner.on_progress,
        )

    marked, reports = mark(manner.extractor)
    dropped = dict(sifted.dropped) | {"torn": sum(file.torn for file in files)}
    others = compare_rules(mark, questions) if manner.side_by_side else ()
    foreign, stated_too = lettering.foreign.total(), bool(lettering.stated)
    return Scores(
        marked,
        reports,
        dropped,
        foreign,
        stated_too,
        manner.extractor,
        others,
        several=several,
        partial=manner.partial,
    )


def _tell_foreign(lettering: Lettering, say: Callable[[str], None]) -> None:
    """Tell of replies to another form: they are left out, and the coverage says what is missing."""
    if lettering.foreign:
        say(
            f"{lettering.foreign.total()} replies were made on another form of their items (options in "
            "another order, or a changed text) and are left out: score them with the --release or --items "
            "that was asked"
        )


def mark_models(
    models: Sequence[str],
    questions: Mapping[str, Question],
    responses: Sequence[Response],
    rules: ScoringRules = ScoringRules(),
    *,
    asked: Mapping[Asked, Question] | None = None,
    allow_partial: bool = False,
    extractor: str = OURS,
    partial: bool = False,
    on_progress: Progress = silent,
) -> tuple[list[ItemScore], list[ModelReport]]:
    """Mark every model; return all item scores and one report a model, both sorted by model."""
    own: dict[str, list[Response]] = defaultdict(list)
    for response in responses:
        own[response.model].append(response)
    shared = (questions, asked or {}, rules, allow_partial, extractor, partial)
    marked = _mark_all([(model, own[model], *shared) for model in models], on_progress)
    return [row for scores, _ in marked for row in scores], [report for _, report in marked]


Work = tuple[
    str, Sequence[Response], Mapping[str, Question], Mapping[Asked, Question], ScoringRules, bool, str, bool
]
Marked = tuple[list[ItemScore], ModelReport]


def _mark_one(work: Work, on_progress: Progress = silent) -> Marked:
    model, responses, questions, asked, rules, allow_partial, extractor, partial = work
    scores = score_items(questions, responses, on_progress, asked, extractor, partial=partial)
    return scores, report_model(model, questions, scores, responses, rules, allow_partial=allow_partial)


def _mark_all(works: Sequence[Work], on_progress: Progress) -> list[Marked]:
    total = sum(len(responses) for _, responses, *_ in works)
    workers = min(os.cpu_count() or 1, len(works))
    if total < WORTH_A_PROCESS or workers < 2:
        return [_mark_one(work, on_progress) for work in works]
    marked: list[Marked] = []
    done = 0
    spread = map_in_processes(_mark_one, works, workers, hint="give each model's replies a run of their own")
    for work, result in zip(works, spread, strict=True):
        marked.append(result)
        done += len(work[1])
        on_progress(done, total)
    return marked
