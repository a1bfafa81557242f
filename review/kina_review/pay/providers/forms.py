"""Lists of payments as the APIs of Prolific, MTurk, PayPal and Wise give them, told by their content.

Source:
    https://docs.prolific.com/api-reference/submissions (bonus_payments in pence or cents),
    https://docs.aws.amazon.com/AWSMechTurk (ListBonusPayments), PayPal's Payouts API (payout batch
    details), https://docs.wise.com/guides/product/send-money/tracking/transfer-statuses
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

OUR_PAYMENT = re.compile(r"b\d{4,}-\d{5,}")
"""A payment of ours in a field that is free text there: b0001-00001 matches, invoice 7 must not."""
UNFINISHED = ("NEW", "PENDING", "PROCESSING")
"""States of a PayPal batch in which payments may still be made."""
CENTS = Decimal(100)
"""Prolific counts in pence and cents, the only currencies it pays in."""


def goes_on(values: Mapping[str, Any]) -> str:
    """Say why an answer of a provider's API is not all there is; empty: nothing in it says so."""
    header, links = values.get("batch_header"), values.get("links")
    state = header.get("batch_status", "") if isinstance(header, dict) else ""
    if str(state).upper() in UNFINISHED:
        return f"the batch is {state}"
    names = [one.get("rel") for one in links if isinstance(one, dict)] if isinstance(links, list) else []
    after = values.get("_links")
    behind = isinstance(after, dict) and isinstance(after.get("next"), dict) and after["next"].get("href")
    if values.get("NextToken") or "next" in names or behind:
        return "another page follows"
    meta, listed = values.get("meta"), values.get("results")
    count = meta.get("count") if isinstance(meta, dict) else None
    if isinstance(count, int) and isinstance(listed, list) and count > len(listed):
        return f"it holds {len(listed)} of {count} submissions"
    return ""


def _read_prolific(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Read submissions of a study: each bonus of each, in the order in which they were paid."""
    for submission in values.get("results", [values]):
        for number, amount in enumerate(submission.get("bonus_payments") or (), start=1):
            yield {
                "payee_id": submission.get("participant_id") or submission["participant"],
                "amount": Decimal(str(amount)) / CENTS,
                "transaction_id": f"{submission['id']} bonus {number}",
            }


def _read_mturk(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Read the answer to ListBonusPayments, for a HIT or an assignment."""
    for bonus in values.get("BonusPayments", [values]):
        moment = str(bonus.get("GrantTime") or "")
        yield {
            "payee_id": bonus["WorkerId"],
            "amount": Decimal(str(bonus["BonusAmount"])),
            "currency": "USD",
            "transaction_id": f"{bonus['AssignmentId']} at {moment}" if moment else "",
            "completed_at": moment,
            "assignment_id": bonus["AssignmentId"],
        }


def _read_paypal(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Read the details of a payout batch, or of one item of it."""
    for entry in values.get("items", [values]):
        item, fee = entry["payout_item"], entry.get("payout_item_fee") or {}
        currency = item["amount"]["currency"]
        ours = fee.get("value") is not None and fee.get("currency", currency) == currency
        yield {
            "payee_id": item["receiver"],
            "amount": Decimal(str(item["amount"]["value"])),
            "currency": currency,
            "status": entry["transaction_status"],
            "payment_id": _ours(item.get("sender_item_id")),
            "transaction_id": entry.get("transaction_id") or entry.get("payout_item_id"),
            "fee": Decimal(str(fee["value"])) if ours else None,
            "completed_at": entry.get("time_processed"),
        }


def _read_wise(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Read one transfer; the payee is the number of the recipient's account."""
    details = values.get("details") or {}
    yield {
        "payee_id": str(values["targetAccount"]),
        "amount": Decimal(str(values["targetValue"])),
        "currency": values["targetCurrency"],
        "status": values["status"],
        "payment_id": _ours(details.get("reference") or values.get("reference")),
        "transaction_id": str(values["id"]),
        "completed_at": values.get("created"),
    }


def _ours(text: Any) -> str:
    found = OUR_PAYMENT.search(str(text or ""))
    return found.group() if found else ""


def _has(*forms: set[str]) -> Callable[[Mapping[str, Any]], bool]:
    """Return whether a row has all names of one of several forms."""
    return lambda values: any(names <= values.keys() for names in forms)


def _is_study(values: Mapping[str, Any]) -> bool:
    listed = values.get("results", [values])
    return isinstance(listed, list) and all("bonus_payments" in one for one in listed)


Tell = Callable[[Mapping[str, Any]], bool]
Read = Callable[[Mapping[str, Any]], Iterator[dict[str, Any]]]

FORMS: Mapping[str, tuple[Tell, Read, bool]] = {
    "PayPal": (_has({"payout_item"}, {"batch_header", "items"}), _read_paypal, False),
    "MTurk": (_has({"BonusPayments"}, {"WorkerId", "BonusAmount"}), _read_mturk, True),
    "Prolific": (_is_study, _read_prolific, True),
    "Wise": (_has({"targetAccount", "targetValue", "targetCurrency", "status"}), _read_wise, False),
}
"""Provider to how its list is told, how it is read, and whether it holds other batches too."""
