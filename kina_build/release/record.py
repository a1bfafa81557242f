"""The manifest of a release, release.json: what it is, what is in it, how it was made."""

from __future__ import annotations

import hashlib
from typing import Any

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from kina_build.release.splits import Name, Split
from kina_build.rows.jsonl import canonical

FORMAT = 4
"""Version of release.json: from 2 on its figures are derived from evidence, and it is sealed; from 3 on
it names the digests of all files; from 4 on its shares carry the rounding of the inputs."""
SEALED = (3, FORMAT)
"""Versions whose every file is named by digest, and whose card is still worded as then."""
PROVEN = (2, *SEALED)
"""Versions that prove themselves."""


class Frozen(BaseModel):
    """Base of the manifest's parts."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Withheld(Frozen):
    """An item of the pool that was meant for the release and is not in it."""

    item_id: str
    reason: str


class GateFault(Frozen):
    """A gate that fired."""

    rule: str
    message: str
    """What is wrong, with the figures that show it."""
    items: dict[str, str]
    """The items at fault and what each one's is; empty where the release as a whole is at fault."""
    evidence: dict[str, Any]

    @property
    def item_ids(self) -> tuple[str, ...]:
        """Return the items at fault."""
        return tuple(self.items)


class Exemption(Frozen):
    """A gate that fired and was let pass by name, with the reason given."""

    rule: str
    reason: str
    message: str
    item_ids: tuple[str, ...]


class SplitCount(Frozen):
    """What one split holds."""

    items: int
    private: bool
    """Whether its answers are kept apart."""
    by_path: dict[str, int]
    """Items by taxonomy path."""
    option_counts: dict[str, int]
    """Items by number of options."""
    key_letters: dict[str, int]
    """Items by letter of the right option; empty where private."""
    chance: float | None
    """Expected accuracy of guessing; None for an empty split."""


class Letters(Frozen):
    """How the options were ordered."""

    shuffled: bool
    kept: dict[str, str]
    """Items left in their own order, and why."""
    rewritten: tuple[str, ...]
    """Items in which a reference to a letter was carried along."""


class AuditFacts(Frozen):
    """What a random audit of accepted items found."""

    audited: int
    flawed: int
    rate: float
    """Share of flawed items among those audited."""
    low: float
    """Lower end of the 95 % Wilson interval of the rate."""
    high: float


class AgreementFigure(Frozen):
    """One coefficient of agreement beyond chance, or why it has no value."""

    value: float | None
    low: float | None
    """Lower end of its 95 % interval."""
    high: float | None
    reason: str
    """Why there is no value; empty where there is one."""
    units: int
    """Items that at least two reviewers judged."""
    percent_agreement: float | None
    """Share of equal pairs of judgements, chance included."""


class AgreementFacts(Frozen):
    """How far reviewers agreed with each other, over all reviews and not the accepted items alone."""

    reviews: int
    agreement: dict[str, AgreementFigure]
    """By what was judged and the coefficient's name."""


class Provenance(Frozen):
    """How the items were chosen and checked, as far as the given files say."""

    pool_items: int
    selection: dict[str, Any] | None = None
    """Items chosen and, where all of them are released, the guarantee that was certified for them."""
    review: dict[str, Any] | None = None
    """Decisions by kind."""
    agreement: AgreementFacts | None = None
    audit: AuditFacts | None = None
    corrected_keys: dict[str, tuple[str, str]] = {}
    """Items whose key was corrected: the letter in the pool, the right one; none of a private split."""
    corrected_private: int = 0
    """Items of private splits whose key was corrected; 0 is not written."""
    duplicates: dict[str, Any] | None = None
    """Encoder, threshold and the number of items dropped."""
    filter_models: tuple[str, ...] = ()
    """Models whose wrong answers let items in; their scores are biased downward."""
    left_out: dict[str, int] | None = None
    """Items of the pool that fell before the selection, by step; None, and not written: not stated."""

    @model_serializer(mode="wrap")
    def _leave_out(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what most releases do not have, so that their bytes stay what they were."""
        told: dict[str, Any] = dump(self)
        unsaid = {"left_out": None, "corrected_private": 0}  # that nothing fell is said, by {}
        return {name: one for name, one in told.items() if name not in unsaid or one != unsaid[name]}


class PoolError(Frozen):
    """How far scores on the released questions lie from those on the whole pool, by estimator.json."""

    splits: tuple[Split, ...]
    """Whose questions together it is about."""
    items: int
    pool_items: int
    """Questions of the pool that the responses were on."""
    estimator: str
    models: int
    """That were left out one by one."""
    level: float
    """Of the interval of the error."""
    error: float
    """Mean distance of the estimate from the pool's score for a model that taught nothing, in points."""
    low: float
    high: float
    raw_bias: float
    """Mean of raw score minus the pool's, in points."""
    raw_most: float
    """Largest distance of a raw score from the pool's, in points."""


class Earlier(Frozen):
    """The release before this one."""

    version: str
    content_hash: str
    difference: dict[str, Any]


class ReleaseRecord(Frozen):
    """Everything release.json says; holds no clock and no path."""

    format: int = 1
    name: Name
    title: str
    version: str
    published: str | None
    """Date given by the publisher, YYYY-MM-DD."""
    creators: tuple[str, ...] = ()
    """Whom to cite."""
    url: str | None = None
    """Where the release is published."""
    content_hash: str
    """Over the rows as published; independent of row order, file format and canary."""
    answers_hash: str | None
    """Over the private answers, where there are enough of them that nobody can guess them from it."""
    canary: str
    """UUIDv5 of name, version and content hash."""
    prompt_version: str
    extractor_version: str
    made_with: str
    seed: int
    counts: dict[Split, SplitCount]
    """By split."""
    licenses: dict[str, int]
    """Items by licence."""
    languages: dict[str, int]
    letters: Letters
    provenance: Provenance
    withheld: tuple[Withheld, ...]
    exemptions: tuple[Exemption, ...]
    taken_down: dict[str, str]
    """Items of earlier versions that were withdrawn, and why; their ids are never used again."""
    retired: dict[str, str]
    """Ids of earlier versions that are not in this one, with a hash of their public content."""
    earlier: Earlier | None
    figures: dict[str, Any] = {}
    """What the stand-alone verifier derives from rows and evidence, in whole numbers."""
    pool_error: PoolError | None = None
    """None, and not written: no estimator.json travels."""
    files: dict[str, str] = {}
    """sha256 of the files that do not follow from this document: data, evidence, changes."""
    derived: dict[str, str] = {}
    """sha256 of the files that follow from this document and the data: card, Croissant, harness files.

    Not written before format 3.
    """
    seal: str = ""
    """sha256 of this document without the seal: catches damage, not forgery."""

    @model_serializer(mode="wrap")
    def _leave_out(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what most releases do not have, so that their bytes stay what they were."""
        told: dict[str, Any] = dump(self)
        return {name: one for name, one in told.items() if one or name not in ("pool_error", "derived")}

    def sealed(self) -> ReleaseRecord:
        """Return this record with its seal."""
        return self.model_copy(update={"seal": self.seal_of()})

    def seal_of(self) -> str:
        """Return the sha256 of this document without its seal."""
        body = self.model_dump(mode="json", exclude={"seal"})
        return hashlib.sha256(canonical(body).encode()).hexdigest()


def license_id(name: str) -> str:
    """Write a licence the way the hub does: "CC BY 4.0" -> "cc-by-4.0"."""
    return "-".join(name.casefold().replace("_", " ").replace("-", " ").split())
