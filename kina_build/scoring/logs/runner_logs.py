"""Results of KINA's public runner: replies with the question they answer, marked by our own rule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from kina_build.rows.tables import Row
from kina_build.scoring.logs.trials import Log, Trial
from kina_build.scoring.multiple_choice import read_own
from kina_build.scoring.questions import hash_option
from kina_build.scoring.responses import read_responses

TOOL = "kina-runner"


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
                tool=TOOL,
                task=path.stem,
                error=None if one.answered else one.status,
            )
        )
    return [Log(TOOL, name, path.stem, "letter, by our rule", trials) for name, trials in found.items()]
