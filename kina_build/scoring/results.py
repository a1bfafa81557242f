"""Scores out of other tools' logs: one file for all of them, checked against what each tool states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
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
            "notes": [*(note for log in self.logs for note in log.notes), *_without_replies(self.logs)],
            "passed_over": list(self.passed_over),
        }

    def write(self, path: Path | str) -> None:
        """Write one row a trial, as `kina rank --scores` and `kina compare` read them."""
        write_records(path, self.trials)

    def write_responses(self, path: Path | str) -> None:
        """Write the raw replies, as `kina score --responses` reads them.

        A trial that was scored without one, by likelihoods, has nothing to be read anew.
        """
        replied = (one for one in self.trials if one.response is not None or one.score is None)
        write_records(path, map(_response, replied))

    def __str__(self) -> str:
        """Give a line a log."""
        return "\n".join(
            f"{one.model}, {one.task} ({one.tool}): {'none' if one.counted is None else f'{one.counted:.4f}'}"
            + ("" if one.agrees else f", but its log states {one.stated}")
            for one in (log.agreement for log in self.logs)
        )


def _without_replies(logs: Sequence[Log]) -> list[str]:
    """Name the logs whose scores come from no replies, beside others whose do."""
    spoken = [log for log in logs if any(one.response is not None for one in log.trials)]
    silent = [
        log for log in logs if all(one.response is None and one.score is not None for one in log.trials)
    ]
    why = "scores without replies; there is nothing to mark anew"
    return [f"{log.model}, {log.task}: {why}" for log in silent if spoken]


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
        InputError: a file of no known kind, two logs that score the same items of one model, or ids that
            are not of the same items in all logs.
        RowErrors: rows that do not fit their kind.
    """
    wanted = Wanted(options.model, options.metric, options.filter, _questions(options))
    logs, passed_over = read_logs(options.logs, wanted)
    if options.task:
        logs = _of_tasks(logs, options.task)
    if options.model is not None:
        logs = _renamed(logs, options.model)
    if options.apart:
        logs = _apart(logs)
    several = bool(options.task) and len({log.task for log in logs}) > 1
    trials = [
        trial.model_copy(update={"item_id": f"{log.task}:{trial.item_id}"}) if several else trial
        for log in logs
        for trial in log.trials
    ]
    if not several:
        _refuse_mixed(logs)
    _refuse_repeats(trials, logs)
    _refuse_other_items(trials)
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
    return [_with_model(log, model) for log in logs]


def _apart(logs: Sequence[Log]) -> list[Log]:
    """Name each of several logs of one model by its tool and task, and where these are alike by its file."""
    runs = Counter(log.model for log in logs)
    alike = Counter((log.model, log.tool, log.task) for log in logs)
    named = []
    for log in logs:
        file = Path(log.source).name if alike[log.model, log.tool, log.task] > 1 else ""
        told = ", ".join(filter(None, (log.tool, log.task, file)))
        named.append(_with_model(log, f"{log.model} ({told})") if runs[log.model] > 1 else log)
    return named


def _with_model(log: Log, model: str) -> Log:
    return replace(log, model=model, trials=[one.model_copy(update={"model": model}) for one in log.trials])


def _of_tasks(logs: Sequence[Log], tasks: Sequence[str]) -> list[Log]:
    known = sorted({log.task for log in logs})
    unknown = [task for task in tasks if not any(_fits(one, [task]) for one in known)]
    if unknown:
        raise InputError(f"no log of the task {unknown[0]!r}", hint=f"there are {', '.join(known)}")
    return [log for log in logs if _fits(log.task, tasks)]


def _fits(task: str, wanted: Sequence[str]) -> bool:
    return any(task == one or fnmatchcase(task, one) for one in wanted)


def _refuse_mixed(logs: Sequence[Log]) -> None:
    """Refuse logs that number their items by place beside logs of other tasks, or with ids.

    Raises:
        InputError: they would be joined by numbers that are not of the same items.
    """
    places = [log for log in logs if log.by_place]
    strange = [log for log in logs if places and (not log.by_place or log.task != places[0].task)]
    if strange:
        one, other = places[0], strange[0]
        why = f"of the task {other.task}" if other.by_place else "with ids of their own"
        raise InputError(
            f"{one.source}: knows its items by their place in {one.task}, beside {other.source} {why}",
            hint="--release or --items gives places of lighteval their ids; else read one task: "
            f"--task {one.task}, or several, whose items then are different ones",
        )


def _refuse_other_items(trials: Sequence[Trial]) -> None:
    """Refuse logs in which one id stands for different questions, by the options.

    Raises:
        InputError: names the first such id.
    """
    seen: dict[str, Trial] = {}
    for one in trials:
        if one.option_hashes is None:
            continue
        first = seen.setdefault(one.item_id, one)
        if sorted(first.option_hashes or ()) != sorted(one.option_hashes):
            raise InputError(
                f"item {one.item_id!r} has other options in {one.tool}'s {one.task} than in "
                f"{first.tool}'s {first.task}",
                hint="read one task at a time (--task), or several, whose items then are different ones",
            )


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
    hint += "; --apart sets each log on the board as a model of its own"
    raise InputError(f"model {model!r}: two logs hold a score of item {item_id!r}", hint=hint)
