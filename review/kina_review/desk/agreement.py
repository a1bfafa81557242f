"""Agreement beyond chance, and an honest "undefined" where the data cannot show any.

A coefficient of data without variation is neither 0 nor 1: nobody could have disagreed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kina_review.rubric import RESAMPLES

Level = Literal["nominal", "ordinal", "interval"]
Value = str | float
Units = Mapping[str, Sequence[Value]]
"""Item id to the values its raters gave; a missing rating is simply not in the list."""


@dataclass(frozen=True)
class Coefficient:
    """One agreement coefficient with its interval, or the reason it has no value."""

    name: str
    value: float | None
    low: float | None
    """2.5 % bootstrap percentile over items."""
    high: float | None
    reason: Literal["", "no_variation", "no_pairs"]
    """Empty where there is a value."""
    units: int
    """Items with at least two values."""
    values: int
    """Values on those items."""
    percent_agreement: float | None
    """Share of agreeing pairs of values, over all pairs within items."""


@dataclass(frozen=True)
class Disagreement:
    """How often votes call an item wrong, under each rule for counting votes."""

    n: int
    any_dissent: float
    majority: float
    unanimous: float


def krippendorff_alpha(units: Units, level: Level = "nominal", *, seed: int = 0) -> Coefficient:
    """Compute Krippendorff's alpha with missing values.

    Args:
        units: values by item; ordinal and interval levels need numbers.
        level: which values are near: none, by rank, or by difference.
        seed: of the bootstrap over items.

    Source:
        K. Krippendorff, Computing Krippendorff's alpha-reliability (2011).
    """
    pairable = _pairable(units)
    labels = sorted(
        {value for values in pairable for value in values}, key=repr if level == "nominal" else None
    )
    tables = [_coincidences(values, labels) for values in pairable]

    def estimate(chosen: NDArray[np.float64]) -> float | None:
        return _alpha(chosen, labels, level)

    return _coefficient(f"alpha_{level}", tables, pairable, estimate, seed)


def gwet_ac1(units: Units, *, seed: int = 0) -> Coefficient:
    """Compute Gwet's AC1 for nominal values, with missing ratings.

    Agreement is observed on items with two values or more; how the categories are used is
    taken from all items with a value. Chance agreement is computed from how evenly they
    are used, so the coefficient stays high where nearly everything is of one kind; with a
    single category in use it is undefined like the others.

    Source:
        K. L. Gwet, Handbook of Inter-Rater Reliability, 4th ed. (2014), chapters 2 and 5.
    """
    rated = [units[item] for item in sorted(units) if len(units[item])]
    labels = sorted({value for values in rated for value in values}, key=repr)
    # one row an item: whether it has a pair, agreement within it, then the share of each category
    rows = [
        np.array([len(values) > 1, _agreeing(values) if len(values) > 1 else 0.0, *_shares(values, labels)])
        for values in rated
    ]

    def estimate(total: NDArray[np.float64]) -> float | None:
        pairs, agreeing, shares = total[0], total[1], total[2:] / max(total[2:].sum(), 1.0)
        if not pairs or np.count_nonzero(shares) < 2:
            return None
        chance = float((shares * (1 - shares)).sum() / (len(labels) - 1))
        return float((agreeing / pairs - chance) / (1 - chance))

    return _coefficient("ac1", rows, _pairable(units), estimate, seed)


def cohen_kappa(one: Mapping[str, Value], two: Mapping[str, Value], *, seed: int = 0) -> Coefficient:
    """Compute Cohen's kappa of two fixed raters over the items that both rated.

    Kappa compares two people; for a panel whose pairs change, use alpha or AC1.

    Source:
        J. Cohen, A coefficient of agreement for nominal scales, Educ. Psychol. Meas. 20 (1960).
    """
    shared = sorted(one.keys() & two.keys())
    pairs = [(one[item], two[item]) for item in shared]
    labels = sorted({value for pair in pairs for value in pair}, key=repr)
    index = {label: position for position, label in enumerate(labels)}
    tables = []
    for first, second in pairs:
        table = np.zeros((len(labels), len(labels)))
        table[index[first], index[second]] = 1
        tables.append(table)

    def estimate(table: NDArray[np.float64]) -> float | None:
        table = table / table.sum()
        chance = float(table.sum(axis=0) @ table.sum(axis=1))
        return None if chance >= 1 - 1e-12 else float((np.trace(table) - chance) / (1 - chance))

    return _coefficient("kappa", tables, pairs, estimate, seed)


def count_disagreement(wrong_votes: Sequence[int], raters: int) -> Disagreement:
    """Report the error rate under each decision rule, since one number hides the rule.

    Args:
        wrong_votes: for each item, how many raters call it wrong.
        raters: votes an item.
    """
    votes = np.asarray(wrong_votes)
    if not len(votes):
        return Disagreement(0, 0.0, 0.0, 0.0)
    return Disagreement(
        n=len(votes),
        any_dissent=float((votes > 0).mean()),
        majority=float((votes * 2 > raters).mean()),
        unanimous=float((votes == raters).mean()),
    )


def _pairable(units: Units) -> list[Sequence[Value]]:
    return [units[item] for item in sorted(units) if len(units[item]) > 1]


def _coefficient(
    name: str,
    parts: Sequence[NDArray[np.float64]],
    pairable: Sequence[Sequence[Value]],
    estimate: Callable[[NDArray[np.float64]], float | None],
    seed: int,
) -> Coefficient:
    """Estimate from the sum of the items' parts, with a bootstrap over items."""
    count = len(pairable)
    values = sum(map(len, pairable))
    agreement = _percent_agreement(pairable)
    if not count:
        return Coefficient(name, None, None, None, "no_pairs", 0, 0, None)
    stacked = np.stack(parts)
    point = estimate(stacked.sum(axis=0))
    if point is None:
        return Coefficient(name, None, None, None, "no_variation", count, values, agreement)
    rng = np.random.default_rng(seed)
    size = len(parts)
    drawn = [estimate(stacked[rng.integers(size, size=size)].sum(axis=0)) for _ in range(RESAMPLES)]
    defined = [value for value in drawn if value is not None]
    low, high = np.quantile(defined, [0.025, 0.975]) if defined else (None, None)
    return Coefficient(
        name,
        point,
        None if low is None else float(low),
        None if high is None else float(high),
        "",
        count,
        values,
        agreement,
    )


