"""Delta p from the cells of a pilot: bounds, not hopes.

Cells are counted in items, not reviewer rows: the two rows of an item are not
independent. Lower bounds are one-sided, Newcombe's combination of Wilson intervals
(Statistics in Medicine 17, 1998, method 10).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import NormalDist

from kina_build.errors import Refusal
from kina_build.shares import bound_share
from kina_review.economics.bonus import Drops
from kina_review.economics.calibration import PassRates
from kina_review.economics.pilot import PilotRow, pair_up
from kina_review.rubric import ReviewRules, Tie


@dataclass(frozen=True)
class Cells:
    """Counts of pilot items by the pair's efforts; ties count as the tie rule pays them."""

    hh: int
    hh_paid: float
    """Items whose bonus was paid (under split: the better score reaches the bar)."""
    ll: int
    ll_paid: float
    mixed: int
    high_wins: float
    """Bonuses of mixed items that went to the high effort; a split counts half."""
    low_wins: float


@dataclass(frozen=True)
class Gap:
    """One estimated Delta p."""

    estimate: float
    lower: float
    """One-sided lower bound."""
    upper: float
    """One-sided upper bound."""


@dataclass(frozen=True)
class PilotGaps:
    """Delta p against low and high effort, with bounds."""

    low: Gap
    high: Gap
    confidence: float

    @property
    def least(self) -> Gap:
        """Return the smaller one by estimate, with the smaller bounds: each holds at its own level."""
        return Gap(
            min(self.low.estimate, self.high.estimate),
            min(self.low.lower, self.high.lower),
            min(self.low.upper, self.high.upper),
        )


def count_cells(rows: Sequence[PilotRow], bar: Decimal | float, tie: Tie = "split") -> Cells:
    """Count a pilot's items by the pair's efforts.

    Raises:
        InputError: an item without exactly two reviewers.
    """
    n = {"HH": 0, "HL": 0, "LL": 0}
    paid = {"HH": 0.0, "LL": 0.0}
    wins = {"H": 0.0, "L": 0.0}
    for pair in pair_up(rows):
        first, second = sorted(pair, key=lambda row: row.effort)
        cell = first.effort + second.effort
        n[cell] += 1
        best = max(first.review_score, second.review_score)
        tied = first.review_score == second.review_score
        if best < bar or (tied and tie == "strict"):
            continue
        if cell != "HL":
            paid[cell] += 1
        elif tied:
            wins["H"] += 0.5
            wins["L"] += 0.5
        else:
            wins[max(pair, key=lambda row: row.review_score).effort] += 1
    return Cells(n["HH"], paid["HH"], n["LL"], paid["LL"], n["HL"], wins["H"], wins["L"])


def estimate_gaps(cells: Cells, rules: ReviewRules = ReviewRules()) -> PilotGaps:
    """Estimate Delta p with one-sided bounds.

    By symmetry P(win | equal efforts) is half the chance that the item pays:
    Delta p(L) = P(high wins | mixed) - pays_LL / 2, Delta p(H) = pays_HH / 2 - P(low wins | mixed).

    Raises:
        Refusal: as check_cells.
    """
    check_cells(cells, rules)
    low, high = _gaps(cells, NormalDist().inv_cdf(rules.confidence))
    return PilotGaps(low, high, rules.confidence)


def check_cells(cells: Cells, rules: ReviewRules = ReviewRules()) -> None:
    """Refuse a pilot that lacks a cell.

    Raises:
        Refusal: the hint says how many items a cell would do.
    """
    empty = [name for name, n in (("HH", cells.hh), ("HL", cells.mixed), ("LL", cells.ll)) if not n]
    if empty:
        raise Refusal(
            f"the pilot has no items of {' and '.join(empty)}: Delta p cannot be estimated",
            hint=f"plan about {planned_size(rules)} items in each of HH, HL, LL",
        )


