"""What published accuracies alone allow: no item-level scores, so no paired comparison.

Two models answered the same items; how often they fail together is not published.
Comparisons here treat the runs as if each had its own items, which is too cautious where
answers go together. The item counts of the disciplines need not be published: an overall
accuracy is their item-weighted mean, so that enough models give the weights away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kina_build.config import RankingRules
from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.ranking.disciplines import Discipline, DisciplineRow, spread_of
from kina_build.ranking.intervals import Floats, bonferroni_z, two_sided_z, wilson
from kina_build.ranking.leaderboard import Leaderboard, Pair, Standing, figure, p_figure
from kina_build.ranking.pairs import detectable_difference, holm, median_possible, possible, span, unpaired_z
from kina_build.ranking.ranks import find_tiers, interval_ranks, order_models
from kina_build.ranking.stability import TOP
from kina_build.rows.tables import read_table

OVERALL = "ALL"
"""Column of the overall accuracy, in percent."""

PRINTED_GAP = 0.0002
"""Most that a recomputed overall may miss the printed one: rounding of both, .02 points."""

NOTES = (
    (
        "Only published accuracies: comparisons are unpaired (each model as if on items of its own), "
        "too cautious where answers go together; item-level scores would separate more models."
    ),
    (
        "Intervals treat every item as one answer; averages over several answers an item are "
        "somewhat surer than shown."
    ),
)


@dataclass(frozen=True)
class Published:
    """A published table: accuracies as shares of 1."""

    models: tuple[str, ...]
    overall: Floats
    """Shape (models,)."""
    disciplines: tuple[str, ...]
    by_discipline: Floats
    """Shape (models, disciplines)."""


def read_published(path: Path) -> Published:
    """Read a table of model, ALL, then one column a discipline, all in percent.

    Raises:
        InputError: unreadable file or missing columns.
        RowErrors: a figure that is no percentage.
    """
    rows = read_table(path)
    columns = list(dict.fromkeys(name for row in rows for name in row.values))
    if not {"model", OVERALL} <= set(columns):
        raise InputError(
            f"{path}: needs the columns model and {OVERALL}", hint="then one column a discipline, in percent"
        )
    figures = [OVERALL, *(name for name in columns if name not in ("model", OVERALL))]
    values: list[list[float]] = []
    faults: list[RowFault] = []
    for row in rows:
        try:
            values.append([_percent(row.values.get(name), name) for name in figures])
        except ValueError as error:
            faults.append(RowFault(str(path), row.line, str(error)))
    if faults:
        raise RowErrors(faults, hint="published figures are percents, 0 to 100")
    table = np.array(values) / 100
    models = tuple(str(row.values.get("model", "")) for row in rows)
    if len(set(models)) != len(models):
        raise InputError(f"{path}: a model stands on more than one row")
    return Published(models, table[:, 0], tuple(figures[1:]), table[:, 1:])


def infer_item_counts(published: Published, items: int) -> NDArray[np.int64] | None:
    """Find how many items each discipline has, from the overall being their weighted mean.

    Non-negative least squares gives the weights; rounding to whole items that sum to the
    total gives the counts. None where the table does not determine them: fewer models
    than disciplines, or counts that miss a printed overall by more than .02 points.
    """
    from scipy.optimize import nnls

    if not published.disciplines or len(published.models) < len(published.disciplines):
        return None
    pull = 1e3  # holds the sum of the weights at 1
    matrix = np.vstack([published.by_discipline, np.full(len(published.disciplines), pull)])
    weights, _ = nnls(matrix, np.append(published.overall, pull))
    counts = np.floor(weights * items + 0.5).astype(np.int64)
    if counts.sum() != items or counts.min() < 1:
        return None
    gap = np.abs(weighted_overall(published, counts) - published.overall).max()
    return counts if gap <= PRINTED_GAP else None


def weighted_overall(published: Published, counts: NDArray[np.int64]) -> Floats:
    """Return the item-weighted mean over disciplines of each model."""
    return np.asarray(published.by_discipline @ counts / counts.sum())


def rank_published(published: Published, items: int, rules: RankingRules = RankingRules()) -> Leaderboard:
    """Rank what was published, as cautiously as that demands.

    Args:
        published: the table.
        items: items behind each overall accuracy.
        rules: level, least discipline, power.
    """
    order = order_models(published.overall, published.models)
    z = bonferroni_z(rules.level, len(order) * (len(order) - 1) // 2)
    bounds = wilson(published.overall, items, rules.level)
    row_z = bonferroni_z(rules.level, len(order) - 1)
    pairs = _pairs(published, order, items, rules, z)
    counts = infer_item_counts(published, items)
    return Leaderboard(
        standings=_standings(published, order, bounds, items, (row_z, z)),
        pairs=tuple(pairs),
        mdd=median_possible(pairs),
        tau=None,
        models=len(order),
        items=items,
        level=rules.level,
        samples=0,
        seed=0,
        basis="published",
        interval="wilson",
        disciplines=tuple(_disciplines(published, order, counts, rules)) if counts is not None else (),
        notes=NOTES,
    )


def _standings(
    published: Published,
    order: Sequence[int],
    bounds: tuple[Floats, Floats],
    items: int,
    critical: tuple[float, float],
) -> tuple[Standing, ...]:
    p = published.overall
    spread = np.sqrt((p * (1 - p))[:, None] + (p * (1 - p))[None, :]) / np.sqrt(items)
    gap = p[:, None] - p[None, :]
    models = len(p)
    beats, sure = gap > critical[0] * spread, gap > critical[1] * spread
    arena = interval_ranks(*bounds)
    tiers = find_tiers(order, sure)
    return tuple(
        Standing(
            model=published.models[i],
            accuracy=figure(p[i]),
            low=figure(bounds[0][i]),
            high=figure(bounds[1][i]),
            rank=1 + int(beats[:, i].sum()),
            rank_low=1 + int(beats[:, i].sum()),
            rank_high=models - int(beats[i].sum()),
            rank_low_simultaneous=1 + int(sure[:, i].sum()),
            rank_high_simultaneous=models - int(sure[i].sum()),
            tier=tier,
            rank_arena_low=int(arena[0][i]),
            rank_arena_high=int(arena[1][i]),
            wilson_low=figure(bounds[0][i]),
            wilson_high=figure(bounds[1][i]),
        )
        for i, tier in zip(order, tiers, strict=True)
    )


def _pairs(
    published: Published, order: Sequence[int], items: int, rules: RankingRules, z_all: float
) -> list[Pair]:
    share = published.overall
    places = list(combinations(order, 2))
    p_values = {(a, b): unpaired_z(share[a], share[b], items) for a, b in places}
    following = _holm_of(p_values, list(pairwise(order)))
    leading = _holm_of(p_values, [(order[0], b) for b in order[1:]])
    return [
        _pair(published, pair, items, rules, z_all).model_copy(
            update={
                "p_next_holm": following.get(pair),
                "p_leader_holm": leading.get(pair),
            }
        )
        for pair in places
    ]


def _pair(published: Published, pair: tuple[int, int], items: int, rules: RankingRules, z_all: float) -> Pair:
    a, b = (float(published.overall[row]) for row in pair)
    spread = float(np.sqrt((a * (1 - a) + b * (1 - b)) / items))
    gap, z = a - b, two_sided_z(rules.level)
    # independent runs disagree on a(1 - b) + b(1 - a) of the items
    mdd = detectable_difference(a * (1 - b) + b * (1 - a), gap, items, rules.power_factor)
    return Pair(
        first=published.models[pair[0]],
        second=published.models[pair[1]],
        difference=figure(gap),
        **span(gap, z * spread),
        **span(gap, z_all * spread, "_simultaneous"),
        distinct=gap > z_all * spread,
        test="unpaired-z",
        p=p_figure(unpaired_z(a, b, items)),
        mdd=possible(mdd),
    )


def _holm_of(
    p_values: dict[tuple[int, int], float], family: list[tuple[int, int]]
) -> dict[tuple[int, int], float]:
    adjusted = holm([p_values[pair] for pair in family])
    return {pair: p_figure(p) for pair, p in zip(family, adjusted, strict=True)}


def _disciplines(
    published: Published, order: Sequence[int], counts: NDArray[np.int64], rules: RankingRules
) -> list[Discipline]:
    found: list[Discipline] = []
    for column, name in enumerate(published.disciplines):
        accuracy = published.by_discipline[list(order), column]
        n = int(counts[column])
        low, high = wilson(accuracy, n, rules.level)
        best, worst = interval_ranks(low, high)
        withheld = n < rules.min_discipline
        rows = tuple(
            DisciplineRow(
                model=published.models[row],
                accuracy=figure(accuracy[place]),
                low=figure(low[place]),
                high=figure(high[place]),
                rank_low=None if withheld else int(best[place]),
                rank_high=None if withheld else int(worst[place]),
            )
            for place, row in enumerate(order)
        )
        top = spread_of(name, accuracy[:TOP])
        found.append(Discipline(discipline=name, n=n, ranks_withheld=withheld, top=top, rows=rows))
    return found


def _percent(value: object, column: str) -> float:
    try:
        number = float(str(value))
    except ValueError:
        raise ValueError(f"{column}: {value!r} is not a number") from None
    if not 0 <= number <= 100:
        raise ValueError(f"{column}: {value} is outside 0 to 100")
    return number
