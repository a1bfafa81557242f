"""Score files in: our scores.jsonl, a plain matrix, or letters with their items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.items.model import LETTERS
from kina_build.jsonl import read_json, read_records
from kina_build.ranking.floors import AnswerKey
from kina_build.tables import Row, read_table

ID_FIELDS = ("item_id", "id", "question_id")
"""Where item files keep the id: pools, releases, MMLU-Pro."""

FIXED_COLUMNS = ("item_id", "discipline")


@dataclass(frozen=True)
class ScoreTable:
    """Scores as they were read: gaps are NaN, nothing is sorted or left out."""

    models: tuple[str, ...]
    item_ids: tuple[str, ...]
    scores: NDArray[np.float64]
    """Shape (models, items)."""
    disciplines: tuple[str, ...]
    letters: dict[str, Sequence[str]] | None = None
    """Model to its letters in the order of item_ids, "-" for none."""


class ItemKey(BaseModel):
    """What a ranking needs of an item: the right letter, options, discipline."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str
    letter: str
    options: int
    discipline: str = ""


class LetterRow(BaseModel):
    """One model's letters, one character an item."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    model: str = Field(min_length=1)
    answers: str = Field(min_length=1)


def read_scores(path: Path) -> ScoreTable:
    """Read scores.jsonl (rows item_id, model, score) or a matrix (item_id, discipline, models).

    Raises:
        InputError: unreadable or empty file, or columns of neither form.
        RowErrors: a score that is not in [0, 1], a repeated row, an item in two disciplines.
    """
    rows = read_table(path)
    if not rows:
        raise InputError(f"{path}: no rows below the header")
    columns = list(dict.fromkeys(name for row in rows for name in row.values))
    if {"item_id", "model", "score"} <= set(columns):
        return _read_long(rows, str(path))
    models = tuple(name for name in columns if name not in FIXED_COLUMNS)
    if "item_id" not in columns or not models:
        raise InputError(
            f"{path}: neither scores.jsonl nor a score matrix",
            hint="give rows of item_id, model, score, or columns item_id, discipline, then one a model",
        )
    return _read_matrix(rows, models, str(path))


def read_items(path: Path) -> list[ItemKey]:
    """Read the key, option count and discipline of each item of a pool, release or MMLU-Pro file.

    Raises:
        InputError: unreadable file.
        RowErrors: a row without id, options or a key among them, or a repeated id.
    """
    keys: list[ItemKey] = []
    faults: list[RowFault] = []
    seen: set[str] = set()
    for row in read_table(path):
        try:
            key = _item_key(row.values, seen)
        except ValueError as error:
            faults.append(RowFault(str(path), row.line, str(error)))
            continue
        seen.add(key.item_id)
        keys.append(key)
    if faults:
        raise RowErrors(faults, hint="each row needs an id, its options and the right letter")
    return keys


def read_letters(path: Path, items: Sequence[ItemKey]) -> ScoreTable:
    """Read rows of model, answers: a string of one letter an item, in the order of `items`.

    Anything but an item's own key scores 0, "-" (no letter) and letters it does not have too.

    Raises:
        RowErrors: a string of another length than the items, or a repeated model.
    """
    rows = read_records(path, LetterRow)
    faults = [
        RowFault(str(path), line, f"answers: {len(row.answers)} letters for {len(items)} items")
        for line, row in enumerate(rows, start=1)
        if len(row.answers) != len(items)
    ]
    if faults:
        raise RowErrors(faults, hint="--items must be the file the answers were given to, in its order")
    if len({row.model for row in rows}) != len(rows):
        raise InputError(f"{path}: a model stands on more than one row")
    right = np.array([key.letter for key in items])
    return ScoreTable(
        models=tuple(row.model for row in rows),
        item_ids=tuple(key.item_id for key in items),
        scores=np.stack([np.array(list(row.answers)) == right for row in rows]).astype(float),
        disciplines=tuple(key.discipline for key in items),
        letters={row.model: tuple(row.answers) for row in rows},
    )


def key_of(items: Sequence[ItemKey], item_ids: Sequence[str]) -> AnswerKey:
    """Put the answer key into the order of a board's items.

    Raises:
        InputError: an item of the board that the file does not hold.
    """
    known = {key.item_id: key for key in items}
    missing = [item_id for item_id in item_ids if item_id not in known]
    if missing:
        raise InputError(f"{len(missing)} scored items are not in --items, first {missing[0]!r}")
    return AnswerKey(
        item_ids=tuple(item_ids),
        keys=tuple(known[i].letter for i in item_ids),
        option_counts=tuple(known[i].options for i in item_ids),
    )


def letters_of(table: ScoreTable, item_ids: Sequence[str]) -> dict[str, Sequence[str]] | None:
    """Put every model's letters into the order of a board's items."""
    if table.letters is None:
        return None
    place = {item_id: index for index, item_id in enumerate(table.item_ids)}
    chosen = [place[item_id] for item_id in item_ids]
    return {model: [row[c] for c in chosen] for model, row in table.letters.items()}


def read_item_ids(path: Path) -> list[str]:
    """Read the items to keep: a selection.json (`item_ids`), or rows with an item_id.

    Raises:
        InputError: a file that is neither.
    """
    if path.suffix == ".json":
        document = read_json(path)
        ids = document.get("item_ids") if isinstance(document, dict) else document
        if isinstance(ids, list) and all(isinstance(i, str) for i in ids):
            return ids
        raise InputError(f"{path}: no list item_ids", hint="`kina select` writes it")
    rows = read_table(path)
    ids = [row.values.get("item_id", row.values.get("id")) for row in rows]
    if not all(isinstance(i, str) for i in ids):
        raise InputError(f"{path}: a row has no item_id")
    return ids


def read_clusters(path: Path) -> dict[str, str]:
    """Read rows of item_id, cluster.

    Raises:
        InputError: a row that lacks one of them.
    """
    clusters: dict[str, str] = {}
    for row in read_table(path):
        pair = row.values.get("item_id"), row.values.get("cluster")
        if not all(isinstance(value, str) for value in pair):
            raise InputError(f"{path}:{row.line}: needs item_id and cluster, both text")
        clusters[str(pair[0])] = str(pair[1])
    return clusters


def _read_long(rows: Sequence[Row], name: str) -> ScoreTable:
    cells: dict[tuple[str, str], float] = {}

    def take(row: Row) -> None:
        model, item_id = _text(row, "model"), _text(row, "item_id")
        if (model, item_id) in cells:
            raise ValueError(f"model {model!r} has a second score for item {item_id!r}")
        # null: nothing could be scored, which is not the same as wrong
        cells[model, item_id] = _score(row.values.get("score"), "score")

    _gather(rows, name, take)
    models = tuple(dict.fromkeys(model for model, _ in cells))
    disciplines = _disciplines(rows, name)
    return _table(models, disciplines, cells)


def _read_matrix(rows: Sequence[Row], models: tuple[str, ...], name: str) -> ScoreTable:
    cells: dict[tuple[str, str], float] = {}
    seen: set[str] = set()

    def take(row: Row) -> None:
        item_id = _text(row, "item_id")
        if item_id in seen:
            raise ValueError(f"item_id: {item_id!r} stands on more than one row")
        seen.add(item_id)
        cells.update({(m, item_id): _score(row.values.get(m), m) for m in models})

    _gather(rows, name, take)
    return _table(models, _disciplines(rows, name), cells)


def _gather(rows: Sequence[Row], name: str, take: Callable[[Row], None]) -> None:
    faults: list[RowFault] = []
    for row in rows:
        try:
            take(row)
        except ValueError as error:
            faults.append(RowFault(name, row.line, str(error)))
    if faults:
        raise RowErrors(faults, hint="scores are shares in [0, 1]: divide percents by 100")


def _table(
    models: tuple[str, ...], disciplines: dict[str, str], cells: dict[tuple[str, str], float]
) -> ScoreTable:
    row_of = {model: i for i, model in enumerate(models)}
    column_of = {item_id: i for i, item_id in enumerate(disciplines)}
    scores = np.full((len(models), len(disciplines)), np.nan)
    for (model, item_id), score in cells.items():
        scores[row_of[model], column_of[item_id]] = score
    return ScoreTable(models, tuple(disciplines), scores, tuple(disciplines.values()))


def _disciplines(rows: Sequence[Row], name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for row in rows:
        item_id, discipline = str(row.values["item_id"]), str(row.values.get("discipline") or "")
        if found.setdefault(item_id, discipline) != discipline:
            fault = f"discipline: {discipline!r}, but {found[item_id]!r} on an earlier row of {item_id!r}"
            raise RowErrors([RowFault(name, row.line, fault)])
    return found


def _text(row: Row, column: str) -> str:
    value = row.values.get(column)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{column}: text required")
    return value


def _score(value: Any, column: str) -> float:
    if value is None:
        return float("nan")
    try:
        score = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{column}: {value!r} is not a number") from None
    if not 0 <= score <= 1:
        raise ValueError(f"{column}: {value} is outside [0, 1]")
    return score


def _item_key(values: dict[str, Any], seen: set[str]) -> ItemKey:
    item_id = next((values[name] for name in ID_FIELDS if values.get(name) not in (None, "")), None)
    options = values.get("options") or values.get("choices")
    letter = values.get("correct_answer") or values.get("answer")
    if item_id is None:
        raise ValueError(f"{' or '.join(ID_FIELDS)}: required")
    if str(item_id) in seen:
        raise ValueError(f"item_id: {item_id!r} stands on more than one row")
    if not isinstance(options, list) or not options:
        raise ValueError("options: a list required")
    if len(options) > len(LETTERS):
        raise ValueError(f"options: {len(options)}, but letters end at {LETTERS[-1]}")
    letters = [o["key"] if isinstance(o, dict) and "key" in o else LETTERS[i] for i, o in enumerate(options)]
    if not isinstance(letter, str) or letter not in letters:
        raise ValueError(f"answer: {letter!r} is not one of {', '.join(letters)}")
    discipline = values.get("discipline") or values.get("category") or ""
    return ItemKey(item_id=str(item_id), letter=letter, options=len(options), discipline=str(discipline))
