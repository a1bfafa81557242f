"""Accuracies by discipline, with ranks only where there are items enough."""

from __future__ import annotations

from collections.abc import Sequence

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
