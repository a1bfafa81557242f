"""The payout table of the design: base 2.00, bonus 5.00, bar 14 unless a row says otherwise."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.errors import InputError, Refusal
from kina_review.money import currencies
from kina_review.payrecords import PayRule
from kina_review.records import Finding, Flaw, Grade
from kina_review.rubric import Tie
from kina_review.tournament.contest import compare, compare_audited, print_score, tie_bit
from tests.review.stories import pay, reasons, review, rule, settled

DEADLINE = datetime(2026, 3, 1, 2, tzinfo=UTC)


def test_a_tie_at_the_bar_is_split() -> None:
    done = settled(review("A", "14"), review("B", "14"))
    assert pay(done) == {"A": 450, "B": 450}
    assert done.tie_rate == 1.0


@pytest.mark.parametrize(
    ("item", "currency", "bonus", "first", "second"),
    [
        ("it-7", "USD", "5.01", 250, 251),
        ("it-8", "USD", "5.01", 251, 250),
        ("it-8", "JPY", "501", 251, 250),
        ("it-7", "KWD", "5.005", 2502, 2503),
    ],
)
def test_the_odd_unit_goes_by_the_seeded_bit(
    item: str, currency: str, bonus: str, first: int, second: int
) -> None:
    terms = rule(base="0", bonus=bonus, currency=currency)
    done = settled(review("A", "14", item=item), review("B", "14", item=item), rules=terms, seed=42)
    assert [award.bonus_minor for award in done.awards] == [first, second]
    assert tie_bit("it-7", 42) == 1
    assert tie_bit("it-8", 42) == 0


def test_below_the_bar_nobody_wins_and_the_zero_is_written_down() -> None:
    done = settled(review("A", "13"), review("B", "12"))
    assert pay(done) == {"A": 200, "B": 200}
    assert reasons(done) == {"A": "below_bar", "B": "below_bar"}


def test_graders_are_averaged_in_decimals_not_in_binary_floats() -> None:
    grades = [
        Grade(item_id="it-1", reviewer_id="A", grader_id="g1", review_score=Decimal("0.1")),
        Grade(item_id="it-1", reviewer_id="A", grader_id="g2", review_score=Decimal("0.2")),
        Grade(item_id="it-1", reviewer_id="B", grader_id="g1", review_score=Decimal("0.15")),
    ]
    done = settled(review("A"), review("B"), grades=grades, rules=rule(bar="0.15"))
    assert (0.1 + 0.2) / 2 > 0.15
    assert pay(done) == {"A": 450, "B": 450}


def test_a_binary_float_that_leaked_into_a_file_is_read_as_the_decimal_it_meant() -> None:
    leaked = review("A", repr((0.1 + 0.2) / 2))
    assert pay(settled(leaked, review("B", "0.15"), rules=rule(bar="0.15"))) == {"A": 450, "B": 450}


def test_a_reviewer_who_never_submits_gets_nothing_and_the_other_no_bonus() -> None:
    never = review("B", status="missing", hour=None)
    before = settled(review("A", "18"), never)
    assert pay(before) == {"A": 200, "B": 0}
    assert reasons(before) == {"A": "contest_incomplete", "B": "missing"}
    after = settled(review("A", "18"), never, deadline=DEADLINE)
    assert pay(after) == {"A": 200, "B": 0}
    assert reasons(after) == {"A": "no_contest", "B": "missing"}


def test_a_replacement_before_the_cut_off_makes_a_contest() -> None:
    done = settled(review("A", "18"), review("B", status="missing", hour=None), review("C", "15", hour=2))
    assert pay(done) == {"A": 700, "B": 0, "C": 200}


def test_only_the_first_complete_review_counts_and_base_is_paid_once() -> None:
    done = settled(review("A", "12"), review("A", "19", hour=3), review("B", "14", hour=2))
    assert pay(done) == {"A": 200, "B": 700}
    assert [row.reason for row in done.set_aside] == ["later_review"]


def test_a_cancelled_first_review_leaves_room_for_the_next() -> None:
    done = settled(
        review("A", "12", status="cancelled"), review("A", "19", hour=3), review("B", "14", hour=2)
    )
    assert pay(done) == {"A": 700, "B": 200}


def test_two_accounts_of_one_payee_on_an_item_are_both_void() -> None:
    done = settled(
        review("A1", "18", payee_id="P"), review("A2", "12", payee_id="P"), review("B", "15", hour=2)
    )
    assert pay(done) == {"A1": 0, "A2": 0, "B": 200}
    assert reasons(done)["A1"] == reasons(done)["A2"] == "same_payee"
    assert {row.reviewer_id for row in done.set_aside} == {"A1", "A2"}


def test_an_audit_that_voids_the_winner_promotes_the_runner_up() -> None:
    reviews = (review("A", "18"), review("B", "15", hour=2))
    assert pay(settled(*reviews)) == {"A": 700, "B": 200}
    after = settled(*reviews, findings=[Finding(item_id="it-1", flawed=False, failed=("A",))])
    assert pay(after) == {"A": 200, "B": 700}
    assert reasons(after) == {"A": "audit_failed", "B": "promoted"}


def test_a_runner_up_below_the_bar_is_not_promoted() -> None:
    after = settled(
        review("A", "18"),
        review("B", "13", hour=2),
        findings=[Finding(item_id="it-1", flawed=False, failed=("A",))],
    )
    assert pay(after) == {"A": 200, "B": 200}


def test_a_forged_review_pays_nothing_and_counts_as_missing() -> None:
    done = settled(review("A", "18"), review("B", "15", hour=2, updated_by="A"))
    assert pay(done) == {"A": 200, "B": 0}
    assert reasons(done) == {"A": "contest_incomplete", "B": "forged_author"}


@pytest.mark.parametrize("status", ["skipped", "draft", "cancelled"])
def test_what_was_not_handed_in_is_no_review_however_filled_in(status: str) -> None:
    done = settled(review("A", "18"), review("B", "19", hour=2, status=status))
    assert pay(done) == {"A": 200, "B": 0}
    assert reasons(done)["B"] == status


def test_the_deadline_is_inclusive() -> None:
    done = settled(review("A", "18"), review("B", "15", hour=2), review("C", "19", hour=3), deadline=DEADLINE)
    assert pay(done) == {"A": 700, "B": 200, "C": 0}
    assert reasons(done)["C"] == "late"


def test_a_third_review_is_surplus() -> None:
    done = settled(review("A", "15"), review("B", "16", hour=2), review("C", "20", hour=3))
    assert pay(done) == {"A": 200, "B": 700, "C": 0}


def test_an_ungraded_review_is_paid_its_base_and_holds_the_bonus() -> None:
    done = settled(review("A", "18"), review("B", None, hour=2), deadline=DEADLINE)
    assert pay(done) == {"A": 200, "B": 200}
    assert done.contests[0].status == "open"


def test_two_reviews_in_unknown_order_are_refused() -> None:
    with pytest.raises(Refusal, match="which came first"):
        settled(review("A", "12", hour=None), review("A", "19", hour=None))


def test_a_flawed_item_costs_both_but_not_who_named_the_flaw() -> None:
    named = review("B", "15", hour=2, flaws=(Flaw(kind="wrong_groundtruth"),))
    found = [Finding(item_id="it-1", flawed=True, flaw="wrong_groundtruth")]
    done = settled(review("A", "18"), named, findings=found, penalty_minor=300)
    assert pay(done) == {"A": 400, "B": 200}


def test_a_failed_review_of_a_sound_item_costs_no_penalty() -> None:
    found = [Finding(item_id="it-1", flawed=False, failed=("A",))]
    done = settled(review("A", "18"), review("B", "15", hour=2), findings=found, penalty_minor=100)
    assert pay(done) == {"A": 200, "B": 700}


def test_a_penalty_never_exceeds_the_items_pay() -> None:
    found = [Finding(item_id="it-1", flawed=True)]
    done = settled(review("A", "18"), review("B", "15", hour=2), findings=found, penalty_minor=99_999)
    assert pay(done) == {"A": 0, "B": 0}


def test_a_finding_about_a_stranger_is_refused() -> None:
    with pytest.raises(InputError, match="no review there"):
        settled(review("A", "18"), findings=[Finding(item_id="it-1", flawed=True, failed=("Z",))])


def test_a_score_without_a_review_is_refused() -> None:
    with pytest.raises(InputError, match="no review there"):
        settled(review("A"), grades=[Grade(item_id="it-1", reviewer_id="a", review_score=Decimal(3))])


@pytest.mark.parametrize(("tie", "paid"), [("split", {250}), ("strict", {0}), ("coin", {0, 500})])
def test_tie_rules(tie: Tie, paid: set[int]) -> None:
    done = settled(review("A", "14"), review("B", "14"), rules=rule(tie=tie))
    assert {award.bonus_minor for award in done.awards} == paid


SCORES = st.integers(0, 40).map(lambda half: Fraction(half, 2))


@given(
    SCORES,
    SCORES,
    st.integers(0, 20),
    st.integers(0, 10**7),
    st.sampled_from(get_args(Tie)),
    st.sampled_from(sorted(currencies())),
    st.sets(st.sampled_from(["A", "B"])),
)
def test_at_most_the_bonus_is_paid_and_exactly_it_when_somebody_must_win(
    a: Fraction, b: Fraction, bar: int, bonus: int, tie: Tie, currency: str, failed: set[str]
) -> None:
    terms = PayRule(currency=currency, base_minor=7, bonus_minor=bonus, bar=Decimal(bar), tie=tie)
    outcome = compare_audited("it-9", {"A": a, "B": b}, sorted(failed), terms, seed=3)
    paid = sum(outcome.bonus_minor.values())
    assert min(outcome.bonus_minor.values()) >= 0
    reaching = [s for name, s in (("A", a), ("B", b)) if name not in failed and s >= bar]
    if not reaching or (tie == "strict" and a == b and not failed):
        assert paid == 0
    else:
        assert paid == bonus


@given(SCORES, SCORES)
def test_names_do_not_matter_but_for_ties(a: Fraction, b: Fraction) -> None:
    if a == b:
        return
    one = compare("it-1", {"A": a, "B": b}, rule(), seed=0)
    other = compare("it-1", {"A": b, "B": a}, rule(), seed=0)
    assert one.bonus_minor["A"] == other.bonus_minor["B"]


@pytest.mark.parametrize(
    ("score", "text"),
    [(Fraction(14), "14"), (Fraction(3, 20), "0.15"), (Fraction(43, 3), "43/3"), (Fraction(-5, 2), "-2.5")],
)
def test_scores_are_printed_exactly(score: Fraction, text: str) -> None:
    assert print_score(score) == text


def test_a_day_without_a_time_is_not_held_against_a_deadline_within_it() -> None:
    day = review("A", "18").model_copy(update={"submitted_at": datetime(2026, 3, 1, tzinfo=UTC)})
    with pytest.raises(Refusal, match="tells no time of it"):
        settled(day, review("B", "15"), deadline=datetime(2026, 3, 1, 12, tzinfo=UTC))
    assert settled(day, review("B", "15"), deadline=datetime(2026, 3, 2, 12, tzinfo=UTC)).contests[
        0
    ].winners == ("A",)