def _coincidences(values: Sequence[Value], labels: Sequence[Value]) -> NDArray[np.float64]:
    counts = np.array([Counter(values)[label] for label in labels], dtype=float)
    return np.asarray((np.outer(counts, counts) - np.diag(counts)) / (len(values) - 1))


def _alpha(table: NDArray[np.float64], labels: Sequence[Value], level: Level) -> float | None:
    totals = table.sum(axis=1)
    if np.count_nonzero(totals) < 2:
        return None
    distance = _distances(totals, labels, level)
    observed = float((table * distance).sum())
    expected = float((np.outer(totals, totals) * distance).sum()) / (totals.sum() - 1)
    return float(1 - observed / expected)


def _distances(totals: NDArray[np.float64], labels: Sequence[Value], level: Level) -> NDArray[np.float64]:
    if level == "nominal":
        return 1 - np.eye(len(labels))
    if level == "interval":
        numbers = np.array(labels, dtype=float)
        return np.asarray((numbers[:, None] - numbers[None, :]) ** 2)
    middles = np.cumsum(totals) - totals / 2
    return np.asarray((middles[:, None] - middles[None, :]) ** 2)


def _agreeing(values: Sequence[Value]) -> float:
    count = len(values)
    return sum(n * (n - 1) for n in Counter(values).values()) / (count * (count - 1))


def _shares(values: Sequence[Value], labels: Sequence[Value]) -> list[float]:
    counts = Counter(values)
    return [counts[label] / len(values) for label in labels]


def _percent_agreement(pairable: Sequence[Sequence[Value]]) -> float | None:
    pairs: dict[bool, float] = defaultdict(float)
    for values in pairable:
        total = len(values) * (len(values) - 1)
        pairs[True] += _agreeing(values) * total
        pairs[False] += total
    return pairs[True] / pairs[False] if pairs[False] else None
