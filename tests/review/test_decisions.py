from __future__ import annotations

from typing import Any

import pytest

from kina_build.errors import InputError
from kina_review.records import Finding, Flaw, Grade, Review
from kina_review.rubric import CRITERION_NAMES, ReviewRules, best_score, weighted
from kina_review.tournament.contest import combined_score, flaw_recall, grade_score
from kina_review.tournament.decisions import (
    decide_item,
    decide_items,
    error_rates,
    form_opinion,
    round_order,
)
from tests.review.stories import review, settled


def rated(who: str, mark: int, **more: Any) -> Review:
    return review(who, "15", ratings=dict.fromkeys(CRITERION_NAMES, mark), **more)


@pytest.mark.parametrize(
    ("one", "two", "decision"),
    [
        (4, 4, "accept"),
        (2, 2, "revise"),
        (1, 1, "reject"),
        (4, 2, "revise"),
        (4, 1, "escalate"),
        (2, 1, "revise"),
    ],
)
def test_two_opinions_make_a_decision(one: int, two: int, decision: str) -> None:
    assert decide_item("it-1", [rated("A", one), rated("B", two)]).decision == decision


def test_one_opinion_escalates() -> None:
    assert decide_item("it-1", [rated("A", 4)]).decision == "escalate"
    assert decide_item("it-1", [review("A", "15"), rated("B", 4)]).reason == "1 of 2 opinions"


def test_the_strictest_of_verdict_ratings_and_flaws_is_the_opinion() -> None:
    assert form_opinion(rated("A", 4)) == "accept"
    assert form_opinion(rated("A", 4, verdict="reject")) == "reject"
    assert form_opinion(rated("A", 4, flaws=(Flaw(kind="other", severity="major"),))) == "revise"
    assert form_opinion(rated("A", 4, flaws=(Flaw(kind="other", severity="minor"),))) == "accept"
    zero = dict.fromkeys(CRITERION_NAMES, 4) | {"factuality": 0}
    assert form_opinion(review("A", "15", ratings=zero)) == "reject"
    assert form_opinion(review("A", "15", verdict="accept")) == "accept"
    assert form_opinion(review("A", "20")) is None


def test_an_audited_flaw_takes_an_item_back() -> None:
    found = Finding(item_id="it-1", flawed=True, flaw="wrong_groundtruth")
    decision = decide_item("it-1", [rated("A", 4), rated("B", 4)], found)
    assert (decision.decision, decision.reason) == ("revise", "audit found wrong_groundtruth")


def test_the_last_round_decides() -> None:
    done = settled(
        rated("A", 1), rated("B", 1), *(rated(who, 4, round=r) for who in "AB" for r in ("2", "10"))
    )
    counted = {**done.counted, ("it-1", "2"): [rated("A", 2), rated("B", 2)]}
    assert [d.decision for d in decide_items(counted)] == ["accept"]


def test_pay_does_not_depend_on_leniency() -> None:
    harsh, mild = rated("A", 1, hour=1), rated("B", 4, hour=2)
    done = settled(harsh.model_copy(update={"review_score": 18}), mild)
    assert {a.reviewer_id: a.bonus_minor for a in done.awards} == {"A": 500, "B": 0}


def test_error_rates_name_their_rule() -> None:
    with pytest.raises(InputError):
        error_rates([4], 3)
    assert error_rates([0, 3], 3).unanimous == 0.5


def test_flaw_recall_weighs_severity_and_false_flags() -> None:
    critical = Flaw(kind="wrong_groundtruth", severity="critical")
    minor = Flaw(kind="bad_options_clarity", severity="minor")
    assert flaw_recall([critical], [critical, minor]) == pytest.approx(4 / 5)
    assert flaw_recall([minor], [critical]) == 0
    assert flaw_recall([], []) == 1
    assert flaw_recall([minor], []) == pytest.approx(0.75)
    at_b = Flaw(kind="wrong_groundtruth", option="B")
    assert flaw_recall([Flaw(kind="wrong_groundtruth", option="C")], [at_b]) == 0
    assert flaw_recall([at_b], [at_b]) == 1


def test_marks_and_recall_make_a_score_on_the_scale_of_the_marks() -> None:
    full = dict.fromkeys(CRITERION_NAMES, 4)
    assert combined_score(full, flaw_recall([], [])) == best_score() == weighted(full) == 20


def test_a_grade_needs_all_marks_and_keeps_the_declared_step() -> None:
    with pytest.raises(InputError, match="lacks"):
        grade_score(Grade(item_id="i", reviewer_id="A", marks={"factuality": 3}))
    halves = ReviewRules(score_step="0.5")
    assert grade_score(Grade(item_id="i", reviewer_id="A", review_score="14.5"), halves) == 14.5
    with pytest.raises(InputError, match="multiple of 0.5"):
        grade_score(Grade(item_id="i", reviewer_id="A", review_score="14.3"), halves)


def test_the_last_round_is_told_by_counting() -> None:
    rounds = ["", "2", "round 10", "٢٠", "9" * 5000]
    shuffled = rounds[::-1]
    assert sorted(shuffled, key=round_order) == rounds
