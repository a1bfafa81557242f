"""The cheapest terms: they deter, they fit the budget, and no other terms of the search are cheaper."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from kina_build.errors import Refusal, UsageError
from kina_review.economics.advice import Question
from kina_review.economics.bonus import Watch, collusion_bonus, least_bonus
from kina_review.economics.calibrating import calibrate
from kina_review.economics.cheapest import Costs, Offer, find_cheapest, normal_points
from kina_review.economics.options import CalibrateOptions

POINTS = normal_points(0, 1, 1)
SEES = Watch(flagged_ll=0.6, flagged_hh=0.1, flagged_hl=0.35)
ASKED = Question(delta_cost=Fraction(1), currency="USD", watch=SEES)
SCENARIO = {"scenario": "normal", "low_mean": 0.0, "high_mean": 1.0, "sd": 1.0, "cost": "1"}


def search(budget: int, audit: int = 400, asked: Question = ASKED) -> Offer:
    return find_cheapest(POINTS, asked, Costs(200, audit, 100, budget * 100))


def test_the_terms_deter_every_deviation_and_fit_the_budget() -> None:
    for budget in (1000, 1100, 1500, 3000):
        offer = search(budget)
        watch = replace(SEES, audit_rate=offer.audit_rate, penalty=offer.penalty_minor / 100)
        point = next(one for one in POINTS if one.bar == offer.bar)
        alone = least_bonus(Fraction(1), Fraction(point.gap))
        together = collusion_bonus(1.0, point.drops, watch).worst
        assert alone is not None
        assert together is not None
        assert offer.bonus_minor > 100 * max(alone, Fraction(together))
        assert offer.worst_minor * 100 <= budget * 100 + 100
        assert offer.penalty_minor <= 200


def test_more_money_never_makes_them_dearer() -> None:
    costs = [search(budget).expected_minor for budget in (1000, 1100, 1300, 1600, 2500)]
    assert costs == sorted(costs, reverse=True)


def test_free_audits_are_used_and_dear_ones_are_not() -> None:
    assert search(1200, audit=0).expected_minor < search(1200, audit=400).expected_minor
    assert search(1200, audit=100_000).audit_rate == 0


def test_grading_and_the_fee_are_paid_for_too() -> None:
    costs = Costs(200, 400, 100, 3000 * 100)
    graded = find_cheapest(POINTS, ASKED, replace(costs, grade_minor=50, budget_minor=3100 * 100))
    assert graded.expected_minor == pytest.approx(search(3000).expected_minor + 100)
    assert graded.worst_minor == search(3000).worst_minor + 100
    dear = find_cheapest(POINTS, ASKED, replace(costs, fee=Fraction(1, 3)))
    assert dear.expected_minor > search(3000).expected_minor
    with pytest.raises(Refusal, match="the least costs"):
        find_cheapest(POINTS, ASKED, Costs(200, 400, 100, 1000 * 100, grade_minor=200))


def test_no_terms_within_a_small_budget() -> None:
    with pytest.raises(Refusal, match="the least costs"):
        search(500)


def test_scores_that_effort_does_not_move_allow_no_terms() -> None:
    with pytest.raises(Refusal, match="at no bar"):
        find_cheapest(normal_points(1, 1, 1), ASKED, Costs(200, 0, 1, 10**9))


def test_the_calibration_names_them() -> None:
    options = CalibrateOptions(
        **SCENARIO, cheapest=True, audit_cost="4.00", items=100, budget="1200", flagged_low=0.6
    )
    found = calibrate(options)
    assert found.report["bars"]["cheapest"]["bar"] == found.report["cheapest"]["bar"] == found.report["bar"]
    dearer = calibrate(replace(options, grade_pay="0.50", budget="1400")).report
    plain = calibrate(replace(options, budget="1400")).report
    worst = [Fraction(one["spend"]["worst_case"]) for one in (plain, dearer)]
    assert worst[0] == Fraction(plain["cheapest"]["worst_an_item"]) * 100
    assert worst[1] <= 1400
    assert (
        Fraction(dearer["cheapest"]["expected_an_item"])
        >= Fraction(plain["cheapest"]["expected_an_item"]) + 1
    )


@pytest.mark.parametrize(
    "more",
    [{"cheapest": True}, {"audit_cost": "1"}, {"cheapest": True, "bar": "1", "audit_cost": "1"}],
)
def test_what_belongs_together_is_given_together(more: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        calibrate(CalibrateOptions(**SCENARIO, **more))  # type: ignore[arg-type]
