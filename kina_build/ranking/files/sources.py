"""Score files in: our scores.jsonl or a plain matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.ranking.itemanalysis import NO_LETTER
from kina_build.rows.tables import Row, read_table
from kina_build.scoring.lettering import STATED

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
    keys: Mapping[str, str] = field(default_factory=dict)
    """Item to the letter of its right option when it was scored, where the rows tell."""
    stated: bool = False
    """Letters were read in an order that their reader stated."""
    known: NDArray[np.float64] | None = None
    """Share of an item's samples that were answered, shape as scores; None: all, where there is a score."""
    passages: Mapping[str, str] = field(default_factory=dict)
    """Item to the digest of its passage, where the rows tell."""
    lengths: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """(model, item) to the mean length of its replies, where the rows hold them."""


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
    if "response" in columns and "score" not in columns:
        raise InputError(f"{path}: replies, not scores", hint="`kina score --responses` marks them")
    models = tuple(name for name in columns if name not in FIXED_COLUMNS)
    if "item_id" not in columns or not models:
        raise InputError(
            f"{path}: neither scores.jsonl nor a score matrix",
            hint="give rows of item_id, model, score, or columns item_id, discipline, then one a model; "
            "`kina results` reads other tools' logs",
        )
    return _read_matrix(rows, models, str(path))


def table_of(rows: Iterable[BaseModel], name: str = "scores") -> ScoreTable:
    """Make a table of records with item_id, model and score, as `score` returns them.

    Raises:
        InputError: no rows.
        RowErrors: as read_scores; lines are places in `rows`.
    """
    listed = [Row(line, row.model_dump(mode="json")) for line, row in enumerate(rows, start=1)]
    if not listed:
        raise InputError(f"{name}: no rows")
    return _read_long(listed, name)


def _read_long(rows: Sequence[Row], name: str) -> ScoreTable:
    epochs: dict[tuple[str, str], dict[Any, tuple[float, float]]] = {}

    def take(row: Row) -> None:
        model, item_id = _text(row, "model"), _text(row, "item_id")
        own = epochs.setdefault((model, item_id), {})
        epoch = row.values.get("epoch")
        if epoch in own or (own and None in {epoch, *own}):
            raise ValueError(f"model {model!r} has a second score for item {item_id!r}")
        # null: nothing could be scored, which is not the same as wrong
        score = _score(row.values.get("score"), "score")
        own[epoch] = score, 0.0 if np.isnan(score) else _answered(row)

    _gather(rows, name, take)
    cells = {key: _mean_score(list(own.values())) for key, own in epochs.items()}
    models = tuple(dict.fromkeys(model for model, _ in cells))
    disciplines = _disciplines(rows, name)
    table = _table(models, disciplines, {key: score for key, (score, _) in cells.items()})
    shares = _table(models, disciplines, {key: share for key, (_, share) in cells.items()}).scores
    answers = {str(row.values["item_id"]): row.values.get("answer") for row in rows}
    return replace(
        table,
        letters=_single_letters(rows, table),
        keys={item_id: letter for item_id, letter in answers.items() if isinstance(letter, str) and letter},
        stated=any(row.values.get("letters_order") == STATED for row in rows),
        known=np.nan_to_num(shares),
        lengths=_reply_lengths(rows),
        passages={
            str(row.values["item_id"]): passage
            for row in rows
            if isinstance(passage := row.values.get("passage"), str) and passage
        },
    )


def _reply_lengths(rows: Sequence[Row]) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        reply = row.values.get("response")
        if isinstance(reply, str):
            found.setdefault((row.values["model"], row.values["item_id"]), []).append(len(reply))
    return {key: sum(own) / len(own) for key, own in found.items()}


def _answered(row: Row) -> float:
    """Return the share of the samples asked that a score is the mean of, where the row tells."""
    samples, asked = row.values.get("samples"), row.values.get("asked")
    if samples is None or asked is None:
        return 1.0
    try:
        share = int(samples) / int(asked)
    except (TypeError, ValueError, ZeroDivisionError):
        raise ValueError(f"samples, asked: {samples!r} of {asked!r} are no counts") from None
    if not 0 < share <= 1:
        raise ValueError(f"samples, asked: {samples!r} of {asked!r} is no share")
    return share


def _mean_score(epochs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Average the epochs of an item that have a score; and the share of its samples that have one."""
    answered = [(score, share) for score, share in epochs if share]
    if not answered:
        return float("nan"), 0.0
    weight = sum(share for _, share in answered)
    return sum(score * share for score, share in answered) / weight, weight / len(epochs)


def _single_letters(rows: Sequence[Row], table: ScoreTable) -> dict[str, Sequence[str]] | None:
    """Return the letters where `kina score` wrote exactly one for each model and item."""
    given = {(row.values["model"], row.values["item_id"]): row.values.get("letters") for row in rows}
    if not all(map(_is_single_letter, given.values())):
        return None
    return {
        model: tuple((given.get((model, item_id)) or [None])[0] or NO_LETTER for item_id in table.item_ids)
        for model in table.models
    }


def _is_single_letter(letters: Any) -> bool:
    return isinstance(letters, list) and len(letters) == 1 and isinstance(letters[0], str | None)


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
        known = found.setdefault(item_id, discipline)
        if not known:  # a row that tells none contradicts none
            found[item_id] = discipline
        elif discipline not in ("", known):
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
