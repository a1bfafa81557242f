"""Lists of payments as providers give them: told by their content, held against the batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kina_build.errors import InputError, KinaError, Refusal, RowErrors
from kina_review.library import plan_payments, settle
from kina_review.pay.book.opening import open_ledger
from kina_review.pay.payments import batch_payments
from kina_review.pay.providers.forms import OUR_PAYMENT
from kina_review.pay.providers.lists import read_provider_list
from kina_review.pay.providers.reconciling import reconcile_list
from tests.review.stories import review
from tests.review.test_library import RULE


def listed(folder: Path, value: Any) -> Path:
    (folder / "list.json").write_text(json.dumps(value))
    return folder / "list.json"


def sent(folder: Path, provider: Any = "csv", accounts: str = "") -> Path:
    """Begin a ledger that owes ann 7.00 and bob 2.00, and plan it."""
    settle([review("ann", "18", hour=1), review("bob", "15", hour=2)], RULE).post(folder / "pay.db")
    lists = []
    if accounts:
        (folder / "accounts.csv").write_text(accounts)
        lists = [folder / "accounts.csv"]
    plan_payments(folder / "pay.db", folder / "p.csv", provider=provider, payees=lists)
    return folder / "pay.db"


def states(ledger: Path) -> dict[str, str]:
    with open_ledger(ledger) as book:
        return {one.payment_id: one.state for one in batch_payments(book, "b0001")}


def payout(receiver: str, value: str, status: str = "SUCCESS", item: str = "") -> dict[str, Any]:
    return {
        "payout_item_id": f"I{receiver}",
        "transaction_id": f"T{receiver}",
        "transaction_status": status,
        "payout_item_fee": {"currency": "USD", "value": "0.25"},
        "payout_item": {
            "receiver": receiver,
            "sender_item_id": item,
            "amount": {"currency": "USD", "value": value},
        },
        "time_processed": "2026-05-04T08:00:00Z",
    }


def test_a_payout_batch_of_paypal_settles_with_fees_and_ids(tmp_path: Path) -> None:
    ledger = sent(tmp_path)
    items = [payout("ann", "7.00", item="b0001-00001"), payout("bob", "2.00", "UNCLAIMED")]
    told = reconcile_list(ledger, None, listed(tmp_path, {"batch_header": {}, "items": items}))
    assert told["states"] == {"b0001-00001": "confirmed"}
    assert told["open"] == ["b0001-00002"]
    with open_ledger(ledger) as book:
        line = list(book.entries("payment"))[-1].reason
    assert '"fee_minor":25' in line
    assert '"transaction":"Tann"' in line
    back = [payout("ann", "7.00", "RETURNED"), payout("bob", "2.00", "REVERSED")]
    reconcile_list(ledger, "b0001", listed(tmp_path, {"batch_header": {}, "items": back}))
    assert set(states(ledger).values()) == {"returned"}


def test_transfers_of_wise(tmp_path: Path) -> None:
    accounts = "payee_id,account\nann,101\nbob,102\n"
    ledger = sent(tmp_path, accounts=accounts)
    wise = [
        {"id": 1, "targetAccount": 101, "targetValue": 7.0, "targetCurrency": "USD",
         "status": "outgoing_payment_sent", "details": {"reference": "pay b0001-00001"}},
        {"id": 2, "targetAccount": 102, "targetValue": 2, "targetCurrency": "USD", "status": "bounced_back"},
    ]  # fmt: skip
    assert reconcile_list(ledger, None, listed(tmp_path, wise))["states"] == {"b0001-00001": "confirmed"}
    wise[1]["status"] = "funds_refunded"
    assert reconcile_list(ledger, None, listed(tmp_path, wise))["states"] == {"b0001-00002": "returned"}
    wise[0]["targetCurrency"] = "EUR"
    assert reconcile_list(ledger, "b0001", listed(tmp_path, wise))["problems"]


def test_a_study_of_prolific_holds_other_batches_too(tmp_path: Path) -> None:
    ledger = sent(tmp_path, "prolific")
    study = {"results": [
        {"id": "s1", "participant": "ann", "status": "APPROVED", "bonus_payments": [700]},
        {"id": "s2", "participant_id": "bob", "status": "APPROVED", "bonus_payments": [200.0]},
        {"id": "s3", "participant_id": "eve", "status": "APPROVED", "bonus_payments": []},
    ]}  # fmt: skip
    assert len(reconcile_list(ledger, None, listed(tmp_path, study))["states"]) == 2

    rows = [review("ann", "18", hour=1), review("bob", "15", hour=2)]
    more = [review("ann", "18", hour=1, item="it-2"), review("bob", "15", hour=2, item="it-2")]
    settle([*rows, *more], RULE).post(ledger)
    plan_payments(ledger, tmp_path / "q.csv", provider="prolific")
    study["results"][0]["bonus_payments"] = [700, 700]
    study["results"][1]["bonus_payments"] = [200, 200]
    told = reconcile_list(ledger, "b0002", listed(tmp_path, study))
    assert set(told["states"]) == {"b0002-00001", "b0002-00002"}
    assert told["problems"] == []


def test_bonuses_of_mturk_are_of_an_assignment_and_an_age(tmp_path: Path) -> None:
    accounts = "payee_id,account,assignment_id\nann,A1,S1\nbob,A2,S2\n"
    ledger = sent(tmp_path, "mturk", accounts)
    late = "2999-05-04T08:00:00+00:00"

    def bonuses(*rows: tuple[str, str, str, str]) -> Path:
        names = ("WorkerId", "BonusAmount", "AssignmentId", "GrantTime")
        return listed(
            tmp_path, {"NumResults": 2, "BonusPayments": [dict(zip(names, row, strict=True)) for row in rows]}
        )

    old = ("A1", "3.00", "S1", "2020-05-04T08:00:00+00:00")
    wrong = bonuses(old, ("A1", "7.00", "S9", late), ("A2", "2.00", "S2", late))
    told = reconcile_list(ledger, None, wrong)
    assert told["problems"] == ["'A1' was paid on assignment S9, and the batch has S1"]
    right = bonuses(old, ("A1", "7.00", "S1", late), ("A2", "2.00", "S2", late))
    assert len(reconcile_list(ledger, None, right)["states"]) == 2


def test_a_list_of_another_provider_is_refused(tmp_path: Path) -> None:
    ledger = sent(tmp_path, "prolific")
    with pytest.raises(Refusal, match="planned for prolific, and this is a list of paypal"):
        reconcile_list(ledger, None, listed(tmp_path, {"batch_header": {}, "items": [payout("ann", "7.00")]}))
    assert set(states(ledger).values()) == {"planned"}


def test_columns_of_somebody_elses_table(tmp_path: Path) -> None:
    ledger = sent(tmp_path)
    table = tmp_path / "bank.csv"
    table.write_text("Empfaenger,Betrag,Notiz\nann,7.00,x\nbob,2.00,y\n")
    with pytest.raises(RowErrors, match="payee_id"):
        reconcile_list(ledger, None, table)
    columns = {"Empfaenger": "payee_id", "Betrag": "amount"}
    assert len(reconcile_list(ledger, None, table, columns=columns)["states"]) == 2


@pytest.mark.parametrize(
    "value",
    [
        {"batch_header": {}, "items": 3},
        {"batch_header": {}, "items": [{"payout_item": {}}]},
        {"BonusPayments": [{"WorkerId": "A1", "BonusAmount": "x", "AssignmentId": "S1"}]},
        {"results": [{"bonus_payments": [1]}]},
        {"results": [{"id": "s", "participant": "ann", "bonus_payments": ["NaN"]}]},
        [{"targetAccount": 1, "targetValue": None, "targetCurrency": "USD", "status": "paid"}],
        {"batch_header": {}, "items": [payout("ann", "7.00", "SOLD")]},
    ],
)
def test_what_only_begins_like_a_list_is_one_line(tmp_path: Path, value: Any) -> None:
    with pytest.raises((InputError, RowErrors)) as caught:
        read_provider_list(listed(tmp_path, value))
    assert isinstance(caught.value, KinaError)


def test_a_blank_status_among_others_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("payee_id,amount,status\nann,7.00,paid\nbob,2.00,\n")
    with pytest.raises(RowErrors, match=r"list.csv:3: status: is blank"):
        read_provider_list(tmp_path / "list.csv")


def _bonus(worker: str, **more: str) -> dict[str, str]:
    return {"WorkerId": worker, "AssignmentId": f"S{worker}", "BonusAmount": "7.00", **more}


PART = [payout("ann", "7.00")]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"batch_header": {"batch_status": "PROCESSING"}, "items": PART}, "the batch is PROCESSING"),
        ({"batch_header": {}, "items": PART, "links": [{"rel": "next", "href": "x"}]}, "another page"),
        ({"BonusPayments": [_bonus("ann")], "NextToken": "abc"}, "another page"),
        (
            {"results": [{"id": "s", "participant": "ann", "bonus_payments": [700]}], "meta": {"count": 2}},
            "1 of 2",
        ),
        (
            {
                "results": [{"id": "s", "participant": "ann", "bonus_payments": [700]}],
                "_links": {"next": {"href": "x"}},
            },
            "another page",
        ),
    ],
)
def test_a_page_of_a_list_is_not_complete(tmp_path: Path, value: Any, said: str) -> None:
    ledger = sent(tmp_path)
    with pytest.raises(Refusal, match=said):
        reconcile_list(ledger, None, listed(tmp_path, value), complete=True)
    assert states(ledger) == {"b0001-00001": "planned", "b0001-00002": "planned"}
    told = reconcile_list(ledger, None, listed(tmp_path, value))
    assert (told["states"], told["problems"]) == ({"b0001-00001": "confirmed"}, [])


def test_a_provider_that_says_no_status_paid_nobody(tmp_path: Path) -> None:
    with pytest.raises(RowErrors, match="status: is blank"):
        read_provider_list(listed(tmp_path, {"batch_header": {}, "items": [payout("ann", "7.00", "")]}))


def test_a_transaction_of_two_payees_settles_nothing(tmp_path: Path) -> None:
    both = [payout("ann", "7.00"), payout("bob", "2.00") | {"transaction_id": "Tann"}]
    told = reconcile_list(sent(tmp_path), None, listed(tmp_path, {"batch_header": {}, "items": both}))
    assert (told["states"], told["problems"]) == ({}, ["transaction Tann is listed for 'ann' and 'bob'"])


def test_a_fee_of_another_currency_is_not_booked_as_ours(tmp_path: Path) -> None:
    entry = payout("ann", "7.00") | {"payout_item_fee": {"currency": "EUR", "value": "0.25"}}
    assert read_provider_list(listed(tmp_path, {"batch_header": {}, "items": [entry]})).rows[0].fee is None


def test_our_payment_in_a_reference() -> None:
    assert OUR_PAYMENT.search("pay b0001-00001, thanks")
    assert not OUR_PAYMENT.search("invoice 7")
