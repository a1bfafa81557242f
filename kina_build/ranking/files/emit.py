"""A leaderboard in others' forms: Every Eval Ever's aggregate, and the Hub's .eval_results."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import yaml

from kina_build import __version__
from kina_build.errors import InputError, UsageError
from kina_build.ranking.leaderboard import Leaderboard, Standing
from kina_build.ranking.options import RankOptions
from kina_build.rows.jsonl import dump_document, write_text

SCHEMA_VERSION = "0.2.1"
"""Of Every Eval Ever."""

EVERY_EVAL_EVER, HUB = "every_eval_ever", "eval_results"
"""Folders, one file a model in each."""


@dataclass(frozen=True)
class Statement:
    """What the forms want to know that no score tells."""

    organization: str
    """Who says so."""
    as_of: date
    """The day of the statement: no clock is read."""
    dataset: str | None = None
    """The data set's repository on the Hub, "org/name"."""
    task: str = "default"
    """The task's name in that repository's eval.yaml."""

    @property
    def moment(self) -> str:
        """Return the seconds of the day's beginning, as text."""
        start = datetime(self.as_of.year, self.as_of.month, self.as_of.day, tzinfo=UTC)
        return str(int(start.timestamp()))


def read_statement(options: RankOptions) -> Statement:
    """Read what the options state.

    Raises:
        UsageError: something is missing, or no date.
    """
    if options.organization is None or options.as_of is None:
        raise UsageError(
            "--emit needs --organization NAME and --as-of YYYY-MM-DD",
            hint="both forms name who states a result and when",
        )
    try:
        as_of = date.fromisoformat(options.as_of)
    except ValueError:
        raise UsageError(
            f"--as-of {options.as_of}: no date", hint="for instance --as-of 2026-12-01"
        ) from None
    return Statement(options.organization, as_of, options.dataset, options.dataset_task)


def emit(board: Leaderboard, folder: Path, statement: Statement) -> list[Path]:
    """Write one file a model and form; the Hub's form only where its data set is named.

    Returns:
        The files.

    Raises:
        InputError: two models whose names give one file name.
    """
    written: list[Path] = []
    names: dict[str, str] = {}
    for standing in board.standings:
        name = re.sub(r"[^\w.-]+", "_", standing.model)
        if names.setdefault(name, standing.model) != standing.model:
            raise InputError(f"models {names[name]!r} and {standing.model!r} would both be {name}.json")
        texts = {Path(EVERY_EVAL_EVER, f"{name}.json"): dump_document(every_eval(board, standing, statement))}
        if statement.dataset is not None:
            texts[Path(HUB, f"{name}.yaml")] = hub_result(board, standing, statement)
        for place, text in texts.items():
            (folder / place.parent).mkdir(parents=True, exist_ok=True)
            write_text(folder / place, text)
            written.append(folder / place)
    return written


def every_eval(board: Leaderboard, standing: Standing, statement: Statement) -> dict[str, Any]:
    """Return one model's aggregate record of Every Eval Ever: overall and by discipline."""
    name = _name(board)
    uncertainty = {
        "standard_error": {"value": standing.se_bootstrap or standing.se or 0.0, "method": "bootstrap"},
        "confidence_interval": {
            "lower": standing.low,
            "upper": standing.high,
            "confidence_level": board.level,
            "method": board.interval,
        },
        "num_samples": board.items,
        "num_bootstrap_samples": board.samples,
    }
    details = {
        "coverage": f"{standing.coverage:.6f}",
        "tier": str(standing.tier),
        "rank_set_simultaneous": f"{standing.rank_low_simultaneous}-{standing.rank_high_simultaneous}",
    }
    source = _source(board, statement)
    overall = _result(name, source, standing.accuracy, uncertainty, details)
    parts = [
        _result(
            f"{name}: {group.discipline}",
            source,
            row.accuracy,
            {
                "confidence_interval": {
                    "lower": row.low, "upper": row.high, "confidence_level": board.level, "method": "wilson",
                },
                "num_samples": group.n,
            },
            {},
        )
        for group in board.disciplines
        for row in group.rows
        if row.model == standing.model
    ]  # fmt: skip
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{name}/{standing.model}/{statement.moment}",
        "retrieved_timestamp": statement.moment,
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": statement.organization,
            "evaluator_relationship": "third_party",
        },
        "model_info": {"name": standing.model, "id": standing.model},
        "eval_library": {"name": "kina-build", "version": __version__},
        "evaluation_results": [overall, *parts],
    }


def _name(board: Leaderboard) -> str:
    return board.dataset.name if board.dataset else "benchmark"


def _source(board: Leaderboard, statement: Statement) -> dict[str, Any]:
    source: dict[str, Any] = {"dataset_name": _name(board), "source_type": "other"}
    if statement.dataset is not None:
        source |= {"source_type": "hf_dataset", "hf_repo": statement.dataset, "samples_number": board.items}
    if board.dataset is not None:
        stamp = {"version": board.dataset.version, "content_hash": board.dataset.content_hash}
        source["additional_details"] = stamp
    return source


def _result(
    name: str,
    source: Mapping[str, Any],
    score: float,
    uncertainty: Mapping[str, Any],
    details: Mapping[str, str],
) -> dict[str, Any]:
    scored: dict[str, Any] = {"score": score, "uncertainty": dict(uncertainty)}
    return {
        "evaluation_name": name,
        "source_data": dict(source),
        "metric_config": {
            "evaluation_description": "Accuracy: mean over items of the share of samples answered rightly",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        },
        "score_details": scored | ({"details": dict(details)} if details else {}),
    }


def hub_result(board: Leaderboard, standing: Standing, statement: Statement) -> str:
    """Write one model's entry of .eval_results, to be put into that model's repository."""
    dataset: dict[str, Any] = {"id": statement.dataset, "task_id": statement.task}
    bounds = f"{board.level:.0%} interval {standing.low} to {standing.high} ({board.interval})"
    entry = {
        "dataset": dataset,
        "value": standing.accuracy,
        "date": statement.as_of.isoformat(),
        "notes": f"{board.items} items, coverage {standing.coverage}; {bounds}",
    }
    text: str = yaml.safe_dump([json.loads(json.dumps(entry))], sort_keys=False, allow_unicode=True)
    return text
