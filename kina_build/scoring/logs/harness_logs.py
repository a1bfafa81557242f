"""Logs of lm-evaluation-harness (samples and results) and lighteval (details and results)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kina_build.errors import InputError
from kina_build.rows.tables import Row
from kina_build.scoring.logs.trials import Log, Trial, count, hashes, number, number_epochs, part, text
from kina_build.scoring.questions import Question, fold_blanks
from kina_build.scoring.replies import labels

LM_EVAL, LIGHTEVAL = "lm-eval", "lighteval"
IDS = ("id", "item_id", "question_id", "idx")
"""Fields of a document that name it, the first one that is there."""


@dataclass(frozen=True)
class Wanted:
    """What the reader of logs asks for where a log leaves a choice."""

    model: str | None = None
    """Name of the model, where the log holds none."""
    metric: str | None = None
    filter: str | None = None
    """Of lm-eval's several answers to one document."""
    questions: Sequence[Question] = field(default_factory=tuple)
    """In the order of the split, for logs that know an item by its place alone."""


def is_samples(rows: Sequence[Row]) -> bool:
    """Tell whether rows are samples of lm-evaluation-harness."""
    names = set(rows[0].values) if rows else set()
    return {"doc_id", "doc", "target"} <= names and bool(names & {"filter", "filtered_resps"})


def read_samples(rows: Sequence[Row], name: str, results: Mapping[str, Any] | None, wanted: Wanted) -> Log:
    """Turn samples of one task into trials.

    Args:
        rows: of samples_<task>_<time>.jsonl.
        name: of the file, for messages and the task.
        results: the document of results_<time>.json beside it, which names the model.
        wanted: model, metric, filter.

    Raises:
        InputError: several filters or a metric that is not there; no model named.
    """
    filters = list(dict.fromkeys(_filter(row) for row in rows))
    chosen = wanted.filter or filters[0]
    if chosen not in filters or (len(filters) > 1 and wanted.filter is None):
        raise InputError(
            f"{name}: answers by the filters {', '.join(filters)}", hint="name one of them: --filter"
        )
    metrics = _metrics(rows[0].values)
    metric = wanted.metric or next(iter(metrics), "")
    if metric not in metrics:
        raise InputError(f"{name}: no metric {metric!r}", hint=f"it has {', '.join(metrics) or 'none'}")
    task = name.rpartition("/")[2].removeprefix("samples_").rpartition("_")[0]
    model = wanted.model or _lm_eval_model(results)
    if model is None:
        raise InputError(
            f"{name}: samples name no model", hint="give results_<time>.json beside it, or --model NAME"
        )
    dataset = text(part(results, "configs", task, "metadata", "content_hash"))
    trials = [_sample(row.values, model, task, metric, dataset) for row in rows if _filter(row) == chosen]
    stated = number(part(results, "results", task, f"{metric},{chosen}"))
    by_place = _named(rows[0].values) is None
    return Log(LM_EVAL, model, task, metric, number_epochs(trials), stated, by_place=by_place)


NO_FILTER = "none"
"""lm-eval's word for answers as they came, which versions before 0.4.3 left out."""


def _filter(row: Row) -> str:
    return str(row.values.get("filter") or NO_FILTER)


def _metrics(row: Mapping[str, Any]) -> list[str]:
    """Return the metrics of a row; older versions do not list them, and they are its numbers in [0, 1]."""
    listed = row.get("metrics")
    if isinstance(listed, list):
        return [str(one) for one in listed]
    return [name for name, value in row.items() if name != "doc_id" and number(value) is not None]


def _named(row: Mapping[str, Any]) -> Any:
    """Return the id that a document gives itself; None where its place is all that is known."""
    return next((part(row["doc"], key) for key in IDS if part(row["doc"], key) is not None), None)


def _lm_eval_model(results: Mapping[str, Any] | None) -> str | None:
    config = part(results, "config")
    arguments = part(config, "model_args")
    if isinstance(arguments, Mapping):
        named = text(arguments.get("pretrained")) or text(arguments.get("model"))
    else:
        pairs = dict(one.partition("=")[::2] for one in str(arguments or "").split(","))
        named = pairs.get("pretrained") or pairs.get("model")
    # model_name may be a hash of the arguments
    return named or text(part(config, "model")) or text(part(results, "model_name"))


def _sample(row: Mapping[str, Any], model: str, task: str, metric: str, dataset: str | None) -> Trial:
    doc, named = row.get("doc"), _named(row)
    item_id = row["doc_id"] if named is None else named
    options = part(doc, "choices") or part(doc, "options")
    allowed = labels(len(options)) if isinstance(options, list) and options else ()
    letter, reply = _given(row, allowed)
    answer = text(part(doc, "answer"))
    return Trial(
        item_id=str(item_id),
        model=model,
        score=number(row.get(metric)),
        letter=letter,
        answer=answer if answer in allowed else None,
        discipline=str(part(doc, "discipline") or part(doc, "category") or part(doc, "subject") or ""),
        response=reply,
        prompt_sha=_prompt_sha(row),
        option_hashes=hashes(options),
        tool=LM_EVAL,
        task=task,
        dataset=dataset,
    )


