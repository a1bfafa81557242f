"""Items seen through the models' answers: difficulty, discrimination, distractors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from kina_build.ranking.board import Board
from kina_build.ranking.intervals import Floats

NO_LETTER = "-"
"""Stands for a reply without a readable letter."""


class ItemFigures(BaseModel):
    """Describe how one item separates models."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    item_id: str
    discipline: str
    p: float
    """Mean score over models: 1 for an item that all get right."""
    discrimination: float | None = None
    """Correlation of its scores with the models' scores on the other items; None where
    all models score the same."""
    flag_key: bool = False
    """Its discrimination is negative: better models miss it, so read its key again."""
    picks: dict[str, int] = {}
    """Letters given, the most common first; only where letters are known."""
    distractor: str | None = None
    """The wrong letter that the better half of the models picks most."""
    distractor_beats_key: bool | None = None
    """Whether the better half picks that letter more often than the key."""


def analyse_items(board: Board) -> list[ItemFigures]:
    """Return each item's difficulty and corrected item-rest discrimination."""
    difficulty = board.scores.mean(axis=0)
    discrimination = rest_correlation(board.scores)
    return [
        ItemFigures(
            item_id=item_id,
            discipline=discipline,
            p=round(float(p), 6),
            discrimination=None if np.isnan(r) else round(float(r), 6),
            flag_key=bool(r < 0),
        )
        for item_id, discipline, p, r in zip(
            board.item_ids, board.disciplines, difficulty, discrimination, strict=True
        )
    ]


def rest_correlation(scores: Floats) -> Floats:
    """Correlate each item with the sum of the others, over models; NaN where undefined.

    Args:
        scores: shape (models, items).
    """
    centred = scores - scores.mean(axis=0)
    total = centred.sum(axis=1, keepdims=True)
    rest = total - centred
    covariance = (centred * rest).sum(axis=0)
    scale = np.sqrt((centred**2).sum(axis=0) * (rest**2).sum(axis=0))
    # all models equal leaves 1e-17, not 0
    return np.asarray(np.divide(covariance, scale, out=np.full(len(scale), np.nan), where=scale > 1e-9))


def add_distractors(
    figures: Sequence[ItemFigures], letters: Sequence[Sequence[str]], keys: Sequence[str], accuracy: Floats
) -> list[ItemFigures]:
    """Add which letters were picked.

    Args:
        figures: one an item.
        letters: one row a model, one letter an item, in the order of `figures`.
        keys: the right letter of each item.
        accuracy: one a model; the better half is at or above its median.
    """
    better = [row for row, value in zip(letters, accuracy, strict=True) if value >= np.median(accuracy)]
    return [
        figure.model_copy(update=_picks([row[c] for row in letters], [row[c] for row in better], keys[c]))
        for c, figure in enumerate(figures)
    ]


def _picks(everyone: list[str], better: list[str], key: str) -> dict[str, object]:
    counts = Counter(everyone)
    wrong = Counter(letter for letter in better if letter not in (key, NO_LETTER))
    found: dict[str, object] = {"picks": dict(sorted(counts.items(), key=lambda c: (-c[1], c[0])))}
    if wrong:
        letter = min(wrong, key=lambda c: (-wrong[c], c))
        found |= {"distractor": letter, "distractor_beats_key": wrong[letter] > better.count(key)}
    return found
