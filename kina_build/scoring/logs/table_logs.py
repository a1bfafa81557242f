"""Tables of results: of KINA's public runner, marked by our own rule, of MMLU-Pro's runs, and matrices."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kina_build.errors import RowErrors, RowFault
from kina_build.rows.tables import Row
from kina_build.scoring.logs.harness_logs import Wanted
from kina_build.scoring.logs.trials import Log, Trial, hashes, number_epochs, text
from kina_build.scoring.multiple_choice import read_own
from kina_build.scoring.questions import hash_option
from kina_build.scoring.replies import labels
from kina_build.scoring.responses import read_responses

RUNNER, MMLU_PRO, MATRIX = "kina-runner", "mmlu-pro", "matrix"


def is_runner(rows: Sequence[Row]) -> bool:
    """Tell whether rows are results of the runner."""
    return bool(rows) and {"responses", "metadata"} <= set(rows[0].values)


def read_runner(path: Path, model: str | None = None) -> list[Log]:
    """Turn a results file into trials; its rows hold no score, so that letters are read by our rule.

    Args:
        path: of the file; the folder two levels up names the model, as the runner writes it.
        model: its name instead.

    Raises:
        RowErrors: rows that are none.
    """
    file = read_responses(path)
    questions = {question.item_id: question for question in file.questions}
    found: dict[str, list[Trial]] = defaultdict(list)
    for one in file.responses:
        question = questions[one.item_id]
        letter, _ = read_own(one, question, {}) if one.answered else (None, "")
        name = model or one.model
        found[name].append(
            Trial(
                item_id=one.item_id,
                model=name,
                epoch=one.sample,
                score=float(letter == question.answer) if one.answered else None,
                letter=letter,
                answer=question.answer,
                discipline=question.discipline,
                response=one.response,
                option_hashes=tuple(map(hash_option, question.choices)),
                tool=RUNNER,
                task=path.stem,
                error=None if one.answered else one.status,
            )
        )
    return [Log(RUNNER, name, path.stem, "letter, by our rule", trials) for name, trials in found.items()]


IDS = ("item_id", "question_id", "id", "qid", "instance_id", "sample_id")
"""Columns of a matrix that name the item, the first one that is there."""
FIXED = ("discipline", "category", "subject")
"""Columns of a matrix that say what an item is about."""
VERDICTS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
"""Words that spreadsheets write for 1 and 0."""


def is_mmlu_pro(rows: Sequence[Row]) -> bool:
    """Tell whether rows are those of MMLU-Pro's public runs."""
    return (
        bool(rows)
        and {"question_id", "options", "answer"} <= set(rows[0].values)
        and any(name in rows[0].values for name in ("pred", "model_outputs", "generated_text"))
    )


def read_mmlu_pro(rows: Sequence[Row], name: str, wanted: Wanted) -> Log:
    """Turn rows of MMLU-Pro's public runs into trials; an item without `pred` was read as no letter.

    The published accuracies count a random letter where no letter was read; these do not.
    """
    stem = name.rpartition("/")[2].partition(".")[0].removeprefix("model_outputs_")
    model = wanted.model or stem.removesuffix("_5shots") or "model"
    trials = [_mmlu_pro_row(row.values, model) for row in rows]
    unread = sum(trial.letter is None for trial in trials)
    notes = [f"{name}: {unread} replies without a letter count as wrong"] if unread else []
    return Log(MMLU_PRO, model, "mmlu_pro", "pred", number_epochs(trials), None, notes)


def _mmlu_pro_row(values: Mapping[str, Any], model: str) -> Trial:
    options = values["options"]
    allowed = labels(len(options)) if isinstance(options, list) and options else ()
    letter, answer = text(values.get("pred")), text(values["answer"])
    return Trial(
        item_id=str(values["question_id"]),
        model=model,
        score=float(letter is not None and letter == answer),
        letter=letter if letter in allowed else None,
        answer=answer if answer in allowed else None,
        discipline=str(values.get("category") or ""),
        response=text(values.get("model_outputs")) or text(values.get("generated_text")),
        option_hashes=hashes(options),
        tool=MMLU_PRO,
        task="mmlu_pro",
    )


def is_matrix(rows: Sequence[Row]) -> bool:
    """Tell whether rows are a matrix: item_id, perhaps discipline, and a column a model."""
    columns = set().union(*(row.values for row in rows[:100]))
    own = next((one for one in IDS if one in columns), None)
    models = columns - {own, *FIXED}
    if own is None or not models or columns & {"score", "response", "model"}:
        return False
    # under another name for the id, only cells that are scores make a matrix
    return own == IDS[0] or all(_is_score(row.values.get(one)) for row in rows[:100] for one in models)


def read_matrix(rows: Sequence[Row], name: str) -> list[Log]:
    """Turn a matrix of scores into trials, a log a model; a blank cell is no score.

    Raises:
        RowErrors: a cell that is not a number in [0, 1], a row without an id.
    """
    columns = dict.fromkeys(key for row in rows for key in row.values)
    own = next(one for one in IDS if one in columns)
    models = [one for one in columns if one not in (own, *FIXED)]
    found: dict[str, list[Trial]] = {model: [] for model in models}
    faults: list[RowFault] = []
    for row in rows:
        try:
            for trial in _cells(row.values, own, models):
                found[trial.model].append(trial)
        except ValueError as error:
            faults.append(row.fault(str(error)))
    if faults:
        raise RowErrors(faults, hint="scores are shares in [0, 1]: divide percents by 100")
    task = name.rpartition("/")[2].partition(".")[0]
    return [Log(MATRIX, model, task, "score", number_epochs(trials)) for model, trials in found.items()]


def _is_score(cell: Any) -> bool:
    score = _score(cell)
    return score is None or 0 <= score <= 1


def _score(cell: Any) -> float | None:
    """Return a cell's number; None where it is blank, not a number where it is none."""
    said = "" if cell is None else str(cell).strip().lower()
    if said in ("", *VERDICTS):
        return VERDICTS.get(said)
    try:
        return float(said.replace(",", "."))
    except ValueError:
        return math.nan


def _cells(values: Mapping[str, Any], own: str, models: Sequence[str]) -> Iterator[Trial]:
    item_id = values.get(own)
    if item_id in (None, ""):
        raise ValueError(f"{own}: required")
    discipline = str(next((values[one] for one in FIXED if values.get(one)), ""))
    for model in models:
        cell = values.get(model)
        score = _score(cell)
        if score is not None and not 0 <= score <= 1:
            raise ValueError(f"{model}: {cell!r} is not a number in [0, 1]")
        yield Trial(
            item_id=str(item_id), model=model, score=score, discipline=discipline, tool=MATRIX, task=""
        )