def _given(row: Mapping[str, Any], allowed: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the option that was taken and the reply: likelihoods have no text, replies no likelihood."""
    resps = row.get("resps")
    first = resps[0] if isinstance(resps, list) and resps else None
    if isinstance(first, list) and first and isinstance(first[0], list):
        return _likeliest(resps or [], allowed), None
    filtered = row.get("filtered_resps")
    taken = filtered[0] if isinstance(filtered, list) and filtered else filtered
    reply = first[0] if isinstance(first, list) and first else first
    letter = text(taken)
    return (letter if letter in allowed else None), text(reply)


def _likeliest(resps: Sequence[Any], allowed: Sequence[str]) -> str | None:
    """Return the label of the continuation with the greatest likelihood, the first of equals."""
    try:
        values = [float(one[0][0]) for one in resps]
    except (TypeError, ValueError, LookupError):
        return None
    return allowed[values.index(max(values))] if len(values) == len(allowed) else None


def _prompt_sha(row: Mapping[str, Any]) -> str | None:
    arguments = row.get("arguments")
    prompt = text(part(arguments, "gen_args_0", "arg_0"))
    return None if prompt is None else hashlib.sha256(prompt.encode()).hexdigest()


def is_results(document: Any) -> bool:
    """Tell whether a document holds results of lm-evaluation-harness."""
    return isinstance(document, Mapping) and {"results", "configs", "config"} <= set(document)


def is_light_results(document: Any) -> bool:
    """Tell whether a document holds results of lighteval."""
    return isinstance(document, Mapping) and {"results", "config_general"} <= set(document)


def is_details(rows: Sequence[Row]) -> bool:
    """Tell whether rows are details of lighteval."""
    return bool(rows) and {"doc", "metric", "model_response"} <= set(rows[0].values)


def read_details(rows: Sequence[Row], name: str, results: Mapping[str, Any] | None, wanted: Wanted) -> Log:
    """Turn details of one task into trials.

    Args:
        rows: of details_<task>|<shots>_<time>.parquet.
        name: of the file, for messages.
        results: the document of results_<time>.json of the same run.
        wanted: model, metric, and the questions by which places become ids.

    Raises:
        InputError: a metric that is not there, no model named, or a place that is not the question's.
    """
    task = str(part(rows[0].values["doc"], "task_name") or "")
    metrics = list(part(rows[0].values, "metric") or ())
    metric = wanted.metric or next(iter(metrics), "")
    if metric not in metrics:
        raise InputError(f"{name}: no metric {metric!r}", hint=f"it has {', '.join(metrics) or 'none'}")
    model = wanted.model or text(part(results, "config_general", "model_name"))
    model = model or text(part(results, "config_general", "model_config", "model_name"))
    if model is None:
        raise InputError(
            f"{name}: details name no model", hint="give results_<time>.json of the run, or --model NAME"
        )
    short = task.partition("|")[0]
    trials = []
    for row in rows:
        doc = row.values["doc"]
        question = _question(doc, name, wanted.questions)
        trial = _detail(row.values, question, number(part(row.values["metric"], metric)))
        trials.append(trial.model_copy(update={"model": model, "task": short}))
    stated = number(part(results, "results", task, metric))
    by_place = not wanted.questions and part(rows[0].values["doc"], "specific", "id") is None
    return Log(LIGHTEVAL, model, short, metric, number_epochs(trials), stated, by_place=by_place)


def _detail(row: Mapping[str, Any], question: Question | None, score: float | None) -> Trial:
    doc, said = row["doc"], row["model_response"]
    options = part(doc, "choices") or []
    allowed = question.labels if question else labels(len(options)) if options else ()
    gold = part(doc, "gold_index")
    values = part(said, "logprobs")
    texts = part(said, "text")
    likeliest = values.index(max(values)) if values and len(values) == len(allowed) else None
    query = text(part(doc, "query"))
    return Trial(
        item_id=question.item_id if question else str(part(doc, "specific", "id") or part(doc, "id")),
        model="",
        score=score,
        letter=None if likeliest is None else allowed[likeliest],
        answer=allowed[gold] if isinstance(gold, int) and 0 <= gold < len(allowed) else None,
        discipline=question.discipline if question else "",
        response=texts[0] if texts and isinstance(texts[0], str) else None,
        prompt_sha=None if query is None else hashlib.sha256(query.encode()).hexdigest(),
        option_hashes=hashes(list(question.choices)) if question else None,
        prompt_tokens=count(len(part(said, "input_tokens") or ())),
        completion_tokens=count(len((part(said, "output_tokens") or [[]])[0] or ())),
        tool=LIGHTEVAL,
        task="",
    )


def _question(doc: Any, name: str, questions: Sequence[Question]) -> Question | None:
    """Return the question of an id, else at a place of the split, whose text and options the query holds."""
    if not questions:
        return None
    named, place = part(doc, "specific", "id"), str(part(doc, "id"))
    if named is not None:
        found = next((one for one in questions if one.item_id == str(named)), None)
    else:
        found = questions[int(place)] if place.isdecimal() and int(place) < len(questions) else None
    query = fold_blanks(str(part(doc, "query") or ""))
    if found is None or any(fold_blanks(one) not in query for one in (found.question, *found.choices)):
        where = f"place {place}" if named is None else f"item {named!r}"
        raise InputError(
            f"{name}: {where} of the split holds another question than was asked",
            hint="give the release and split that the run was made on",
        )
    return found
