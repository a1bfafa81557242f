"""Two models, or two conditions of one, on the same items: what differs, and what these items can show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kina_build.config import RankingRules
from kina_build.ranking.board import Board
from kina_build.ranking.intervals import two_sided_z
from kina_build.ranking.leaderboard import Row, figure, p_figure
from kina_build.ranking.pairs import (
    detectable_difference,
    mcnemar_exact,
    mcnemar_mid_p,
    paired_z,
    possible,
    span,
)
from kina_build.ranking.ranks import paired_standard_errors
from kina_build.rows.jsonl import write_records

LENGTH_GROUPS = 4
"""Groups of items by the length of their replies: quarters."""


class Gap(Row):
    """The difference on some of the items."""

    name: str
    n: int
    first: float
    second: float
    difference: float
    low: float | None
    """Bounds of the difference for this group alone; None of a single item."""
    high: float | None


class Change(Row):
    """What both score on one item."""

    item_id: str
    discipline: str
    first: float
    second: float


class Comparison(Row):
    """Two rows of scores, item by item."""

    first: str
    second: str
    items: int
    clusters: int | None
    """What counts as independent, where items share a passage or cluster."""
    accuracy_first: float
    accuracy_second: float
    coverage_first: float
    coverage_second: float
    """Shares of what was asked for which there is a score."""
    missing: str | None
    difference: float
    """Accuracy of the first less that of the second."""
    low: float
    high: float
    level: float
    difference_worst: float | None = None
    """The difference had the first been wrong, and the second right, wherever a score is missing."""
    difference_best: float | None = None
    test: str
    """mcnemar (mid-p), or paired-z where scores are no 0 or 1, or items hang together."""
    p: float
    p_exact: float | None = None
    only_first: int | None = None
    only_second: int | None = None
    needed: float | None
    """Least difference that these items show with 80 % power; None: more than any difference can be."""
    items_needed: int | None
    """Items of this kind that would show the difference seen with 80 % power; None of no difference."""
    disciplines: tuple[Gap, ...] = ()
    lengths: tuple[Gap, ...] = ()
    """Quarters of the items by the mean length of both replies, the shortest first."""
    gained: int
    """Items on which the first scores more."""
    lost: int
    changes: tuple[Change, ...]
    """Items on which they differ, the greatest differences first."""

    @property
    def report(self) -> dict[str, Any]:
        """Return the document that `kina compare --json` prints."""
        return self.model_dump(mode="json")

    def write(self, path: Path) -> None:
        """Write the items on which the two differ."""
        write_records(path, self.changes)

    def __str__(self) -> str:
        """Say what was seen and what was needed."""
        needed = "too few items" if self.needed is None else f"{100 * self.needed:.1f} points needed"
        return (
            f"{self.first} less {self.second}: {100 * self.difference:+.1f} points "
            f"({100 * self.low:+.1f} to {100 * self.high:+.1f}); {needed}"
        )


@dataclass(frozen=True)
class Two:
    """The board of two rows, and which is first."""

    board: Board
    first: int
    second: int

    @property
    def gaps(self) -> Any:
        """Return the differences by item."""
        return self.board.scores[self.first] - self.board.scores[self.second]


def compare_two(
    two: Two,
    rules: RankingRules = RankingRules(),
    missing: str | None = None,
    lengths: Mapping[tuple[str, str], float] | None = None,
) -> Comparison:
    """Compare two rows of a board.

    Args:
        two: the board of both.
        rules: level and power.
        missing: what became of missing scores.
        lengths: of the replies, by model and item.
    """
    board, n = two.board, len(two.board.item_ids)
    difference = float(board.accuracy[two.first] - board.accuracy[two.second])
    se = float(paired_standard_errors(board)[two.first, two.second])
    reach = two_sided_z(rules.level) * se
    needed = _needed(two, difference, se, rules.power_factor)
    cover = board.coverage or (1.0, 1.0)
    seen = abs(difference) > 0
    return Comparison(
        first=board.models[two.first],
        second=board.models[two.second],
        items=n,
        clusters=len(set(board.clusters)) if board.clustered else None,
        accuracy_first=figure(board.accuracy[two.first]),
        accuracy_second=figure(board.accuracy[two.second]),
        coverage_first=figure(cover[two.first]),
        coverage_second=figure(cover[two.second]),
        missing=missing,
        difference=figure(difference),
        **span(difference, reach),
        level=rules.level,
        **_cases(two),
        **_test(two, difference, se),
        needed=possible(needed),
        items_needed=math.ceil(n * (needed / difference) ** 2) if seen else None,
        disciplines=_by_discipline(two, rules.level),
        lengths=_by_length(two, lengths or {}, rules.level),
        gained=int((two.gaps > 0).sum()),
        lost=int((two.gaps < 0).sum()),
        changes=_changes(two),
    )


def _needed(two: Two, difference: float, se: float, factor: float) -> float:
    squared = float((two.gaps**2).mean())
    if not two.board.clustered:
        return detectable_difference(squared, difference, len(two.board.item_ids), factor)
    units = len(set(two.board.clusters))
    return max(factor * se, detectable_difference(0.0, 0.0, units, factor))


def _cases(two: Two) -> dict[str, float]:
    board = two.board
    if not board.best:
        return {}
    worst = float(board.accuracy[two.first]) - board.best[two.second]
    return {
        "difference_worst": figure(worst),
        "difference_best": figure(board.best[two.first] - float(board.accuracy[two.second])),
    }


def _test(two: Two, difference: float, se: float) -> dict[str, Any]:
    if not two.board.binary or two.board.clustered:
        return {"test": "paired-z", "p": p_figure(paired_z(difference, se))}
    ahead, behind = int((two.gaps > 0).sum()), int((two.gaps < 0).sum())
    return {
        "test": "mcnemar",
        "only_first": ahead,
        "only_second": behind,
        "p": p_figure(mcnemar_mid_p(ahead, behind)),
        "p_exact": p_figure(mcnemar_exact(ahead, behind)),
    }


def _by_discipline(two: Two, level: float) -> tuple[Gap, ...]:
    names = sorted(set(two.board.disciplines) - {""})
    return tuple(
        _gap(two, name, [c for c, own in enumerate(two.board.disciplines) if own == name], level)
        for name in names
    )


def _by_length(two: Two, lengths: Mapping[tuple[str, str], float], level: float) -> tuple[Gap, ...]:
    """Cut the items into quarters by the mean length of both replies; none unless all are known."""
    models = two.board.models
    if not lengths or any((model, one) not in lengths for model in models for one in two.board.item_ids):
        return ()
    means = np.array([sum(lengths[model, one] for model in models) / 2 for one in two.board.item_ids])
    groups = np.array_split(np.argsort(means, kind="stable"), LENGTH_GROUPS)
    return tuple(
        _gap(two, f"{means[group].min():.0f} to {means[group].max():.0f} characters", group.tolist(), level)
        for group in groups
        if len(group)
    )


def _gap(two: Two, name: str, columns: Sequence[int], level: float) -> Gap:
    board = two.board
    part = replace(
        board,
        item_ids=tuple(board.item_ids[c] for c in columns),
        scores=np.ascontiguousarray(board.scores[:, columns]),
        disciplines=tuple(board.disciplines[c] for c in columns),
        clusters=tuple(board.clusters[c] for c in columns),
    )
    first, second = float(part.accuracy[two.first]), float(part.accuracy[two.second])
    single = len(set(part.clusters)) < 2
    reach = 0.0 if single else two_sided_z(level) * float(paired_standard_errors(part)[two.first, two.second])
    return Gap(
        name=name,
        n=len(columns),
        first=figure(first),
        second=figure(second),
        difference=figure(first - second),
        **({"low": None, "high": None} if single else span(first - second, reach)),
    )


def _changes(two: Two) -> tuple[Change, ...]:
    board, gaps = two.board, two.gaps
    order = sorted(np.flatnonzero(gaps), key=lambda c: (-abs(gaps[c]), board.item_ids[c]))
    return tuple(
        Change(
            item_id=board.item_ids[c],
            discipline=board.disciplines[c],
            first=figure(board.scores[two.first, c]),
            second=figure(board.scores[two.second, c]),
        )
        for c in order
    )
