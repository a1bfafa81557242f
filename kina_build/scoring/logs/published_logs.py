"""Result files of HELM and of Every Eval Ever."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.rows.tables import Row
from kina_build.scoring.logs.harness_logs import Wanted
from kina_build.scoring.logs.trials import Log, Trial, count, hashes, number, number_epochs, part, text
from kina_build.scoring.replies import labels

HELM, EEE = "helm", "every-eval-ever"

HELM_METRICS = ("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match")
"""Metrics taken where none is named, the first that is there."""


def is_instance_stats(document: Any) -> bool:
    """Tell whether a document is per_instance_stats.json or display_predictions.json of HELM."""
    first = document[0] if isinstance(document, list) and document else None
    return isinstance(first, Mapping) and {"instance_id", "train_trial_index", "stats"} <= set(first)


def read_helm(stats: Sequence[Any], name: str, others: Mapping[str, Any], wanted: Wanted) -> Log:
    """Turn HELM's stats by instance into trials; perturbed instances are left out and counted.

    Args:
        stats: per_instance_stats.json or display_predictions.json.
        name: of the run's folder or file.
        others: further documents of the folder by file name: run_spec.json, stats.json,
            display_predictions.json.
        wanted: model, metric.

    Raises:
        InputError: no model named, or no such metric.
    """
    model = wanted.model or text(part(others.get("run_spec.json"), "adapter_spec", "model")) or _in_name(name)
    if model is None:
        raise InputError(f"{name}: names no model", hint="give the run's whole folder, or --model NAME")
    plain = [one for one in stats if part(one, "perturbation") is None]
    graded = [(one, dict(_values(one))) for one in plain]
    known = list(dict.fromkeys(metric for _, values in graded for metric in values))
    metric = wanted.metric or next((one for one in HELM_METRICS if one in known), "")
    if metric not in known:
        raise InputError(
            f"{name}: no metric {metric!r}" if metric else f"{name}: none of {', '.join(HELM_METRICS)}",
            hint=f"name one of them with --metric: {', '.join(known[:12])}",
        )
    said = {_helm_key(one): one for one in others.get("display_predictions.json") or ()}
    task = _helm_task(str(part(others.get("run_spec.json"), "name") or name))
    trials = [
        Trial(
            item_id=str(one["instance_id"]),
            model=model,
            epoch=count(one.get("train_trial_index")),
            score=number(values.get(metric)),
            response=text(part(said.get(_helm_key(one), one), "predicted_text")),
            tool=HELM,
            task=task,
        )
        for one, values in graded
        if metric in values
    ]
    left_out = len(stats) - len(plain)
    notes = [f"{name}: {left_out} perturbed instances are left out"] if left_out else []
    stated = _helm_stated(others.get("stats.json"), metric)
    return Log(HELM, model, task, metric, trials, stated, notes, by_place=True)


def _in_name(name: str) -> str | None:
    """Return the model that HELM writes into a run's name: "mmlu:subject=x,model=openai_gpt-4"."""
    pieces = name.rstrip("/").replace("/", ",").replace(":", ",").split(",")
    return next((one.removeprefix("model=") for one in pieces if one.startswith("model=")), None)


def _helm_task(name: str) -> str:
    """Return a run's name without its model: "mmlu:subject=x,model=y" is "mmlu:subject=x"."""
    scenario, _, arguments = name.rpartition("/")[2].partition(":")
    kept = [one for one in arguments.split(",") if one and not one.startswith("model=")]
    return ":".join(filter(None, (scenario, ",".join(kept))))


def _helm_key(one: Any) -> tuple[Any, Any, bool]:
    return part(one, "instance_id"), part(one, "train_trial_index"), part(one, "perturbation") is None


def _values(one: Any) -> Iterator[tuple[str, Any]]:
    """Yield metrics and values: a list of stats, or a table of the metrics that are shown."""
    stats = one["stats"]
    if isinstance(stats, Mapping):
        yield from ((str(metric), value) for metric, value in stats.items())
        return
    for stat in stats if isinstance(stats, list) else ():
        metric, total, times = part(stat, "name", "name"), part(stat, "sum"), part(stat, "count")
        if metric is not None and times and isinstance(total, int | float):
            yield str(metric), total / times


def _helm_stated(stats: Any, metric: str) -> float | None:
    """Return the mean of the unperturbed test split, where one is given."""
    found = (
        [
            part(one, "mean")
            for one in stats
            if isinstance(stats, list)
            if part(one, "name", "name") == metric
            and part(one, "name", "perturbation") is None
            and part(one, "name", "split") == "test"
            and part(one, "name", "sub_split") is None
        ]
        if isinstance(stats, list)
        else []
    )
    return number(found[0]) if len(found) == 1 else None


def is_eee_rows(rows: Sequence[Row]) -> bool:
    """Tell whether rows are instances of Every Eval Ever."""
    return bool(rows) and {"schema_version", "evaluation_id", "sample_id", "evaluation"} <= set(
        rows[0].values
    )


def is_eee_aggregate(document: Any) -> bool:
    """Tell whether a document holds results of Every Eval Ever."""
    return isinstance(document, Mapping) and {"schema_version", "evaluation_id", "evaluation_results"} <= set(
        document
    )


def read_eee(rows: Sequence[Row], aggregates: Sequence[Mapping[str, Any]]) -> list[Log]:
    """Turn instances of Every Eval Ever into trials, a log a model and evaluation.

    Raises:
        RowErrors: a row without an id, a model or a score in [0, 1].
    """
    found: dict[tuple[str, str, str], list[Trial]] = defaultdict(list)
    faults: list[RowFault] = []
    for row in rows:
        values = row.values
        model, task = text(values.get("model_id")), text(values.get("evaluation_name")) or ""
        score = number(part(values, "evaluation", "score"))
        if model is None or values.get("sample_id") is None:
            faults.append(row.fault("an instance needs model_id and sample_id"))
            continue
        if score is None and values.get("error") is None:
            faults.append(row.fault("evaluation.score: a number in [0, 1] is needed"))
            continue
        run = str(values.get("evaluation_id"))
        found[run, model, task].append(_instance(values, model, task, score))
    if faults:
        raise RowErrors(faults, hint="instances of Every Eval Ever 0.2")
    return [
        Log(EEE, model, task, "score", number_epochs(trials), _eee_stated(aggregates, run, task))
        for (run, model, task), trials in found.items()
    ]


def _instance(values: Mapping[str, Any], model: str, task: str, score: float | None) -> Trial:
    raw = part(values, "output", "raw")
    options, usage = part(values, "input", "choices"), values.get("token_usage")
    allowed = labels(len(options)) if isinstance(options, list) and options else ()
    attributed = values.get("answer_attribution")
    last = attributed[-1] if isinstance(attributed, list) and attributed else None
    letter = text(part(last, "extracted_value"))
    return Trial(
        item_id=str(values["sample_id"]),
        model=model,
        score=score,
        letter=letter if letter in allowed else None,
        response=text(raw[0] if isinstance(raw, list) and raw else raw),
        option_hashes=hashes(options),
        prompt_tokens=count(part(usage, "input_tokens")),
        completion_tokens=count(part(usage, "output_tokens")),
        tool=EEE,
        task=task,
        error=text(values.get("error")),
    )


def _eee_stated(aggregates: Sequence[Mapping[str, Any]], run: str, task: str) -> float | None:
    found = [
        part(one, "score_details", "score")
        for document in aggregates
        if document.get("evaluation_id") == run
        for one in document.get("evaluation_results") or ()
        if part(one, "evaluation_name") == task
    ]
    return number(found[0]) if len(found) == 1 else None
