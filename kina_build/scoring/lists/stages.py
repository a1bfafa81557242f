"""Where reasoning over a universe breaks down: accuracy under four kinds of help.

The same questions, with one right answer each, are put to a model four times: alone, with
the gold universe, with the operations to carry out, with both. These stages are this
toolkit's own; the KnowledgeBerg paper names none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from kina_build.errors import InputError, UsageError
from kina_build.rows.tables import read_typed

Condition = Literal["question", "universe", "operations", "both"]
CONDITIONS: tuple[str, ...] = get_args(Condition)
"""What the model is given: the question alone; also the gold universe; also the operations; both."""


class ConditionScore(BaseModel):
    """The score of one question under one condition: a row of scores.jsonl."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    item_id: str
    model: str = "model"
    score: float = Field(ge=0, le=1)
    condition: Condition | None = None
    """None where the file as a whole stands for one."""


@dataclass(frozen=True)
class Stages:
    """Accuracy lost at each stage, in [-1, 1]."""

    completeness: float
    """Lost for want of the full universe: accuracy given it minus accuracy of the question alone."""
    awareness: float
    """Lost for want of knowing what to do: accuracy given the operations minus question alone."""
    application: float
    """Lost although universe and operations are given: 1 minus that accuracy."""


@dataclass(frozen=True)
class ModelStages:
    """The stages of one model, over the questions marked under all four conditions."""

    model: str
    items: int
    left_out: int
    """Questions marked under some conditions only."""
    accuracy: Mapping[str, float]
    """By condition."""
    stages: Stages

    def as_row(self) -> dict[str, Any]:
        """Return what is written and printed of it."""
        row = {"model": self.model, "items": self.items, "left_out": self.left_out}
        return row | {"accuracy": dict(self.accuracy)} | asdict(self.stages)


def read_scores(path: Path, condition: str | None = None) -> list[ConditionScore]:
    """Read scores of one condition, or of several if the rows name theirs.

    Raises:
        InputError: an unreadable file, or a row without a condition where none is given.
    """
    rows = read_typed(path, ConditionScore)
    if condition is not None:
        return [row.model_copy(update={"condition": condition}) for row in rows]
    bare = next((row for row in rows if row.condition is None), None)
    if bare is not None:
        raise InputError(
            f"{path}: item {bare.item_id!r} names no condition",
            hint=f"give one for the file, {CONDITIONS[0]}={path.name}, or a column condition",
        )
    return rows


def read_stages(given: Sequence[str]) -> list[ConditionScore]:
    """Read CONDITION=FILE, or files whose rows name their condition themselves.

    Raises:
        UsageError: no such condition.
        InputError, RowErrors: files that cannot be read.
    """
    rows: list[ConditionScore] = []
    for one in given:
        condition, parted, path = one.partition("=")
        if parted and condition not in CONDITIONS:
            raise UsageError(f"--stages {one}: no such condition", hint=", ".join(CONDITIONS))
        rows += read_scores(Path(path), condition) if parted else read_scores(Path(one))
    return rows


def stage_files(given: Sequence[str]) -> list[Path]:
    """Return the files of CONDITION=FILE."""
    return [Path(one.partition("=")[2] or one) for one in given]


def compare_conditions(rows: Iterable[ConditionScore]) -> list[ModelStages]:
    """Compare each model's accuracy under the four conditions; sorted by model.

    Raises:
        InputError: a question marked twice under one condition, or a model none of whose
            questions is marked under all four.
    """
    tables: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: {name: {} for name in CONDITIONS})
    for row in rows:
        table = tables[row.model][row.condition or ""]
        if row.item_id in table:
            raise InputError(
                f"model {row.model!r}: item {row.item_id!r} has two scores under {row.condition!r}"
            )
        table[row.item_id] = row.score
    return [_compare(model, table) for model, table in sorted(tables.items())]


def _compare(model: str, table: Mapping[str, Mapping[str, float]]) -> ModelStages:
    common = sorted(set.intersection(*(set(scores) for scores in table.values())))
    if not common:
        lacking = [name for name in CONDITIONS if not table[name]] or list(CONDITIONS)
        raise InputError(
            f"model {model!r}: no question is marked under all four conditions",
            hint="needed are " + ", ".join(f"{name}=FILE" for name in lacking),
        )
    accuracy = {name: sum(table[name][item_id] for item_id in common) / len(common) for name in CONDITIONS}
    known = set().union(*table.values())
    return ModelStages(model, len(common), len(known) - len(common), accuracy, find_stages(accuracy))


def find_stages(accuracy: Mapping[str, float]) -> Stages:
    """Compare the accuracies of the four conditions.

    Raises:
        KeyError: a condition is missing.
    """
    alone = accuracy["question"]
    return Stages(
        completeness=accuracy["universe"] - alone,
        awareness=accuracy["operations"] - alone,
        application=1.0 - accuracy["both"],
    )
