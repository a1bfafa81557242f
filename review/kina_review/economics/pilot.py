"""A pilot in which efforts were assigned: rows, pairs, halves, the cost of effort, and where its bar lies."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from statistics import stdev
from typing import Annotated, Literal

from pydantic import BeforeValidator

from kina_build.errors import InputError, Refusal
from kina_review.records import Id, Record, Score
from kina_review.rubric import DISCRETE_SHARE, REVIEWS_PER_ITEM, ReviewRules
from kina_review.words import read_word

Effort = Literal["H", "L"]
EFFORT_WORDS = {"h": "H", "high": "H", "l": "L", "low": "L"}


class PilotRow(Record):
    """One review of the pilot, with the effort that was asked for."""

    item_id: Id
    reviewer_id: Id
    effort: Annotated[Effort, BeforeValidator(lambda word: read_word(str(word), ("H", "L"), EFFORT_WORDS))]
    review_score: Score
    discipline: Id | None = None
    cost: Decimal | None = None
    """What the review cost the reviewer (time at their wage), major units."""


def pair_up(rows: Sequence[PilotRow]) -> list[tuple[PilotRow, PilotRow]]:
    """Return the two rows of each item, items in order of their ids.

    Raises:
        InputError: an item without exactly two reviewers.
    """
    by_item: dict[str, list[PilotRow]] = defaultdict(list)
    for row in rows:
        by_item[row.item_id].append(row)
    pairs = []
    for item_id, pair in sorted(by_item.items()):
        if len({row.reviewer_id for row in pair}) != REVIEWS_PER_ITEM or len(pair) != REVIEWS_PER_ITEM:
            raise InputError(f"pilot item {item_id!r} has {len(pair)} rows, not two by two reviewers")
        first, second = sorted(pair, key=lambda row: row.reviewer_id)
        pairs.append((first, second))
    return pairs


def extra_cost(rows: Sequence[PilotRow], rules: ReviewRules = ReviewRules()) -> Fraction:
    """Return an upper quantile of kappa over reviewers who worked both ways: mean cost high less low.

    Raises:
        Refusal: no reviewer has costs of both efforts.
    """
    costs: dict[str, dict[str, list[Fraction]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.cost is not None:
            costs[row.reviewer_id][row.effort].append(Fraction(row.cost))
    kappas = sorted(
        _mean(both["H"]) - _mean(both["L"]) for both in costs.values() if both.get("H") and both.get("L")
    )
    if not kappas:
        raise Refusal(
            "no reviewer of the pilot has a cost at both efforts: Delta C cannot be estimated",
            hint="add a cost column, or give --cost",
        )
    return kappas[math.ceil(rules.cost_quantile * len(kappas)) - 1]


def split_pilot(rows: Sequence[PilotRow], seed: int = 0) -> tuple[list[PilotRow], list[PilotRow]]:
    """Split a pilot by item: one half to choose the bar, one to estimate with it.

    Both on the same items is optimistic. Items of each pair of efforts are dealt out
    alternately, in an order that the seed shuffles.
    """
    cells: dict[str, list[tuple[PilotRow, PilotRow]]] = defaultdict(list)
    for pair in pair_up(rows):
        cells["".join(sorted(row.effort for row in pair))].append(pair)
    halves: tuple[list[PilotRow], list[PilotRow]] = ([], [])
    for _, pairs in sorted(cells.items()):
        pairs.sort(key=lambda pair: hashlib.sha256(f"seed{seed}|{pair[0].item_id}|half".encode()).digest())
        for index, pair in enumerate(pairs):
            halves[index % 2].extend(pair)
    return halves


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def pilot_bars(rows: Sequence[PilotRow]) -> dict[str, Decimal]:
    """Return both candidates for the bar.

    The crossing is the score at which P(high >= tau) - P(low >= tau) is largest: for two
    efforts that bar gives the largest Delta p against every opponent. The mode of high
    effort is the proposal of arXiv 2412.01139.

    Raises:
        Refusal: a pilot without one of the efforts.
    """
    high = [row.review_score for row in rows if row.effort == "H"]
    low = [row.review_score for row in rows if row.effort == "L"]
    if not high or not low:
        raise Refusal("the pilot has reviews of one effort only: no bar can be chosen")
    return {"crossing": _crossing(high, low), "mode": _mode(high)}


def _crossing(high: Sequence[Decimal], low: Sequence[Decimal]) -> Decimal:
    counts_high, counts_low = Counter(high), Counter(low)
    above_high, above_low = 0, 0
    best, best_gap = max(high), -1.0
    for score in sorted(set(high) | set(low), reverse=True):
        above_high += counts_high[score]
        above_low += counts_low[score]
        gap = above_high / len(high) - above_low / len(low)
        if gap >= best_gap:  # of equal bars the lowest: it lets most honest work pass
            best, best_gap = score, gap
    return best


def _mode(scores: Sequence[Decimal]) -> Decimal:
    counts = Counter(scores)
    if len(counts) <= DISCRETE_SHARE * len(scores) or len(counts) == 1:
        most = max(counts.values())
        return min(score for score, count in counts.items() if count == most)
    ordered = sorted(counts)
    densities = _densities([float(score) for score in scores], [float(score) for score in ordered])
    return ordered[densities.index(max(densities))]


def _densities(scores: Sequence[float], at: Sequence[float]) -> list[float]:
    """Estimate a density up to a factor: Gaussian kernels, Silverman's rule of thumb."""
    width = 1.06 * stdev(scores) * len(scores) ** -0.2
    return [sum(math.exp(-(((x - score) / width) ** 2) / 2) for score in scores) for x in at]
