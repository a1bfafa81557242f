"""estimator.json: what a score on a short form says of the score on its whole pool, and how surely."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from kina_build.errors import Refusal
from kina_build.rows.jsonl import read_document, write_document

Kind = Literal["plain", "linear", "post-stratified"]
"""plain: the score itself; linear: a straight line through the teaching models; post-stratified: the mean of
the strata's means, weighed as in the pool."""


class Record(BaseModel):
    """Base of the records here: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Line(Record):
    """A straight line from the score on the form to that on the pool, with what its interval takes."""

    intercept: float
    slope: float
    centre: float
    """Mean of the teaching models' scores on the form."""
    spread: float = Field(ge=0)
    """Sum of their squared distances from it."""
    deviation: float = Field(ge=0)
    """Standard deviation of the teaching models about the line."""
    quantile: float = Field(gt=0)
    """Of Student's t, for the level of the interval."""
    models: int = Field(ge=3)
    """That taught."""


class LeftOut(Record):
    """How far estimates lie from the pool's scores for models that were left out."""

    how: Literal["singly", "by family", "weakest to strongest"]
    models: int
    error: float
    """Mean absolute error, in points of 100."""
    low: float
    high: float
    """Interval of that mean over models, at the level of the document."""
    bias: float
    """Mean of estimate minus score, in points."""
    tau: float | None
    """Kendall's tau of estimates and scores; None where it is not defined."""


class BesideRandom(Record):
    """The same figures for stratified random draws of the same size and estimator."""

    draws: int
    seed: int
    error: float
    """Mean over the draws, in points."""
    low: float
    high: float
    """Of the middle share of the draws that the level names."""
    tau: float | None
    beaten_error: float
    """Share of the draws whose error is larger."""
    beaten_tau: float | None
    """Share of the draws whose tau is smaller."""


class Estimator(Record):
    """The whole of estimator.json."""

    format: Literal[1] = 1
    method: str
    """How the items were chosen: random, bins, spread or given."""
    estimator: Kind
    items: int = Field(ge=1)
    pool_items: int = Field(ge=1)
    items_sha256: str
    """Of the sorted ids of the form."""
    level: float
    line: Line
    """For plain and post-stratified of slope 1: how far the teaching models lay off."""
    weights: Mapping[str, float] = {}
    """Stratum to its share of the pool; post-stratified only."""
    strata: Mapping[str, str] = {}
    """Item to stratum; post-stratified only."""
    left_out: tuple[LeftOut, ...] = Field(min_length=1)
    """Singly first: the error that the form is chosen by."""
    raw_bias: float
    """Mean over the teaching models of plain score minus the pool's, in points."""
    raw_most: float
    """Largest distance of a teaching model's plain score from the pool's, in points."""
    random: BesideRandom | None = None
    statement: str
    """The error in words, for card and terminal."""
    seed: int

    @model_validator(mode="after")
    def _check_strata(self) -> Self:
        if self.estimator != "post-stratified":
            return self
        if digest_items(self.strata) != self.items_sha256:
            raise ValueError("strata: of other items than the form's")
        if not all(self.weights.get(name, 0) > 0 for name in self.strata.values()):
            raise ValueError("weights: a stratum of the form has none")
        return self

    def write(self, path: Path) -> None:
        """Write estimator.json."""
        write_document(path, self)

    def __str__(self) -> str:
        """Say what the estimates are worth."""
        return self.statement


class Estimate(Record):
    """What a model would score on the whole pool."""

    model: str
    score: float
    """On the form."""
    estimate: float
    low: float
    high: float


def read_estimator(path: Path) -> Estimator:
    """Read estimator.json.

    Raises:
        InputError: missing file, or another document.
    """
    return read_document(path, Estimator)


def digest_items(item_ids: Iterable[str]) -> str:
    """Hash a set of item ids."""
    return hashlib.sha256("\n".join(sorted(item_ids)).encode("utf-8", "surrogatepass")).hexdigest()


def estimate(estimator: Estimator, model: str, scores: Mapping[str, float]) -> Estimate:
    """Estimate what a model would score on the whole pool.

    Args:
        estimator: of the form.
        model: its name.
        scores: item to score in [0, 1], for the items of the form and no other.

    Raises:
        Refusal: other items than those of the form.
    """
    if digest_items(scores) != estimator.items_sha256:
        raise Refusal(
            f"{model}: the scores are on other items than the {estimator.items} of the estimator",
            hint="an estimate needs a score for every item of the form, and for no other",
        )
    plain = math.fsum(scores.values()) / len(scores)
    value = plain if estimator.estimator != "post-stratified" else _weigh(estimator, scores)
    line = estimator.line
    found = line.intercept + line.slope * value
    lever = (
        (value - line.centre) ** 2 / line.spread if line.spread and estimator.estimator == "linear" else 0.0
    )
    half = line.quantile * line.deviation * math.sqrt(1 + 1 / line.models + lever)
    low, high = (min(1.0, max(0.0, end)) for end in (found - half, found + half))
    # plain estimates stay what they are; their interval says where the pool's score lies
    told = found if estimator.estimator == "linear" else value
    return Estimate(model=model, score=plain, estimate=min(1.0, max(0.0, told)), low=low, high=high)


class HasScore(Protocol):
    """A model's score on an item."""

    @property
    def model(self) -> str:
        """Name the model."""

    @property
    def item_id(self) -> str:
        """Name the item."""

    @property
    def score(self) -> float:
        """Return the score in [0, 1]."""


def estimate_rows(estimator: Estimator, rows: Iterable[HasScore]) -> tuple[Estimate, ...]:
    """Estimate what every model would score on the whole pool, by name.

    Raises:
        Refusal: a model has scores on other items than those of the form.
    """
    held: dict[str, dict[str, float]] = {}
    for row in rows:
        held.setdefault(row.model, {})[row.item_id] = row.score
    return tuple(estimate(estimator, model, held[model]) for model in sorted(held))


def _weigh(estimator: Estimator, scores: Mapping[str, float]) -> float:
    held: dict[str, list[float]] = {}
    for item_id, score in sorted(scores.items()):
        held.setdefault(estimator.strata[item_id], []).append(score)
    mass = math.fsum(estimator.weights[name] for name in held)
    return math.fsum(estimator.weights[name] * math.fsum(own) / len(own) for name, own in held.items()) / mass
