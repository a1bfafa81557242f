"""The rows of other rooms' files, as far as pages show them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FindingRow(BaseModel):
    """One finding of `kina check`, as far as pages show it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str | None = None
    """None for a finding on the pool as a whole."""
    rule: str
    severity: str
    message: str


class ChangeRow(BaseModel):
    """One field's old and new text in a patch."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    field: str
    old: str | None = None
    new: str | None = None
    why: str = ""


class PatchRow(BaseModel):
    """What was mended in an item, as `kina fix` writes it down."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str
    by: str
    result_sha: str = ""
    """Digest of the item's texts after it."""
    changes: tuple[ChangeRow, ...]


class DecisionRow(BaseModel):
    """What became of an item in review."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str
    decision: str
    reason: str = ""


class ContestRow(BaseModel):
    """How a contest of two reviews ended; who took part is not read."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str
    status: str
    tied: bool = False


class DoubtRow(BaseModel):
    """An item whose key models doubt, as `kina triage` lists it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str
    key: str
    flags: tuple[str, ...] = ()
    rival: str | None = None
    """The letter that most strong models choose instead."""
    rival_votes: int = 0
    key_votes: int = 0
    voters: int = 0


class AnchorRow(BaseModel):
    """An anchor with what it says."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    anchor_id: str
    statement: str
    domain: str = ""


class ReviewRow(BaseModel):
    """One review of one item; pages that leave the house name no reviewer."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    item_id: str
    reviewer_id: str
    verdict: str | None = None
    ratings: dict[str, float | None] = {}
    rationale: str | None = None


class ScoreRow(BaseModel):
    """One model's score on one item."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    item_id: str
    model: str
    score: float | None = None
    letters: tuple[str | None, ...] = ()
    """What each of its samples chose, in the item's own letters."""


class FunnelRow(BaseModel):
    """One step of a project's funnel."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: str
    count: int
    lost: bool
    """Whether the items fell here; false: they are what is left."""


class PayoutLine(BaseModel):
    """Lines of the ledger of one kind, summed: no person is named."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    lines: int
    amount: str
    """In major units, with the currency's decimals."""


class Payout(BaseModel):
    """Totals of the ledger."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    currency: str
    totals: tuple[PayoutLine, ...]
    head: str
    """Count and hash of the ledger's last line."""
