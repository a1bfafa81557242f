"""Two models on the same items: McNemar's tests, Holm's correction, detectable difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf
from statistics import NormalDist, median
from typing import Any

import numpy as np

from kina_build.ranking.intervals import Floats, two_sided_z
from kina_build.ranking.leaderboard import Pair, figure, p_figure
from kina_build.ranking.standings import Study


@dataclass(frozen=True)
class Discordance:
    """How models differ item by item, as square arrays over the rows of the scores."""

    only_first: Floats
    """[i, j]: items that i gets right and j wrong, for scores of 0 or 1; counts in whole numbers."""
    squared: Floats
    """[i, j]: mean squared difference; for scores of 0 or 1 the share of items they disagree on."""


def count_discordant(scores: Floats) -> Discordance:
    """Count disagreements of all pairs in one product.

    Args:
        scores: shape (models, items).
    """
    both = scores @ scores.T
    squares = np.diag(both)
    squared = (squares[:, None] + squares[None, :] - 2 * both) / scores.shape[1]
    return Discordance(only_first=scores.sum(axis=1)[:, None] - both, squared=squared)


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Return McNemar's exact two-sided p-value: the binomial test of b against c."""
    tail, _ = _binomial(only_first, only_second)
    return min(1.0, 2 * tail)


def mcnemar_mid_p(only_first: int, only_second: int) -> float:
    """Return McNemar's mid-p value (Fagerland et al. 2013): less conservative than the exact one."""
    tail, point = _binomial(only_first, only_second)
    return min(1.0, 2 * tail - point) if only_first + only_second else 1.0


def paired_z(difference: float, se: float) -> float:
    """Return the two-sided p-value of a paired difference, for scores that are not 0 or 1."""
    if se == 0:
        return 1.0 if difference == 0 else 0.0
    return 2 * NormalDist().cdf(-abs(difference) / se)


def unpaired_z(first: float, second: float, n: int) -> float:
    """Return the two-sided p-value of two shares as if each had its own n items.

    For published accuracies only: the items are the same, so that this is too cautious
    wherever the models' answers go together.
    """
    pooled = (first + second) / 2
    return paired_z(first - second, float(np.sqrt(2 * pooled * (1 - pooled) / n)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust the p-values of one family so that it errs once with at most alpha (Holm 1979)."""
    adjusted = [0.0] * len(p_values)
    worst = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        worst = max(worst, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = worst
    return adjusted


RULE_OF_THREE = 3
"""Over n items without a disagreement, 3 / n bounds the share of disagreements with 95 %."""


def detectable_difference(discordant: float, delta: float, n: int, factor: float) -> float:
    """Return the least true difference that n items show with 80 % power: a bound, never 0.

    Models that agree on nearly all of n items may disagree on others: the variance is taken to be
    at least 3 / n.

    Args:
        discordant: mean squared difference of the two models' scores; for right or wrong
            answers the share of items on which they disagree.
        delta: the difference itself, as observed or planned for.
        n: items.
        factor: z of the test plus z of the power: 2.8 for 5 % two-sided and 80 %.
    """
    return float(factor * np.sqrt(max(discordant - delta * delta, RULE_OF_THREE / n) / n))


def possible(least: float) -> float | None:
    """Return a detectable difference as a figure; None where no two models can differ by so much."""
    return figure(least) if least <= 1 else None


def span(difference: float, reach: float, name: str = "") -> dict[str, float]:
    """Return the bounds of a difference, as fields of a record: no two models differ by more than 1.

    Args:
        difference: of two means.
        reach: to either side.
        name: what the names of the fields end with, "" or "_simultaneous".
    """
    low, high = max(difference - reach, -1.0), min(difference + reach, 1.0)
    return {f"low{name}": figure(low), f"high{name}": figure(high)}


def median_possible(pairs: Sequence[Pair]) -> float | None:
    """Return the median over neighbours of their detectable differences; None of too few items, or of one."""
    gaps = [inf if pair.mdd is None else pair.mdd for pair in pairs if pair.p_next_holm is not None]
    return possible(median(gaps)) if gaps else None


def _binomial(b: int, c: int) -> tuple[float, float]:
    """Return P(X <= min(b, c)) and P(X = min(b, c)) for X ~ Binomial(b + c, 1/2)."""
    from scipy.special import bdtr

    k, n = min(b, c), b + c
    tail = float(bdtr(k, n, 0.5))
    return tail, tail - (float(bdtr(k - 1, n, 0.5)) if k else 0.0)


def compare_pairs(study: Study, order: list[int]) -> list[Pair]:
    """Compare all models two by two; Holm within "each against the next" and "each against the leader".

    Args:
        study: the board with its resamples and comparisons.
        order: row numbers, best first.
    """
    discordance = count_discordant(study.board.scores)
    places = list(combinations(range(len(order)), 2))
    found = [_compare(study, discordance, order[a], order[b]) for a, b in places]
    following = _holm_of(found, [p for p, (a, b) in enumerate(places) if b == a + 1])
    leading = _holm_of(found, [p for p, (a, _) in enumerate(places) if a == 0])
    return [
        pair.model_copy(update={"p_next_holm": following.get(p), "p_leader_holm": leading.get(p)})
        for p, pair in enumerate(found)
    ]


def _compare(study: Study, discordance: Discordance, a: int, b: int) -> Pair:
    board, contrasts, factor = study.board, study.contrasts, study.rules.power_factor
    difference, se = float(contrasts.difference[a, b]), float(contrasts.se[a, b])
    alone, all_pairs = two_sided_z(study.rules.level) * se, contrasts.critical_simultaneous * se
    squared = float(discordance.squared[a, b])
    mdd = detectable_difference(squared, difference, len(board.item_ids), factor)
    return Pair(
        first=board.models[a],
        second=board.models[b],
        difference=figure(difference),
        **span(difference, alone),
        **span(difference, all_pairs, "_simultaneous"),
        distinct=bool(contrasts.beats_simultaneous[a, b]),
        win=figure(contrasts.win[a, b]),
        # where items hang together, the formula for independent ones promises too much
        mdd=possible(max(factor * se, _least(study)) if board.clustered else mdd),
        **_test(study, discordance, a, b),
    )


def _least(study: Study) -> float:
    """Return what clusters that all agree show: as many independent items would show no less."""
    return detectable_difference(0.0, 0.0, study.resamples.units, study.rules.power_factor)


def _test(study: Study, discordance: Discordance, a: int, b: int) -> dict[str, Any]:
    # McNemar's test takes items as independent
    if not study.board.binary or study.board.clustered:
        difference, se = float(study.contrasts.difference[a, b]), float(study.contrasts.se[a, b])
        return {"test": "paired-z", "p": p_figure(paired_z(difference, se))}
    ahead, behind = int(discordance.only_first[a, b]), int(discordance.only_first[b, a])
    return {
        "test": "mcnemar",
        "only_first": ahead,
        "only_second": behind,
        "p": p_figure(mcnemar_mid_p(ahead, behind)),
        "p_exact": p_figure(mcnemar_exact(ahead, behind)),
    }


def _holm_of(pairs: list[Pair], family: list[int]) -> dict[int, float]:
    adjusted = holm([pairs[place].p for place in family])
    return {place: p_figure(p) for place, p in zip(family, adjusted, strict=True)}
