"""Adjudicators are paid through the same ledger: once a grade, by the rule, and audited like all pay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kina_build.errors import InputError, Refusal
from kina_review.library import PayRule, audit, plan_payments, settle
from kina_review.pay.book.opening import open_ledger
from kina_review.pay.settling import Settled
from kina_review.pay.statements import read_statements
from kina_review.records import Grade, Review
from tests.review.stories import review
from tests.review.test_commands import Kina

RULE = PayRule(base="2.00", bonus="5.00", currency="USD", bar=14, tie="split", grade="0.75")
ROWS = [review("ann", hour=1), review("bob", hour=2)]


def grade(reviewer: str, score: str | None, grader: str | None = "gus", **more: Any) -> Grade:
    who = {} if grader is None else {"grader_id": grader}
    return Grade.model_validate(
        {"item_id": "it-1", "reviewer_id": reviewer, "review_score": score, **who, **more}
    )


BOTH = [grade("ann", "18"), grade("bob", "15")]


def settled(scores: list[Grade], rows: list[Review] = ROWS, rule: PayRule = RULE) -> Settled:
    return settle(rows, rule, scores=scores)


def test_a_grade_is_paid_once_and_through_the_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "pay.db"
    done = settled(BOTH)
    assert done.report["totals"]["grading_minor"] == 150
    assert done.report["totals"]["total_minor"] == 1050
    done.post(ledger)
    assert settled([*BOTH, BOTH[0], grade("bob", None)]).post(ledger).posted == ()
    planned = plan_payments(ledger, tmp_path / "p.csv")
    assert {p["account"]: p["amount"] for p in planned.report["payments"]} == {
        "ann": "7.00", "bob": "2.00", "gus": "1.50"
    }  # fmt: skip
    assert audit(ledger, ROWS, scores=BOTH)
    (own,) = read_statements(ledger, "gus")
    assert (own.owed, own.lines[0].why) == ("0.00", "reviews of this item graded")
    assert "0.75 USD for each review graded" in own.rules[0]


def test_a_second_adjudicator_of_an_appeal_is_paid_too(tmp_path: Path) -> None:
    ledger = tmp_path / "pay.db"
    settled(BOTH).post(ledger)
    again = [*BOTH, grade("ann", "16", "hal"), grade("bob", "17", "hal")]
    posted = settled(again).post(ledger).posted or ()
    graded = [(line.reviewer_id, line.amount_minor) for line in posted if line.kind == "grading"]
    assert graded == [("hal", 150)]
    assert audit(ledger, ROWS, scores=again)


def test_grades_that_are_gone_take_nothing_back_unseen(tmp_path: Path) -> None:
    ledger = tmp_path / "pay.db"
    settled(BOTH).post(ledger)
    with pytest.raises(Refusal, match="evidence is missing or altered"):
        settled(BOTH[:1]).post(ledger)


def test_a_forged_grading_line_is_named(tmp_path: Path) -> None:
    ledger = tmp_path / "pay.db"
    settled(BOTH).post(ledger)
    with open_ledger(ledger) as book, book.writing():
        line = next(line for line in book.entries("grading"))
        book.append([line.model_copy(update={"amount_minor": 75})])
    found = audit(ledger, ROWS, scores=BOTH)
    (fault,) = found.faults
    assert "grading of 'gus' on item 'it-1', round '1' is 225 minor units, and the files give 150" in fault


def test_a_rule_that_pays_no_grades_is_told_as_before(tmp_path: Path) -> None:
    plain = PayRule(base="2.00", bonus="5.00", currency="USD", bar=14, tie="split")
    done = settled(BOTH, rule=plain)
    assert "grading_minor" not in done.report["totals"]
    done.post(tmp_path / "pay.db")
    with open_ledger(tmp_path / "pay.db") as book:
        assert "grade_minor" not in json.loads(book.rules()["1"])
    with pytest.raises(Refusal, match="stands in the ledger with other terms"):
        settled(BOTH).post(tmp_path / "pay.db")


def test_who_is_to_be_paid_must_be_known_and_somebody_else() -> None:
    with pytest.raises(InputError, match="names no grader"):
        settled([grade("ann", "18", None)])
    with pytest.raises(Refusal, match="'bob' graded item 'it-1', which they reviewed"):
        settled([grade("ann", "18", "bob")])
    with pytest.raises(Refusal, match="which they reviewed"):
        settled([grade("ann", "18", "gus", payee_id="bob")])


def test_the_pay_of_grades_on_the_command_line(kina: Kina, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(
        "item_id,reviewer_id,submitted_at\nit-1,ann,2026-05-04T08:00:00Z\nit-1,bob,2026-05-04T09:00:00Z\n"
    )
    (tmp_path / "s.csv").write_text(
        "item_id,reviewer_id,grader_id,review_score\nit-1,ann,gus,18\nit-1,bob,gus,15\n"
    )
    line = "review settle --reviews r.csv --scores s.csv --bar 14 --grade-pay 0.75 --ledger pay.db"
    done = kina(*line.split())
    assert done.exit_code == 0, done.stderr
    assert "of it 1.50 USD to adjudicators" in done.stdout
