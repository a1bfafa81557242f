from __future__ import annotations

import math

import numpy as np
import pytest

from kina_build.errors import Refusal
from kina_review.economics.dominance import check_dominance
from kina_review.economics.figures import draw_comparison
from kina_review.economics.simulate import (
    Population,
    collusion_threshold,
    compare_schemes,
    run_scheme,
    sweep_bonus,
)

SMALL = Population(items=4000)


def test_the_tournament_dominates_flat_pay_at_equal_budget() -> None:
    found = compare_schemes(SMALL, seed=1)
    assert found.tournament.high_rate > found.flat.high_rate
    assert found.dominance.holds
    assert found.dominance.mean_gain > 0.3
    assert (
        found.flat.spend == found.tournament.spend == pytest.approx(found.flat_pay * found.tournament.reviews)
    )


def test_without_a_bonus_both_schemes_are_one() -> None:
    found = compare_schemes(SMALL.model_copy(update={"bonus": 0.0}), seed=1)
    assert found.flat.high_rate == found.tournament.high_rate
    assert found.dominance.worst == 0
    assert found.dominance.mean_gain == 0


def test_more_bonus_more_effort() -> None:
    rates = [outcome.high_rate for outcome in sweep_bonus(SMALL, [0, 2, 4, 8], seed=2)]
    assert rates == sorted(rates)
    assert rates[-1] > rates[0]


def test_acquainted_pairs_shirk_until_audits_bite() -> None:
    plain = SMALL.model_copy(update={"colluding": 0.3})
    audited = plain.model_copy(update={"audit_rate": 0.3, "penalty": 7.0})
    shirking = [run_scheme(p, "tournament", 3).shirking_pairs for p in (SMALL, plain, audited)]
    assert shirking[0] == 0 < shirking[2] < shirking[1]
    one, two = collusion_threshold(plain), collusion_threshold(audited)
    assert one is not None
    assert two is not None
    assert two < one


def test_ties_and_no_shows_are_paid_as_the_rules_say() -> None:
    steps = SMALL.model_copy(update={"score_step": 1.0})
    spend = {
        tie: run_scheme(steps.model_copy(update={"tie": tie}), "tournament", 4).spend
        for tie in ("split", "coin", "strict")
    }
    assert spend["split"] == pytest.approx(spend["coin"])
    assert spend["strict"] < spend["split"]
    assert run_scheme(steps, "tournament", 4).tie_rate > 0.05
    absent = run_scheme(SMALL.model_copy(update={"no_show_rate": 1.0}), "tournament", 4)
    assert (absent.spend, absent.released) == (0, 0)
    assert math.isnan(absent.mean_quality)


def test_the_spend_stays_within_the_worst_case() -> None:
    outcome = run_scheme(SMALL, "tournament", 5)
    assert outcome.spend <= SMALL.items * (SMALL.bonus + 2 * SMALL.base)


def test_dominance_is_contradicted_only_beyond_the_band() -> None:
    rng = np.random.default_rng(0)
    one, two = np.sort(rng.normal(size=2000)), np.sort(rng.normal(size=2000))
    assert check_dominance(one, two).holds
    assert not check_dominance(one, np.sort(two - 1)).holds
    assert not check_dominance(one, np.array([])).holds
    assert check_dominance(one, two).band == pytest.approx(math.sqrt(math.log(80) / 2) * 2 / math.sqrt(2000))


def test_the_plot_is_the_same_every_time() -> None:
    small = Population(items=300)
    assert draw_comparison(compare_schemes(small, 1)) == draw_comparison(compare_schemes(small, 1))
    with pytest.raises(Refusal, match="released no item"):
        draw_comparison(compare_schemes(Population(items=10, no_show_rate=1.0), 1))
