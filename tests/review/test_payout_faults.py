"""The public payout and review faults, each by its id; agreement and assignment have their own file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from kina_build.errors import InputError, Refusal
from kina_review.economics.bonus import check_bonus
from kina_review.money import cap, format_amount, parse_amount, split, total
from kina_review.pay.book.opening import create_ledger
from kina_review.pay.drafting import draft_lines
from kina_review.pay.payees import PayeeBook
from kina_review.pay.payments import batch_payments, move_batch
from kina_review.pay.plans import plan_into
from kina_review.pay.providers.files import batches, match_ids
from kina_review.pay.providers.judging import Proof, reconcile
from kina_review.pay.providers.lists import ProviderRow
from kina_review.payrecords import PayRule
from kina_review.records import Review
from kina_review.tournament.decisions import error_rates
from kina_review.tournament.payrules import rule_at
from kina_review.words import read_item_words
from tests.conftest import fault_cases
from tests.review.stories import pay, review, rule, settled

Case = dict[str, Any]
MINE = {"rev-status-words", "rev-dissent-rate"}
BOOK = PayeeBook(key="00" * 32)


def contest(case: Case, **more: Any) -> tuple[Any, PayRule]:
    given = case["input"]
    terms = rule(given["base"], given["bonus"], str(given["bar"]), tie=given["tie_rule"], **more)
    reviews = [
        review(who, None if score is None else str(score), hour=None if score is None else n)
        for n, (who, score) in enumerate(given["scores"].items(), start=1)
    ]
    return settled(*reviews, rules=terms), terms


def dollars(amounts: dict[str, int]) -> dict[str, str]:
    return {who: format_amount(minor, "USD") for who, minor in amounts.items()}


def pay_batches(case: Case, tmp_path: Path) -> None:
    given, wanted = case["input"], case["expected"]
    parts = batches([f"p{n}" for n in range(given["payees"])], given["limit"])
    assert [len(part) for part in parts] == wanted["batch_sizes"]
    assert len({p for part in parts for p in part}) == given["payees"]
    each = parse_amount(given["amount_each"], "USD")
    assert format_amount(each * sum(map(len, parts)), "USD") == wanted["total"]


def pay_scores(case: Case, tmp_path: Path) -> None:
    done, _ = contest(case)
    assert dollars(pay(done)) == case["expected"]["pay"]
    assert format_amount(sum(a.bonus_minor for a in done.awards), "USD") == case["expected"]["bonus_total"]


def pay_tie(case: Case, tmp_path: Path) -> None:
    pay_scores(case, tmp_path)
    case["input"]["tie_rule"] = None
    with pytest.raises(Refusal, match=case["expected"]["without_tie_rule"].split()[-1]):
        contest(case)


def pay_missing(case: Case, tmp_path: Path) -> None:
    done, _ = contest(case)
    wanted = case["expected"]
    assert done.contests[0].status == wanted["status"]
    assert dollars(pay(done)) == wanted["pay_now"]
    assert {a.reason for a in done.awards} == {wanted["reason"], "missing"}


def pay_cap(case: Case, tmp_path: Path) -> None:
    given, wanted = case["input"], case["expected"]
    now, later = cap(*(parse_amount(given[key], "USD") for key in ("due", "cap", "already")))
    assert (format_amount(now, "USD"), format_amount(later, "USD")) == (wanted["pay"], wanted["carried"])


def pay_ids(case: Case, tmp_path: Path) -> None:
    given, wanted = case["input"], case["expected"]
    amounts = dict(given["payout_rows"])
    matched, errors = match_ids(list(amounts), given["roster"])
    assert {matched[name]: amounts[name] for name in matched} == wanted["paid"]
    assert errors == wanted["errors"]


def pay_merged(case: Case, tmp_path: Path) -> None:
    rows = case["input"]["rows"]
    terms = rule(base=rows[0][3])
    reviews = [review(who, "9", 1, item, round=round_) for who, item, round_, _ in rows]
    done = settled(*reviews, rules=terms)
    assert dollars(pay(done)) == case["expected"]["pay"]
    dropped = [row for row in done.set_aside if row.reason == "duplicate_row"]
    assert len(dropped) == case["expected"]["duplicates_dropped"]


def pay_minor(case: Case, tmp_path: Path) -> None:
    given, wanted = case["input"], case["expected"]
    amounts = []
    for pool, currency in given["pools"]:
        parts = split(parse_amount(pool, currency), dict.fromkeys(range(given["shares"]), 1))
        assert [format_amount(part, currency) for part in parts.values()] == wanted[currency]
        amounts += [(part, currency) for part in parts.values()]
    with pytest.raises(Refusal, match="cannot sum") as refused:
        total(amounts)
    assert "stated rate and date" in refused.value.hint


def pay_rule(case: Case, tmp_path: Path) -> None:
    rules = [
        PayRule.model_validate(
            {
                "version": str(row["version"]),
                "valid_from": row["from"],
                "currency": "USD",
                "base_minor": 0,
                "bonus_minor": parse_amount(row["bonus"], "USD"),
                "bar": 0,
            }
        )
        for row in case["input"]["rules"]
    ]
    lines = []
    for who, day in case["input"]["work"]:
        done = Review.model_validate({"item_id": "i", "reviewer_id": who, "submitted_at": day})
        used = rule_at(rules, done.submitted_at)
        lines.append([who, day, format_amount(used.bonus_minor, "USD"), f"rule {used.version}"])
    assert lines == case["expected"]["lines"]


def pay_split(case: Case, tmp_path: Path) -> None:
    given, wanted = case["input"], case["expected"]
    parts = split(parse_amount(given["pool"], given["currency"]), given["shares"])
    assert dollars(parts) == wanted["lines"]
    assert format_amount(sum(parts.values()), "USD") == wanted["sum"]


def pay_threshold(case: Case, tmp_path: Path) -> None:
    wanted = case["expected"]
    checks = []
    for row in case["input"]["cases"]:
        low, high = row.get("delta_p_ci", (row.get("delta_p_min"), None))
        cost = Fraction(row.get("delta_cost", "4.00"))
        upper = None if high is None else Fraction(str(high))
        checks.append(check_bonus(Fraction(row["bonus"]), cost, Fraction(str(low)), upper))
    assert [check.compatible for check in checks] == wanted["incentive_compatible"]
    assert [check.reason for check in checks] == wanted["reasons"]
    assert checks[0].threshold == Fraction(wanted["threshold"])


def pay_timeout(case: Case, tmp_path: Path) -> None:
    lines, wanted = case["input"]["lines"], case["expected"]
    owed = {who: parse_amount(amount, "USD") for who, amount in lines}
    with create_ledger(tmp_path / "pay.db", "USD", BOOK.check) as ledger:
        for who, minor in owed.items():
            done = settled(review(who, "9", item=who), rules=rule(str(Decimal(minor) / 100), version=who))
            with ledger.writing():
                ledger.append(draft_lines(ledger, done, BOOK))
        first = plan_into(ledger, {BOOK.ref(who): who for who in owed})
        move_batch(ledger, first.batch, "in_flight")
        move_batch(ledger, first.batch, "unknown")
        with pytest.raises(Refusal, match=wanted["second_submit"]):
            plan_into(ledger, {})
        payments = batch_payments(ledger, first.batch)
        assert {payment.state for payment in payments} == {wanted["state"]}
        rows = [ProviderRow(payee_id=who, amount=Decimal(amount)) for who, amount in lines]
        accounts = {BOOK.ref(who): who for who in owed}
        proof = reconcile(payments, accounts, rows, Proof("USD", complete=True))
        assert set(proof.states.values()) == {"confirmed"}
        paid = sum(payment.amount_minor for payment in payments)
        assert format_amount(paid, "USD") == wanted["paid_total_if_first_succeeded"]


def pay_person(case: Case, tmp_path: Path) -> None:
    given, wanted = case["input"], case["expected"]
    reviews = [
        Review(
            item_id="i", reviewer_id=row["worker"], assignment_id=row["assignment"], status=row["status"],
            submitted_at="2031-01-01",
        )
        for row in given["records"]
    ]  # fmt: skip
    earned = dollars(pay(settled(*reviews, rules=rule(base=given["bonus"]))))
    assert {who: amount for who, amount in earned.items() if amount != "0.00"} == wanted["pay"]
    assert [who for who, amount in earned.items() if amount == "0.00"] == wanted["not_paid"]


def rev_words(case: Case, tmp_path: Path) -> None:
    assert read_item_words(case["input"]["values"]) == case["expected"]["canonical"]
    with pytest.raises(InputError, match="row 2: 'quite fine'"):
        read_item_words(["ok", "quite fine"])


def rev_dissent(case: Case, tmp_path: Path) -> None:
    wanted = {k: v for k, v in case["expected"].items() if k != "report_names_rule"}
    assert asdict(error_rates(case["input"]["wrong_votes_of_3"], 3)) == wanted


CHECKS: dict[str, Callable[[Case, Path], None]] = {
    "pay-batches": pay_batches,
    "pay-below-bar": pay_scores,
    "pay-cap-carry": pay_cap,
    "pay-id-look-alike": pay_ids,
    "pay-merged-exports": pay_merged,
    "pay-minor-units": pay_minor,
    "pay-missing-score": pay_missing,
    "pay-rule-change": pay_rule,
    "pay-split-cents": pay_split,
    "pay-threshold-strict": pay_threshold,
    "pay-tie-over-bar": pay_tie,
    "pay-timeout-retry": pay_timeout,
    "pay-wrong-person": pay_person,
    "rev-status-words": rev_words,
    "rev-dissent-rate": rev_dissent,
}


@pytest.mark.parametrize("case", fault_cases("payout"))
def test_payout_fault(case: Case, tmp_path: Path) -> None:
    CHECKS[case["id"]](case, tmp_path)


@pytest.mark.parametrize("case", [c for c in fault_cases("review") if c.id in {"absent", *MINE}])
def test_review_fault(case: Case, tmp_path: Path) -> None:
    CHECKS[case["id"]](case, tmp_path)
