"""Lists of payments as providers give them: Prolific, MTurk, PayPal, Wise, or a table of anybody else.

The content tells whose list it is. Lists of Prolific and MTurk hold all that was ever paid in a study
or on an assignment, other batches included; what the ledger has booked already is then no news.

Source:
    https://docs.prolific.com/api-reference/submissions (bonus_payments in pence or cents),
    https://docs.aws.amazon.com/AWSMechTurk (ListBonusPayments), PayPal's Payouts API (payout batch
    details), https://docs.wise.com/guides/product/send-money/tracking/transfer-statuses
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, TypeAdapter, ValidationError

from kina_build.errors import InputError, RowErrors, RowFault
from kina_build.rows.jsonl import describe
from kina_build.rows.tables import Row, need_rows
from kina_review.records import Id, Instant, Record
from kina_review.words import read_word

OUR_PAYMENT = re.compile(r"b\d{4,}-\d{5,}")
"""A payment of ours in a field that is free text there: b0001-00001 matches, invoice 7 must not."""
UNFINISHED = ("NEW", "PENDING", "PROCESSING")
"""States of a PayPal batch in which payments may still be made."""
CENTS = Decimal(100)
"""Prolific counts in pence and cents, the only currencies it pays in."""
MOMENT: TypeAdapter[datetime] = TypeAdapter(Instant)

Paid = Literal["paid", "failed", "pending", "returned", "refunded"]


PAID_ALIASES: Mapping[str, Paid] = {
    "approved": "paid",
    "complete": "paid",
    "completed": "paid",
    "confirmed": "paid",
    "succeeded": "paid",
    "success": "paid",
    "sent": "paid",
    "rejected": "failed",
    "cancelled": "failed",
    "canceled": "failed",
    "error": "failed",
    "processing": "pending",
    "in_flight": "pending",
    "bounced": "returned",
    "reversed": "returned",
    "charged_back": "refunded",
    "unclaimed": "pending",
    "onhold": "pending",
    "on_hold": "pending",
    "blocked": "failed",
    "denied": "failed",
    "outgoing_payment_sent": "paid",
    "incoming_payment_waiting": "pending",
    "incoming_payment_initiated": "pending",
    "funds_converted": "pending",
    "bounced_back": "pending",
    "unknown": "pending",
    "funds_refunded": "returned",
}
"""Words of providers; what bounced back at Wise is not settled before the funds are refunded."""


class ProviderRow(Record):
    """One line of the provider's list of a batch."""

    payee_id: Id
    amount: Decimal
    """In major units."""
    status: Annotated[Paid, BeforeValidator(lambda word: read_word(word, get_args(Paid), PAID_ALIASES))] = (
        "paid"
    )
    payment_id: str = ""
    """Ours, where the list repeats it."""
    transaction_id: str = ""
    """The provider's own."""
    currency: str = ""
    fee: Decimal | None = None
    completed_at: str = ""
    assignment_id: str = ""
    """MTurk only: the assignment that the bonus was paid on."""


@dataclass(frozen=True)
class ProviderList:
    """What a provider says it paid."""

    rows: Sequence[ProviderRow]
    provider: str = ""
    """Whose list it is; empty: a table that anybody may have made."""
    cumulative: bool = False
    """It holds what was paid in other batches too."""
    goes_on: str = ""
    """Why it cannot be the whole list yet; empty: nothing in it says so."""

    def news(self, booked: Mapping[str, str], own: set[str], since: datetime | None) -> list[ProviderRow]:
        """Return the rows that can be about a batch: of a cumulative list, what is booked or older is not.

        Args:
            booked: transaction ids that the ledger knows, to their payments.
            own: payments of the batch.
            since: instant at which the batch was planned, where the ledger tells.
        """
        if not self.cumulative:
            return list(self.rows)
        return [
            row
            for row in self.rows
            if booked.get(row.transaction_id, next(iter(own))) in own and not _is_older(row, since)
        ]


def read_provider_list(path: Path, columns: Mapping[str, str] | None = None) -> ProviderList:
    """Read a provider's list; the content tells whose it is.

    Args:
        path: JSON of the provider's API, or a table with payee_id, amount, status.
        columns: what a column of a table is called there, to what it is called here.

    Raises:
        InputError: an unreadable file, or one that begins like a provider's list and goes on otherwise.
        RowErrors: rows that say no payee, no amount, or a status that nobody knows.
    """
    rows = need_rows(path)
    for provider, (tell, read, cumulative) in FORMS.items():
        if all(tell(row.values) for row in rows):
            try:
                found = [(row, fields) for row in rows for fields in read(row.values)]
            except (AttributeError, KeyError, TypeError, ValueError, InvalidOperation):
                raise InputError(
                    f"{path}: begins like a list of {provider}, but goes on in another form"
                ) from None
            more = next((why for row in rows if (why := _goes_on(row.values))), "")
            stated = any("status" in fields for _, fields in found)
            return ProviderList(_checked(found, stated=stated), provider.lower(), cumulative, more)
    known = {name: name for name in ProviderRow.model_fields} | dict(columns or {})
    # a column that nobody knows is a slip, unless the table is said to be somebody else's
    ours = known.keys() if columns else None
    named = [(row, _renamed(row.values, known, ours)) for row in rows]
    # a table whose every status is blank lists what was paid; one blank among words tells nothing
    stated = any(fields.get("status") not in (None, "") for _, fields in named)
    return ProviderList(_checked(named, stated=stated))


def _goes_on(values: Mapping[str, Any]) -> str:
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


def _renamed(
    values: Mapping[str, Any], known: Mapping[str, str], ours: Collection[str] | None
) -> dict[str, Any]:
    return {known.get(key, key): value for key, value in values.items() if ours is None or key in ours}


def _checked(rows: Sequence[tuple[Row, Mapping[str, Any]]], *, stated: bool) -> list[ProviderRow]:
    found: list[ProviderRow] = []
    faults: list[RowFault] = []
    for row, fields in rows:
        told = {name: value for name, value in fields.items() if value not in (None, "")}
        if stated and "status" not in told:
            faults.append(row.fault("status: is blank, so what became of this payment is unknown"))
            continue
        try:
            found.append(ProviderRow.model_validate(told))
        except ValidationError as error:
            faults.extend(map(row.fault, describe(error)))
    if faults:
        raise RowErrors(faults, hint="needed: payee_id, amount; --column THEIRS=OURS says what a column is")
    return found


def moment_of(row: ProviderRow) -> datetime | None:
    """Return when a row was completed; None where it tells no instant."""
    try:
        return MOMENT.validate_python(row.completed_at) if row.completed_at else None
    except ValidationError:
        return None


def _is_older(row: ProviderRow, since: datetime | None) -> bool:
    moment = moment_of(row)
    return since is not None and moment is not None and moment < since


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
