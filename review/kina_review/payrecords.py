"""What the money side keeps: pay rules, awards, the ledger's lines, payments."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field

from kina_review.records import Id, Instant, Reason, Record
from kina_review.rubric import Tie


class Scarcity(Record):
    """What made a discipline's pay dearer, so that it can be worked out again."""

    factor: str
    """Times the usual pay, exactly: "2" or "62/45"."""
    base_minor: int
    """The usual base, and the usual bonus below."""
    bonus_minor: int


class PayRule(Record):
    """What a review earns, from an instant on."""

    version: Id = "1"
    valid_from: Instant | None = None
    """None: from the beginning."""
    currency: str
    base_minor: Annotated[int, Field(ge=0)]
    bonus_minor: Annotated[int, Field(ge=0)]
    bar: Decimal
    tie: Tie | None = None
    """None refuses to settle a tie at or above the bar."""
    grade_minor: Annotated[int, Field(ge=0)] = 0
    """What an adjudicator earns for each review graded."""
    discipline: Id | None = None
    """Whose items it pays; None: those of which no other rule of its version speaks."""
    scarcity: Scarcity | None = None
    """Why it is dearer than the usual pay; None: it is not."""

    @property
    def name(self) -> str:
        """Return what lines of the ledger call it: the version, and the discipline where it has one."""
        return f"{self.version}:{self.discipline}" if self.discipline else self.version

    def terms(self) -> dict[str, Any]:
        """Return the rule as plain values; what a plain rule has not is left out."""
        told = self.model_dump(mode="json")
        return {
            key: told[key]
            for key in told
            if told[key] or key not in ("grade_minor", "discipline", "scarcity")
        }


class Award(Record):
    """What one reviewer earns on one item in one round."""

    item_id: str
    reviewer_id: str
    base_minor: int
    bonus_minor: int
    reason: Reason
    round: str
    rule: str
    """Version of the pay rule."""
    payee_id: str | None = None
    penalty_minor: int = 0
    """Taken off after a failed audit; zero or negative."""


EntryKind = Literal[
    "rule", "base", "bonus", "penalty", "grading", "payment", "evidence", "correction", "hold", "seal", "draw"
]
"""The last five move no money: what an item's pay rests on, why a correction was allowed, whose pay
is held until a contradiction is cleared up, where the chain begins to be keyed,
what an audit drew."""


class LedgerEntry(Record):
    """One line of the ledger: what is owed counts up, what is paid out counts down."""

    seq: int
    """1-based, without gaps."""
    kind: EntryKind
    item_id: str = ""
    round: str = ""
    reviewer_id: str = ""
    """Empty for payments: they go to a payee."""
    payee_ref: str = ""
    """HMAC of the payee's id; the id itself is in the payee file."""
    rule: str = ""
    """Version of the pay rule."""
    amount_minor: int = 0
    reason: str
    """Why: a Reason, a payment's state, or the text of a rule."""
    payment_id: str = ""
    """Empty for earnings."""
    hash: str = ""
    """sha256 over the hash before it and this line."""


PaymentState = Literal[
    "planned", "in_flight", "confirmed", "failed", "unknown", "cancelled", "returned", "refunded"
]


class Step(Record):
    """What shows that a payment reached a state; all of it stands on the ledger's line."""

    provider: str = ""
    transaction: str = ""
    """The provider's own id of the transfer."""
    account: str = ""
    """Reference to the account that was planned or paid; the account itself is in the payee file."""
    paid_minor: int | None = None
    """What the provider says it paid."""
    fee_minor: int | None = None
    at: str = ""
    """Instant, UTC: of the plan, or of the transfer as the provider gives it."""
    list_sha256: str = ""
    """Digest of the provider's list."""
    cap_minor: int | None = None
    """Most that a payee was to get in the period, when the batch was planned."""
    why: str = ""
    """Of an adjustment: its reason."""
    by: str = ""
    approved_by: str = ""
    """Of an adjustment: the second person."""


class Payment(Record):
    """One transfer to one payee, with the state that the ledger's lines amount to."""

    payment_id: str
    batch: str
    payee_ref: str
    amount_minor: int
    state: PaymentState
    paid_out_minor: int | None = None
    """What the payment takes off what is owed now; None: its amount."""
    planned: Step = Step()
    """The account, provider and cap it was planned with; older ledgers do not tell."""
    transactions: tuple[str, ...] = ()
    """The provider's ids seen for it."""


@dataclass(frozen=True)
class Holding:
    """What the ledger holds so far of one payable."""

    amount_minor: int
    reason: str
    """Of the latest line."""
    rule: str
    payee_ref: str


PayKey = tuple[str, str, str, EntryKind]
"""item_id, round, reviewer_id, kind."""
