"""Golden vectors of the design page, and the laws behind them."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.errors import InputError, Refusal
from kina_review.economics.advice import Question, advise
from kina_review.economics.bonus import (
    Deviations,
    Watch,
    bonus_for_gain,
    bonus_for_rate,
    check_bonus,
    closing_audit_rate,
    collusion_bonus,
    drops_of,
    flat_rate,
    least_bonus,
)
from kina_review.economics.calibration import (
    NormalScores,
    PassRates,
    normal_bars,
    normal_gaps,
    normal_pass_rates,
)
from kina_review.economics.gaps import (
    Cells,
    check_gaps,
    count_cells,
    estimate_gaps,
    pass_drops,
    planned_size,
    size_for,
)
from kina_review.economics.pilot import PilotRow, extra_cost, pilot_bars, split_pilot
from kina_review.money import least_above
from kina_review.rubric import ReviewRules

GOLDEN = [
    (-math.inf, 0.260250, 0.260250, 1, 1, 1, 3.8425, None, None),
    (0, 0.334662, 0.276404, 0.7500, 0.9207, 0.9748, 3.6179, 18.4651, 8.8957),
    (0.5, 0.358245, 0.284930, 0.5219, 0.7867, 0.9048, 3.5096, 8.4641, 5.2230),
    (1, 0.325190, 0.266932, 0.2921, 0.5793, 0.7500, 3.7463, 5.8592, 4.3681),
    (1.5, 0.236081, 0.206864, 0.1292, 0.3547, 0.5219, 4.8341, 5.9827, 5.0926),
    (2, 0.134724, 0.125489, 0.0450, 0.1778, 0.2921, 7.9688, 8.7456, 8.0920),
]


@pytest.mark.parametrize(("bar", "low", "high", "ll", "hl", "hh", "b_ic", "one", "both"), GOLDEN)
def test_the_normal_scenario(
    bar: float,
    low: float,
    high: float,
    ll: float,
    hl: float,
    hh: float,
    b_ic: float,
    one: float | None,
    both: float | None,
) -> None:
    scores = NormalScores(0, 1, 1, bar)
    gaps, rates = normal_gaps(scores), normal_pass_rates(scores)
    assert (gaps.low, gaps.high) == pytest.approx((low, high), abs=1e-5)
    assert (rates.ll, rates.hl, rates.hh) == pytest.approx((ll, hl, hh), abs=6e-5)
    advice = advise(Fraction(gaps.least), drops_of(rates), Question(delta_cost=Fraction(1), currency="USD"))
    assert advice.b_ic == pytest.approx(b_ic, abs=6e-5)
    assert advice.deviations is not None
    found = (advice.deviations.one_shirks, advice.deviations.both_shirk, advice.b_coal)
    wanted = (one, both, one)  # without audits it is always one alone who is hardest to deter
    assert found == tuple(None if x is None else pytest.approx(x, abs=6e-5) for x in wanted)


@pytest.mark.parametrize(
    ("cost", "gap", "no_show", "currency", "minor"),
    [
        ("1.20", "0.338", "0", "USD", 356),
        ("1.20", "0.30", "0", "USD", 401),
        ("1.20", "0.338", "0.1", "USD", 395),
        ("120", "0.338", "0", "JPY", 356),
    ],
)
def test_the_least_bonus_is_the_next_step_strictly_above(
    cost: str, gap: str, no_show: str, currency: str, minor: int
) -> None:
    threshold = least_bonus(Fraction(cost), Fraction(gap), Fraction(no_show))
    assert threshold is not None
    assert least_above(threshold, currency) == minor


def test_the_pilot_vector() -> None:
    gaps = estimate_gaps(Cells(hh=100, hh_paid=96, ll=100, ll_paid=43, mixed=100, high_wins=79, low_wins=9))
    assert (gaps.high.estimate, gaps.low.estimate) == pytest.approx((0.390, 0.575))
    assert (gaps.high.lower, gaps.low.lower) == pytest.approx((0.3271, 0.4902), abs=5e-5)
    threshold = least_bonus(Fraction("1.20"), Fraction(gaps.least.lower))
    assert threshold is not None
    assert least_above(threshold, "USD") == 367


@given(st.floats(-3, 4), st.floats(0.1, 3), st.floats(0, 3))
def test_effort_never_lowers_the_chance_of_winning(bar: float, sd: float, gain: float) -> None:
    gaps = normal_gaps(NormalScores(0, gain, sd, bar))
    assert gaps.least >= -1e-9


@given(st.floats(-3, 4), st.floats(0.2, 2))
def test_no_bar_beats_the_crossing_against_any_opponent(bar: float, sd: float) -> None:
    at = normal_bars(NormalScores(0, 1, sd, 0))["crossing"]
    best, other = normal_gaps(NormalScores(0, 1, sd, at)), normal_gaps(NormalScores(0, 1, sd, bar))
    assert best.low >= other.low - 1e-9
    assert best.high >= other.high - 1e-9


@pytest.mark.parametrize("sd", [0.0, -1.0, math.nan, math.inf])
def test_a_spread_must_be_positive(sd: float) -> None:
    with pytest.raises(InputError):
        normal_gaps(NormalScores(0, 1, sd, 0))


def test_audits_close_what_collusion_opens() -> None:
    drops = drops_of(PassRates(ll=0.5, hl=0.8, hh=0.9))
    watch = Watch(audit_rate=0.1, penalty=5, flagged_ll=0.6, flagged_hh=0.1, flagged_hl=0.3)
    assert collusion_bonus(1, drops) == Deviations(pytest.approx(10), pytest.approx(5))
    audited = collusion_bonus(1, drops, watch)
    assert audited == Deviations(pytest.approx((1 - 0.1 * 5 * 0.4) / 0.1), pytest.approx((2 - 0.5) / 0.4))
    rate = closing_audit_rate(1, 4.0, drops, watch)
    assert rate == pytest.approx(0.3)  # one alone: 1 - 4 * .1 = .6 is open, and audits weigh 5 * .4
    closed = collusion_bonus(1, drops, Watch(rate or 0, 5, 0.6, 0.1, 0.3))
    assert closed.worst == pytest.approx(4.0)
    assert closing_audit_rate(1, 0.0, drops, Watch(penalty=0.1, flagged_ll=0.6)) is None
    assert collusion_bonus(1, drops, Watch(1, 100, 1, 0, 1)).worst == 0


def test_with_audits_either_deviation_can_be_the_harder_one() -> None:
    drops = drops_of(PassRates(ll=0.5, hl=0.6, hh=0.9))
    strict = Watch(audit_rate=1, penalty=1, flagged_ll=0.2, flagged_hl=0.45)
    found = collusion_bonus(1, drops, strict)
    assert found.one_shirks is not None
    assert found.worst == found.both_shirk == pytest.approx((2 - 0.4) / 0.4)
    assert found.one_shirks < found.both_shirk


def test_audits_without_a_rate_for_mixed_pairs_do_nothing_against_one_shirker() -> None:
    drops = drops_of(PassRates(ll=0.5, hl=0.8, hh=0.9))
    watched = collusion_bonus(1, drops, Watch(0.5, 10, 0.9, 0.1))
    assert watched.one_shirks == collusion_bonus(1, drops).one_shirks


def wilson(count: int, n: int = 100, z: float = 1.959963984540054) -> tuple[float, float, float]:
    p = count / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return p, middle - half, middle + half


def test_a_pilots_drops_hold_together_and_refuse_where_nothing_is_shown() -> None:
    cells = Cells(hh=100, hh_paid=96, ll=100, ll_paid=43, mixed=100, high_wins=79, low_wins=9)
    drops = pass_drops(cells)
    # Newcombe's method 10 written out; 1 - .05 / 2 for each of the two bounds
    (h, low_h, _), (m, _, high_m), (b, _, high_b) = wilson(96), wilson(88), wilson(43)
    wanted = (h - m - math.hypot(h - low_h, high_m - m), h - b - math.hypot(h - low_h, high_b - b))
    assert (drops.one_shirks, drops.both_shirk) == pytest.approx(wanted, abs=1e-9)
    assert 0 < drops.one_shirks < drops.both_shirk
    small = pass_drops(Cells(hh=30, hh_paid=29, ll=30, ll_paid=13, mixed=30, high_wins=24, low_wins=3))
    assert small.one_shirks < 0
    assert collusion_bonus(1, small).worst is None


def test_the_closed_forms_of_corollary_1() -> None:
    costs = NormalDist(1.0, 0.5)
    assert flat_rate(costs) == pytest.approx(0.02275, abs=1e-5)
    assert bonus_for_rate(costs, 0.5, 0.25) == pytest.approx(4.0)
    assert bonus_for_rate(costs, 0.5, 0.25, whitelist_value=0.4) == pytest.approx(2.4)
    assert bonus_for_rate(costs, 0.01, 0.25) == 0.0
    assert bonus_for_rate(costs, 0.5, 0.0) is None
    # a gain of half of what effort adds asks for a rate of pi_flat + 1/2
    expected = costs.inv_cdf(flat_rate(costs) + 0.5) / 0.25
    assert bonus_for_gain(costs, 0.5, 1.0, 0.25) == pytest.approx(expected)
    with pytest.raises(InputError, match="out of reach"):
        bonus_for_gain(costs, 1.0, 1.0, 0.25)
    with pytest.raises(InputError, match="between 0 and 1"):
        bonus_for_rate(costs, 1.0, 0.25)


def test_expected_spend_never_exceeds_the_bonus() -> None:
    rates = normal_pass_rates(NormalScores(0, 1, 1, 0.5))
    assert rates.expected_bonus(5, 0) == pytest.approx(5 * rates.ll)
    assert rates.expected_bonus(5, 1) == pytest.approx(5 * rates.hh)
    assert rates.expected_bonus(5, 0.5) < 5


def test_a_missing_cell_is_refused_with_a_size() -> None:
    with pytest.raises(Refusal, match="no items of LL") as refused:
        estimate_gaps(Cells(hh=10, hh_paid=9, ll=0, ll_paid=0, mixed=10, high_wins=8, low_wins=1))
    assert str(planned_size()) in refused.value.hint


def test_a_small_pilot_is_refused_with_the_size_that_would_do() -> None:
    cells = Cells(hh=6, hh_paid=5, ll=6, ll_paid=4, mixed=6, high_wins=3.5, low_wins=1.5)
    size = size_for(cells)
    assert size is not None
    with pytest.raises(Refusal, match="not shown to be positive") as refused:
        check_gaps(cells, estimate_gaps(cells))
    assert str(size) in refused.value.hint
    larger = Cells(size, size * 5 / 6, size, size * 4 / 6, size, size * 3.5 / 6, size * 1.5 / 6)
    assert estimate_gaps(larger).least.lower > 0


def test_a_pilot_without_effect_says_that_no_size_helps() -> None:
    cells = Cells(hh=50, hh_paid=40, ll=50, ll_paid=40, mixed=50, high_wins=20, low_wins=20)
    with pytest.raises(Refusal) as refused:
        check_gaps(cells, estimate_gaps(cells))
    assert "no larger pilot helps" in refused.value.hint


def test_ties_of_a_pilot_count_as_they_are_paid() -> None:
    rows = [*pair("i1", "H", 14, "L", 14), *pair("i2", "H", 15, "H", 15), *pair("i3", "L", 9, "L", 16)]
    split, strict = count_cells(rows, 14, "split"), count_cells(rows, 14, "strict")
    assert (split.high_wins, split.low_wins, split.hh_paid, split.ll_paid) == (0.5, 0.5, 1, 1)
    assert (strict.high_wins, strict.low_wins, strict.hh_paid, strict.ll_paid) == (0, 0, 0, 1)


def test_the_upper_quantile_of_cost_not_the_mean() -> None:
    rows = []
    for who, extra in (("a", "0.50"), ("b", "0.80"), ("c", "1.90")):
        rows += [
            row(f"{who}1", who, "H", 10, cost=Decimal(extra) + 1),
            row(f"{who}2", who, "L", 9, cost=Decimal(1)),
        ]
    assert extra_cost(rows) == Fraction("1.9")
    assert extra_cost(rows, ReviewRules(cost_quantile=0.5)) == Fraction("0.8")
    with pytest.raises(Refusal, match="Delta C"):
        extra_cost([row("i", "a", "H", 3)])


def test_bars_of_a_discrete_pilot() -> None:
    rows = [row(f"h{n}", "a", "H", s) for n, s in enumerate([14, 15, 15, 15, 16, 12])]
    rows += [row(f"l{n}", "b", "L", s) for n, s in enumerate([10, 11, 12, 13, 15, 9])]
    assert pilot_bars(rows) == {"crossing": Decimal(14), "mode": Decimal(15)}


def test_the_halves_of_a_pilot_share_no_item_and_keep_the_cells_even() -> None:
    rows = [r for n in range(21) for r in pair(f"i{n}", "H" if n % 3 else "L", 5, "L", 4)]
    one, two = split_pilot(rows, seed=1)
    assert {r.item_id for r in one}.isdisjoint(r.item_id for r in two)
    assert len(one) + len(two) == len(rows)
    assert abs(count_cells(one, 0).mixed - count_cells(two, 0).mixed) <= 1
    assert split_pilot(list(reversed(rows)), seed=1) == (one, two)


def test_an_item_with_one_reviewer_is_no_pilot_item() -> None:
    with pytest.raises(InputError, match="two by two reviewers"):
        count_cells([row("i1", "a", "H", 3)], 0)


def test_a_bonus_below_the_threshold_is_named_as_such() -> None:
    assert check_bonus(Fraction(3), Fraction(1), Fraction(1, 4)).reason == "below the threshold"


def row(item: str, who: str, effort: str, score: int, cost: Decimal | None = None) -> PilotRow:
    return PilotRow.model_validate(
        {"item_id": item, "reviewer_id": who, "effort": effort, "review_score": score, "cost": cost}
    )


def pair(item: str, one: str, score: int, two: str, other: int) -> list[PilotRow]:
    return [row(item, "a", one, score), row(item, "b", two, other)]


def test_the_mode_of_a_continuous_scale_is_where_scores_are_dense() -> None:
    rows = [
        row_of(f"h{n}", "H", s) for n, s in enumerate(["9.03", "13.91", "14.02", "14.17", "14.4", "19.5"])
    ]
    rows += [row_of(f"l{n}", "L", s) for n, s in enumerate(["7.1", "8.2"])]
    assert pilot_bars(rows)["mode"] in {Decimal("14.02"), Decimal("14.17")}
    with pytest.raises(Refusal, match="one effort only"):
        pilot_bars(rows[:3])


def row_of(item: str, effort: str, score: str) -> PilotRow:
    return PilotRow.model_validate(
        {"item_id": item, "reviewer_id": "a", "effort": effort, "review_score": score}
    )
