"""Scores out of other tools' logs: one file for all of them, checked against what each tool states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kina_build.errors import InputError, UsageError
from kina_build.rows.jsonl import iter_rows, write_records
from kina_build.scoring.logs.harness_logs import Wanted
from kina_build.scoring.logs.reading import read_logs
from kina_build.scoring.logs.trials import Log, Trial
from kina_build.scoring.options import ResultsOptions
from kina_build.scoring.questions import Question, read_items, read_release
from kina_build.scoring.responses import Response


@dataclass(frozen=True)
class Results:
    """Trials of other tools' logs, and whether each tool's accuracy is what its scores give."""

    logs: Sequence[Log]
    trials: Sequence[Trial]
    """Sorted by model, item and epoch."""
    passed_over: Sequence[str] = ()
    """Files of the folders that are of no known kind."""

    @property
    def agrees(self) -> bool:
        """Tell whether every stated accuracy is what its scores give."""
        return all(log.agreement.agrees for log in self.logs)

    @property
    def report(self) -> dict[str, Any]:
        """Return the document that `kina results --json` prints."""
        agreements = [log.agreement for log in self.logs]
        return {
            "logs": [asdict(one) | {"agrees": one.agrees} for one in agreements],
            "models": len({trial.model for trial in self.trials}),
            "items": len({trial.item_id for trial in self.trials}),
            "rows": len(self.trials),
            "replies": sum(trial.response is not None for trial in self.trials),
            "notes": [note for log in self.logs for note in log.notes],
            "passed_over": list(self.passed_over),
        }

    def write(self, path: Path | str) -> None:
        """Write one row a trial, as `kina rank --scores` and `kina compare` read them."""
        write_records(path, self.trials)

    def write_responses(self, path: Path | str) -> None:
        """Write the raw replies, as `kina score --responses` reads them."""
        write_records(path, map(_response, self.trials))

    def __str__(self) -> str:
        """Give a line a log."""
        return "\n".join(
            f"{one.model}, {one.task} ({one.tool}): {'none' if one.counted is None else f'{one.counted:.4f}'}"
            + ("" if one.agrees else f", but its log states {one.stated}")
            for one in (log.agreement for log in self.logs)
        )


def _response(trial: Trial) -> Response:
    """Turn a trial into a row to be marked anew: what was asked is told by the options' texts."""
    return Response(
        item_id=trial.item_id,
        model=trial.model,
        sample=trial.epoch,
        response=trial.response,
        status="server_error" if trial.response is None else "ok",
        option_hashes=trial.option_hashes,
        prompt_sha=None if trial.option_hashes else trial.prompt_sha,
        prompt_tokens=trial.prompt_tokens,
        completion_tokens=trial.completion_tokens,
        error=trial.error,
    )


def collect_results(options: ResultsOptions) -> Results:
    """Read the logs that the options name.

    Raises:
        UsageError: one name for the logs of several models.
        InputError: a file of no known kind, or two logs that score the same items of one model.
        RowErrors: rows that do not fit their kind.
    """
    wanted = Wanted(options.model, options.metric, options.filter, _questions(options))
    logs, passed_over = read_logs(options.logs, wanted)
    if options.task:
        logs = _of_tasks(logs, options.task)
    if options.model is not None:
        logs = _renamed(logs, options.model)
    several = len(options.task) > 1
    trials = [
        trial.model_copy(update={"item_id": f"{log.task}:{trial.item_id}"}) if several else trial
        for log in logs
        for trial in log.trials
    ]
    _refuse_repeats(trials, logs)
    ordered = sorted(trials, key=lambda trial: (trial.model, trial.item_id, trial.epoch))
    return Results(logs, ordered, passed_over)


def _questions(options: ResultsOptions) -> list[Question]:
    """Return the questions in the order of the split, or of the pool."""
    if options.release is not None:
        read = read_release(options.release, options.split, keyed=False)
        by_id = {one.item_id: one for one in read}
        rows = iter_rows(options.release / f"{options.split}.jsonl")
        return [by_id[str(row["id"])] for _, row in rows]
    return read_items(options.items) if options.items is not None else []


def _renamed(logs: Sequence[Log], model: str) -> list[Log]:
    known = sorted({log.model for log in logs})
    if len(known) > 1:
        raise UsageError(
            f"--model {model}: the logs are of {len(known)} models, {known[0]!r}, {known[1]!r}, ...",
            hint="give the logs of one model, or leave --model out",
        )
    return [
        replace(log, model=model, trials=[one.model_copy(update={"model": model}) for one in log.trials])
        for log in logs
    ]


def _of_tasks(logs: Sequence[Log], tasks: Sequence[str]) -> list[Log]:
    known = sorted({log.task for log in logs})
    unknown = [task for task in tasks if task not in known]
    if unknown:
        raise InputError(f"no log of the task {unknown[0]!r}", hint=f"there are {', '.join(known)}")
    return [log for log in logs if log.task in tasks]


def _refuse_repeats(trials: Sequence[Trial], logs: Sequence[Log]) -> None:
    counts = Counter((trial.model, trial.item_id, trial.epoch) for trial in trials)
    twice = next((key for key, times in counts.items() if times > 1), None)
    if twice is None:
        return
    model, item_id, _ = twice
    tasks = sorted({log.task for log in logs if log.model == model})
    if len(tasks) > 1:
        hint = "name the task, or several whose items differ: " + ", ".join(f"--task {one}" for one in tasks)
    else:
        hint = "give one log of each model and task; repeats of a run are epochs within one log"
    raise InputError(f"model {model!r}: two logs hold a score of item {item_id!r}", hint=hint)
