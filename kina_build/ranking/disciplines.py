"""Accuracies on parts of the items: by discipline, and with and without what stands in other corpora."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from kina_build.ranking.board import Board
from kina_build.ranking.intervals import Floats, wilson
from kina_build.ranking.ranks import interval_ranks
from kina_build.ranking.stability import TOP


class Spread(BaseModel):
    """Summarise the top ten models of one discipline (the paper's Table 7)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    discipline: str
    mean: float
    sd: float
    """Population standard deviation (ddof 0), as the paper prints it."""
    cv: float | None = None
    """Coefficient of variation: sd / mean; none where the mean is 0."""
    lowest: float
    highest: float
    range: float


class DisciplineRow(BaseModel):
    """Give one model's accuracy in one discipline."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    accuracy: float
    low: float
    high: float
    """Wilson bounds on n items."""
    rank_low: int | None
    rank_high: int | None
    """Ranks that the bounds allow; withheld in small disciplines."""


class Discipline(BaseModel):
    """Give all models' accuracies in one discipline."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    discipline: str
    n: int
    ranks_withheld: bool
    top: Spread
    rows: tuple[DisciplineRow, ...]
    """In the order of the standings."""


def split_disciplines(board: Board, order: Sequence[int], level: float, least: int) -> list[Discipline]:
    """Break a board down by discipline.

    Args:
        board: the scores.
        order: row numbers in the order of the standings.
        level: of the Wilson bounds.
        least: items a discipline needs for ranks.
    """
    found = sorted(set(board.disciplines) - {""})
    return [_describe(board, name, order, level, least) for name in found]


class ExposedRow(BaseModel):
    """Give one model's accuracy with and without the items that stand in other corpora."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    accuracy: float
    """On all items."""
    without: float | None
    """On the items that were not found elsewhere; none where all were."""
    within: float | None
    """On those that were found; none where there are none."""
    place: int
    """By accuracy on all items: 1 plus the models above."""
    place_without: int | None


class Exposed(BaseModel):
    """Give accuracies with and without the items that stand in other corpora."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    items: int
    """Ranked items that are contaminated."""
    rows: tuple[ExposedRow, ...]
    """In the order of the standings."""


def split_exposed(board: Board, models: Sequence[str], contaminated: Collection[str]) -> Exposed:
    """Set accuracies on all items beside those on the items that were not found elsewhere.

    Args:
        board: the scores.
        models: those to tell of, in order.
        contaminated: ids of items, ranked ones and others.
    """
    found = np.array([item_id in contaminated for item_id in board.item_ids], dtype=np.bool_)
    rows = [board.models.index(model) for model in models]
    scores = board.scores[rows]
    whole = scores.mean(axis=1)
    clean, dirty = (scores[:, mask].mean(axis=1) if mask.any() else None for mask in (~found, found))
    return Exposed(
        items=int(found.sum()),
        rows=tuple(
            ExposedRow(
                model=model,
                accuracy=round(float(whole[row]), 6),
                without=None if clean is None else round(float(clean[row]), 6),
                within=None if dirty is None else round(float(dirty[row]), 6),
                place=_place(whole, row),
                place_without=None if clean is None else _place(clean, row),
            )
            for row, model in enumerate(models)
        ),
    )


def _place(accuracies: Floats, row: int) -> int:
    return 1 + int((accuracies > accuracies[row] + 1e-12).sum())


def spread_of(discipline: str, top: Floats) -> Spread:
    """Return mean, population SD and range of some accuracies."""
    lowest, highest = float(top.min()), float(top.max())
    return Spread(
        discipline=discipline,
        mean=round(float(top.mean()), 6),
        sd=round(float(top.std(ddof=0)), 6),
        cv=round(float(top.std(ddof=0) / top.mean()), 6) if top.mean() else None,
        lowest=round(lowest, 6),
        highest=round(highest, 6),
        range=round(highest - lowest, 6),
    )


def _describe(board: Board, name: str, order: Sequence[int], level: float, least: int) -> Discipline:
    columns = [c for c, discipline in enumerate(board.disciplines) if discipline == name]
    accuracy = board.scores[list(order)][:, columns].mean(axis=1)
    n = len(columns)
    low, high = wilson(accuracy, n, level)
    best, worst = interval_ranks(low, high)
    withheld = n < least
    return Discipline(
        discipline=name,
        n=n,
        ranks_withheld=withheld,
        top=spread_of(name, accuracy[:TOP]),
        rows=tuple(
            DisciplineRow(
                model=board.models[row],
                accuracy=round(float(accuracy[place]), 6),
                low=round(float(low[place]), 6),
                high=round(float(high[place]), 6),
                rank_low=None if withheld else int(best[place]),
                rank_high=None if withheld else int(worst[place]),
            )
            for place, row in enumerate(order)
        ),
    )