def check_gaps(cells: Cells, gaps: PilotGaps, rules: ReviewRules = ReviewRules()) -> None:
    """Refuse a pilot whose lower bound of Delta p_min is not positive.

    Raises:
        Refusal: the hint says how large a pilot with these proportions would have to be.
    """
    if gaps.least.lower > 0:
        return
    size = size_for(cells, rules)
    raise Refusal(
        f"Delta p_min is {gaps.least.estimate:.3f} with lower bound {gaps.least.lower:.3f}: not shown to be "
        "positive, so no bonus can be named",
        hint=f"with these proportions about {size} items a cell would do"
        if size
        else "no larger pilot helps: effort does not raise the chance of winning here",
    )


def size_for(cells: Cells, rules: ReviewRules = ReviewRules()) -> int | None:
    """Return the items a cell that would show a positive gap at these proportions; None if none."""
    z = _planning_z(rules)

    def is_enough(n: int) -> bool:
        scaled = Cells(
            n,
            n * cells.hh_paid / cells.hh,
            n,
            n * cells.ll_paid / cells.ll,
            n,
            n * cells.high_wins / cells.mixed,
            n * cells.low_wins / cells.mixed,
        )
        return min(gap.lower for gap in _gaps(scaled, z)) > 0

    return _least(is_enough, rules.largest_pilot)


def planned_size(rules: ReviewRules = ReviewRules()) -> int:
    """Return the items a cell that show the planning Delta p at the worst proportions (near one half)."""
    z = _planning_z(rules)
    high, low = (1 + rules.planning_delta_p) / 2, (1 - rules.planning_delta_p) / 2
    size = _least(
        lambda n: _difference((1.0, n * high, n), (1.0, n * low, n), z).lower > 0, rules.largest_pilot
    )
    return size or rules.largest_pilot


def pass_rates(cells: Cells) -> PassRates:
    """Return alpha as counted: the share of items whose bonus is paid, by the pair's efforts."""
    return PassRates(
        ll=cells.ll_paid / cells.ll,
        hl=(cells.high_wins + cells.low_wins) / cells.mixed,
        hh=cells.hh_paid / cells.hh,
    )


def pass_drops(cells: Cells, rules: ReviewRules = ReviewRules()) -> Drops:
    """Return lower bounds of alpha_HH - alpha_HL and alpha_HH - alpha_LL that hold together (Bonferroni).

    Bounds of the alphas one by one say nothing about their differences.
    """
    z = NormalDist().inv_cdf(1 - (1 - rules.confidence) / 2)
    hard = (1.0, cells.hh_paid, cells.hh)
    mixed = (1.0, cells.high_wins + cells.low_wins, cells.mixed)
    return Drops(
        one_shirks=_difference(hard, mixed, z).lower,
        both_shirk=_difference(hard, (1.0, cells.ll_paid, cells.ll), z).lower,
    )


def tie_rate(rows: Sequence[PilotRow], bar: Decimal | float) -> float:
    """Return the share of items tied at or above the bar."""
    pairs = pair_up(rows)
    tied = sum(first.review_score == second.review_score >= bar for first, second in pairs)
    return tied / len(pairs)


def _gaps(cells: Cells, z: float) -> tuple[Gap, Gap]:
    return (
        _difference((1.0, cells.high_wins, cells.mixed), (0.5, cells.ll_paid, cells.ll), z),
        _difference((0.5, cells.hh_paid, cells.hh), (1.0, cells.low_wins, cells.mixed), z),
    )


def _planning_z(rules: ReviewRules) -> float:
    return NormalDist().inv_cdf(rules.confidence) + NormalDist().inv_cdf(rules.planning_power)


def _difference(plus: tuple[float, float, int], minus: tuple[float, float, int], z: float) -> Gap:
    """Bound a*p1 - b*p2 of two independent shares, given as (factor, count, items)."""
    (a, x1, n1), (b, x2, n2) = plus, minus
    p1, p2 = x1 / n1, x2 / n2
    low1, high1 = bound_share(x1, n1, z)
    low2, high2 = bound_share(x2, n2, z)
    estimate = a * p1 - b * p2
    return Gap(
        estimate,
        estimate - math.hypot(a * (p1 - low1), b * (high2 - p2)),
        estimate + math.hypot(a * (high1 - p1), b * (p2 - low2)),
    )


def _least(is_enough: Callable[[int], bool], most: int) -> int | None:
    if not is_enough(most):
        return None
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low
