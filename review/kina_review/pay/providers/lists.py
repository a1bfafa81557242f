"""Lists of payments as providers give them: Prolific, MTurk, PayPal, Wise, or a table of anybody else.

The content tells whose list it is. Lists of Prolific and MTurk hold all that was ever paid in a study
or on an assignment, other batches included; what the ledger has booked already is then no news.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, TypeAdapter, ValidationError

from kina_build.errors import RowErrors, RowFault
from kina_build.rows.jsonl import describe
from kina_build.rows.kinds import reading_as
from kina_build.rows.tables import Row, need_rows
from kina_review.pay.providers.forms import FORMS, goes_on
from kina_review.records import Id, Instant, Record
from kina_review.words import read_word

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
            with reading_as(str(path), f"a list of {provider}"):
                found = [(row, fields) for row in rows for fields in read(row.values)]
            more = next((why for row in rows if (why := goes_on(row.values))), "")
            stated = any("status" in fields for _, fields in found)
            return ProviderList(_checked(found, stated=stated), provider.lower(), cumulative, more)
    known = {name: name for name in ProviderRow.model_fields} | dict(columns or {})
    # a column that nobody knows is a slip, unless the table is said to be somebody else's
    ours = known.keys() if columns else None
    named = [(row, _renamed(row.values, known, ours)) for row in rows]
    # a table whose every status is blank lists what was paid; one blank among words tells nothing
    stated = any(fields.get("status") not in (None, "") for _, fields in named)
    return ProviderList(_checked(named, stated=stated))


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
