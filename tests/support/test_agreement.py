from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.config import SupportRules
from kina_build.errors import Refusal
from kina_build.support.judge.agreement import (
    compare_crossed,
    compare_experts,
    compare_judges,
    cross_marks,
    refuse_chance,
)
from kina_build.support.judge.calibration import HALF_STEPS, calibrate_ratings
from kina_build.support.judge.rated import support_by_ratings
from tests.support.test_ratings import rate


def test_two_judges_are_compared_on_the_pairs_both_rated():
    ratings = [rate("q", f"u{i}", r, "a") for i, r in enumerate((0, 1, 2, 4))]
    ratings += [rate("q", f"u{i}", r, "b") for i, r in enumerate((0, 2, 2))]
    [row] = compare_judges(ratings)
    assert (row["judges"], row["pairs"], row["exact"], row["within_one"]) == (["a", "b"], 3, 0.6667, 1.0)


def test_kappa_is_one_for_equals_below_zero_for_opposites_and_undefined_for_constants():
    def kappa(one, two):
        ratings = [rate("q", f"u{i}", r, "a") for i, r in enumerate(one)]
        ratings += [rate("q", f"u{i}", r, "b") for i, r in enumerate(two)]
        return compare_judges(ratings)[0]["kappa"]

    assert kappa((0, 2, 4), (0, 2, 4)) == 1.0
    assert kappa((0, 2, 4), (4, 2, 0)) == -1.0
    assert kappa((0, 0, 0), (0, 1, 2)) is None


def test_kappa_equals_the_textbook_sum_over_the_confusion_table():
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, 5, 60), rng.integers(0, 5, 60)
    table = np.zeros((5, 5))
    np.add.at(table, (one, two), 1 / 60)
    cost = (np.arange(5)[:, None] - np.arange(5)) ** 2
    textbook = 1 - (table * cost).sum() / (np.outer(table.sum(1), table.sum(0)) * cost).sum()
    ratings = [rate("q", f"u{i}", int(r), "a") for i, r in enumerate(one)]
    ratings += [rate("q", f"u{i}", int(r), "b") for i, r in enumerate(two)]
    assert compare_judges(ratings)[0]["kappa"] == pytest.approx(textbook, abs=1e-4)


def test_pairs_on_which_experts_differ_widely_are_listed():
    report = compare_experts({("q", "u"): 4.0, ("q", "v"): 1.0}, {("q", "u"): 0.0, ("q", "v"): 1.0})
    assert report["bias"] == 2.0
    assert report["far_apart"] == [{"item_id": "q", "anchor_id": "u", "judges": 4.0, "experts": 0.0}]
    assert compare_experts({}, {})["bias"] is None


def test_a_judge_who_is_always_one_point_high_is_brought_down():
    medians = {(f"q{i}", "u"): float(1 + i % 4) for i in range(60)}
    labels = {pair: value - 1 for pair, value in medians.items()}
    fit = calibrate_ratings(medians, labels)
    assert fit.applied
    assert fit.error_before == 1.0
    assert fit.error_after is not None
    assert fit.error_after < 0.35
    assert fit.apply({("q0", "u"): 3.0})["q0", "u"] == pytest.approx(2.1, abs=0.15)


def test_too_few_labels_or_no_gain_change_nothing():
    medians = {(f"q{i}", "u"): float(i % 5) for i in range(60)}
    few = calibrate_ratings(medians, {("q1", "u"): 0.0})
    assert (few.applied, few.labels, few.values) == (False, 1, HALF_STEPS)
    perfect = calibrate_ratings(medians, medians)
    assert (perfect.applied, perfect.values) == (False, HALF_STEPS)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), min_size=30, max_size=60))
def test_calibrated_values_never_decrease_and_stay_on_the_scale(rows):
    medians = {(f"q{i}", "u"): judged / 2 for i, (judged, _) in enumerate(rows)}
    labels = {(f"q{i}", "u"): float(expert) for i, (_, expert) in enumerate(rows)}
    values = np.array(calibrate_ratings(medians, labels, SupportRules(calibration_prior=0.5)).values)
    assert (np.diff(values) >= -1e-9).all()
    assert values.min() >= 0
    assert values.max() <= 4


def drawn(judge, values):
    return [rate(f"q{i:03}", "u", int(value), judge) for i, value in enumerate(values)]


@pytest.fixture
def marks():
    """Return ratings of 120 pairs: two judges that mostly agree, and one that draws lots."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 5, 120)
    near = np.clip(truth + rng.integers(-1, 2, 120), 0, 4)
    return {"a": drawn("a", truth), "b": drawn("b", near), "lots": drawn("lots", rng.integers(0, 5, 120))}


def test_judges_at_chance_level_stop(marks):
    refuse_chance(compare_judges(marks["a"] + marks["b"]))
    for friends in ("a", "b"), ("a",):
        ratings = [row for name in (*friends, "lots") for row in marks[name]]
        with pytest.raises(
            Refusal, match=r"agrees with no other better than by chance \(weighted kappa -?0\."
        ):
            refuse_chance(compare_judges(ratings))
        refuse_chance(compare_judges(ratings), SupportRules(agreement_floor=-1))
        refuse_chance(compare_judges(ratings), SupportRules(agreement_pairs=121))


def test_a_judge_that_rates_all_alike_agrees_by_chance_only(marks):
    alike = drawn("alike", [2] * 120)
    with pytest.raises(
        Refusal, match="'alike' agrees with no other .* undefined, one of them rates all alike"
    ):
        refuse_chance(compare_judges(marks["a"] + marks["b"] + alike))
    refuse_chance(compare_judges(alike + drawn("too", [2] * 120)))


def test_the_lower_bound_of_kappa_is_below_zero_in_nineteen_of_twenty_draws_at_chance():
    rng = np.random.default_rng(0)
    draws = [
        compare_judges(drawn("a", rng.integers(0, 5, 60)) + drawn("b", rng.integers(0, 5, 60)))[0][
            "kappa_low"
        ]
        for _ in range(400)
    ]
    assert 0.02 <= np.mean(np.array(draws) > 0) <= 0.08


def test_counts_of_parts_tell_what_all_ratings_tell(marks):
    def crossed(rows):
        return cross_marks(((row.item_id, row.anchor_id), row.judge, row.rating) for row in rows)

    rows = sorted((row for name in marks for row in marks[name]), key=lambda row: row.item_id)
    assert compare_crossed([crossed(rows[:150]), crossed(rows[150:])]) == compare_judges(rows)


def test_judges_and_experts_are_held_to_one_another(make_item, make_anchor, marks):
    items, anchors = [make_item(f"q{i:03}") for i in range(120)], [make_anchor("u")]
    experts = [row.model_copy(update={"judge": "ann"}) for row in marks["a"]]
    support_by_ratings(items, anchors, marks["b"], experts)
    with pytest.raises(Refusal, match="the judges agree with the experts no better than by chance"):
        support_by_ratings(items, anchors, marks["lots"], experts)
    two = [row.model_copy(update={"judge": "bo"}) for row in marks["lots"]]
    with pytest.raises(Refusal, match="expert 'ann' agrees with no other"):
        support_by_ratings(items, anchors, marks["b"], experts + two)
