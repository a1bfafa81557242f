"""Letters in: a string of one a item for each model, or those that scores hold, beside the items' keys."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from kina_build.errors import InputError, Refusal, RowErrors, RowFault
from kina_build.ranking.files.itemfiles import ItemKey
from kina_build.ranking.files.sources import ScoreTable
from kina_build.rows.jsonl import read_records


class LetterRow(BaseModel):
    """One model's letters, one character an item."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    model: str = Field(min_length=1)
    answers: str = Field(min_length=1)


def read_letters(path: Path, items: Sequence[ItemKey]) -> ScoreTable:
    """Read rows of model, answers: a string of one letter an item, in the order of `items`.

    Anything but an item's own key scores 0, "-" (no letter) and letters it does not have too.

    Raises:
        InputError: an item with several right answers, or a repeated model.
        RowErrors: a string of another length than the items.
    """
    several = next((key.item_id for key in items if key.several), None)
    if several is not None:
        raise InputError(
            f"{path}: one letter an item, but item {several!r} takes several",
            hint="rank the scores that `kina score` gives: --scores",
        )
    rows = read_records(path, LetterRow)
    faults = [
        RowFault(str(path), line, f"answers: {len(row.answers)} letters for {len(items)} items")
        for line, row in enumerate(rows, start=1)
        if len(row.answers) != len(items)
    ]
    if faults:
        raise RowErrors(faults, hint="--letters-of must be the file the answers were given to, in its order")
    if len({row.model for row in rows}) != len(rows):
        raise InputError(f"{path}: a model stands on more than one row")
    right = np.array([key.letter for key in items])
    return ScoreTable(
        models=tuple(row.model for row in rows),
        item_ids=tuple(key.item_id for key in items),
        scores=np.stack([np.array(list(row.answers)) == right for row in rows]).astype(float),
        disciplines=tuple(key.discipline for key in items),
        letters={row.model: tuple(row.answers) for row in rows},
        stated=True,
    )


def check_letters(table: ScoreTable, keys: Sequence[ItemKey]) -> None:
    """Refuse letters that were scored in another order of options than the items have.

    Raises:
        Refusal: an item whose right option bore another letter when it was scored.
    """
    if table.letters is None:
        return
    moved = [key.item_id for key in keys if table.keys.get(key.item_id, key.letter) != key.letter]
    if moved:
        raise Refusal(
            f"{len(moved)} items bore another right letter when they were scored, first {moved[0]!r}: the "
            "letters in the scores follow another order of options than these items",
            hint="give the --release or --items that `kina score` was given, or neither",
        )


def letters_of(table: ScoreTable, item_ids: Sequence[str]) -> dict[str, Sequence[str]] | None:
    """Put every model's letters into the order of a board's items."""
    if table.letters is None:
        return None
    place = {item_id: index for index, item_id in enumerate(table.item_ids)}
    chosen = [place[item_id] for item_id in item_ids]
    return {model: [row[c] for c in chosen] for model, row in table.letters.items()}
