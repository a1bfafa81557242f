"""What a later run may change: new facts are posted, what is gone or told otherwise waits to be allowed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kina_build.errors import InputError, Refusal
from kina_review.pay.book.opening import open_ledger
from kina_review.pay.payees import book_path, read_book
from kina_review.pay.plans import plan_into
from kina_review.pay.posting import post_to, recall
from kina_review.records import Finding, Grade, Review
from kina_review.tournament.settlement import Terms, settle
from tests.review.stories import review, rule, settled

A, B = review("A", "17"), review("B", "15", hour=2)
VOID = [Finding(item_id="it-1", flawed=True, flaw="other", failed=("A",))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "pay.db"
    post_to(path, settled(A, B, deadline=datetime(2026, 3, 2, tzinfo=UTC), penalty_minor=100))
    return path


def again(path: Path, *rows: Review, findings: list[Finding] | None = None, **more: Any) -> int:
    """Settle again as the command does, with what the ledger remembers; return how many lines are new."""
    allowed = more.pop("allowed", "")
    grades = more.pop("grades", ())
    terms, found = recall(
        path, Terms((rule(),), **more), findings or [], {(row.item_id, row.round) for row in rows}
    )
    kept = {"registered": terms.registered, "new_deadline": terms.new_deadline}
    done = settle(rows, Terms((rule(),), **kept, **more), grades=grades, findings=found)
    return len(post_to(path, done, allowed).lines)


def owed(path: Path) -> dict[str, int]:
    names = read_book(book_path(path)).payees
    with open_ledger(path) as ledger:
        return {names[ref]: minor for ref, minor in ledger.balances().items()}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((A, review("B", hour=2)), "the score 15 of 'B' is missing"),
        ((A,), "the review by 'B'"),
        ((review("A", "9"), B), "the score of 'A' was 17, and is 9"),
        ((review("A", "17", status="cancelled"), B), "is told otherwise"),
        ((A.model_copy(update={"updated_by": "Z"}), B), "is told otherwise"),
    ],
)
def test_missing_or_altered_evidence_stops_the_run(path: Path, rows: tuple[Review, ...], said: str) -> None:
    before = owed(path)
    with pytest.raises(Refusal) as refused:
        again(path, *rows)
    assert said in refused.value.message
    assert owed(path) == before
    assert again(path, *rows, allowed="the desk was wrong") > 0
    assert owed(path) != before


def test_what_was_not_given_again_is_remembered(path: Path) -> None:
    assert again(path, A, B) == 0  # neither deadline nor penalty is named
    again(path, A, B, findings=VOID)
    assert owed(path) == {"A": 100, "B": 600}  # the bonus moves, and each loses the 1.00 of the first run
    assert again(path, A, B) == 0  # the findings are not given again
    late = review("C", "20").model_copy(
        update={"item_id": "it-2", "submitted_at": datetime(2026, 4, 1, tzinfo=UTC)}
    )
    again(path, late)
    assert owed(path)["C"] == 0


@pytest.mark.parametrize("terms", [{"penalty_minor": 200}, {"deadline": datetime(2026, 3, 1, 1, tzinfo=UTC)}])
def test_other_terms_do_not_price_past_work_anew(path: Path, terms: dict[str, Any]) -> None:
    again(path, A, B, findings=VOID)
    before = owed(path)
    with pytest.raises(Refusal, match="the (deadline|penalty) was"):
        again(path, A, B, **terms)
    assert owed(path) == before


def test_new_facts_are_posted(tmp_path: Path) -> None:
    path = tmp_path / "pay.db"
    again(path, review("A", hour=1), review("B", None, None, status="draft"))
    again(path, review("A", hour=1), review("B", hour=2))
    again(path, A, B)
    again(path, A, B, grades=[Grade(item_id="it-1", reviewer_id="B", grader_id="appeal", review_score="19")])
    assert owed(path) == {"A": 200, "B": 700}


def test_contradicted_pay_is_held_until_it_is_cleared_up(path: Path) -> None:
    with pytest.raises(Refusal):
        again(path, review("A", "9"), B)
    with open_ledger(path) as ledger:
        assert plan_into(ledger, {}).payments == ()
    assert again(path, A, B) == 2  # nothing but the two holds that are freed
    with open_ledger(path) as ledger:
        assert plan_into(ledger, {}).total_minor == 900


def test_forgotten_files_hold_nobodys_pay(path: Path) -> None:
    with pytest.raises(Refusal):
        again(path, A, review("B", hour=2))
    with open_ledger(path) as ledger:
        assert plan_into(ledger, {}).total_minor == 900


def test_a_new_item_among_batches_of_two_deadlines_asks_for_its_own(path: Path) -> None:
    post_to(path, settled(review("A", "1", item="it-2"), deadline=datetime(2026, 5, 1, tzinfo=UTC)))
    with pytest.raises(InputError, match="2 deadlines"):
        again(path, review("A", "1", item="it-3"))


@pytest.mark.parametrize(
    "row",
    [
        review("B", "15", hour=2, item="IT-1"),
        review("b", "15", hour=2, item="it-9"),
        review("\uff22", "15", hour=2, item="it-9"),
        review("C", "15", hour=2, item="it\u200b-1"),
        review("C", "15", hour=2, item="\u0456t-1"),  # a Cyrillic i
        review("\u0410", "15", hour=2, item="it-9"),  # a Cyrillic A
        review("C", "15", hour=2, item="it\u20111"),  # a dash that does not break
        review("C", "15", hour=2, round="1.0"),
        review("C", "15", hour=2, item="it-9", review_id="r-1"),
        review("A", "15", hour=2, item="it-9", review_id="r-1"),
    ],
)
def test_one_review_is_paid_once_under_any_spelling(tmp_path: Path, row: Review) -> None:
    path = tmp_path / "pay.db"
    post_to(path, settled(A.model_copy(update={"review_id": "r-1"}), B))
    with pytest.raises(Refusal, match="may be the same|paid once"):
        again(path, row)


def test_the_reviews_of_an_item_are_not_paid_again_under_its_new_name(path: Path) -> None:
    with pytest.raises(Refusal, match="stand in the ledger under item 'it-1'"):
        post_to(path, settled(A.model_copy(update={"item_id": "x"}), B.model_copy(update={"item_id": "x"})))
    named = {"item_id": "x", "review_id": "r-7"}  # the ledger's reviews have no id to differ from
    with pytest.raises(Refusal, match="stand in the ledger under item 'it-1'"):
        post_to(path, settled(A.model_copy(update=named), B.model_copy(update={"item_id": "x"})))
    later = B.model_copy(update={"item_id": "x", "submitted_at": A.submitted_at})
    assert post_to(path, settled(A.model_copy(update={"item_id": "x"}), later)).lines


def test_a_penalty_is_a_term_of_the_batch_before_any_finding_too(path: Path) -> None:
    assert again(path, A, B, penalty_minor=300) == 0
    with pytest.raises(Refusal, match="the penalty was 100 minor units, and is 300"):
        again(path, A, B, penalty_minor=300, findings=[Finding(item_id="it-1", flawed=True, flaw="other")])
    assert again(path, A, B, findings=[Finding(item_id="it-1", flawed=True, flaw="other")]) > 0


def test_a_penalty_in_a_currency_that_has_no_usual_one_is_said_where_it_is_taken(tmp_path: Path) -> None:
    path, failed = tmp_path / "pay.db", [Finding(item_id="it-1", flawed=True, flaw="other")]
    yen = Terms((rule("200", "500", currency="JPY"),), usual_penalty_minor=None)
    post_to(path, settle((A, B), yen))
    terms, _ = recall(path, yen, (), {("it-1", "1")})
    with pytest.raises(InputError, match="the usual penalty is not in JPY"):
        settle((A, B), terms, findings=failed)
    assert len(post_to(path, settle((A, B), replace(terms, penalty_minor=90), findings=failed)).lines) == 3


def test_a_rule_is_locked_also_where_it_paid_nothing(tmp_path: Path) -> None:
    path = tmp_path / "pay.db"
    tie = (review("A", "16"), review("B", "16", hour=2))
    post_to(path, settled(*tie, rules=rule("0", tie="strict")))
    with pytest.raises(Refusal, match="was settled under pay rule 1"):
        post_to(path, settled(*tie, rules=rule("0", tie="coin", version="2")), "meant")


def test_sums_beyond_a_64_bit_column_are_one_line(tmp_path: Path) -> None:
    dear = rule("9000000000000", "0")
    rows = [review("A", "1", item=f"it-{n}") for n in range(6000)]
    with pytest.raises(Refusal, match="beyond all pay"):
        post_to(tmp_path / "pay.db", settled(*rows, rules=dear))
