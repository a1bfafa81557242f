"""What selection reads beside the scores, and what it leaves on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from kina_build.rows.jsonl import write_document
from kina_build.selection.guarantees import Certificate, Coverage, Proof, Record

ConflictMode = Literal["clusters", "pairwise"]
"""How conflict pairs bind: one item a connected cluster, or never both items of a pair."""

Eligible = Literal["all", "accepted", "not refused"]
"""Items that may be taken: all; those that reviewers accepted; or all but those they refused."""

Method = Literal["greedy", "repaired", "improved"]
"""How a set came to be: the greedy picks, refilled where greedy stopped short, or searched further."""

TIE_RULE = "larger gain, then larger raw centrality, then smaller item_id"
"""Raw centrality is the objective of the item alone; zero gains are ties like any other."""

FORMAT: Literal[3] = 3
"""Version of selection.json; a change of fields raises it."""

FOLDED_FORMAT: Literal[4] = 4
"""The same where a part counts several items an anchor: earlier versions cannot read it."""


def maximised(folds: int) -> str:
    """Say what is maximised where an anchor counts through its r best items."""
    if folds == 1:
        return "F: each anchor counts through the best item of the set"
    return f"F_{folds}: each anchor counts through the {folds} best items of the set, each with weight 1"


class Quota(BaseModel):
    """Bounds on the items of a stratum that are taken; a row of a quota or budget file."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    stratum: str = Field(min_length=1)
    lower: int = Field(0, ge=0)
    upper: int | None = Field(None, ge=0)
    """None: no upper bound."""
    domain: str = ""
    """Domain the stratum belongs to; "" in a quota file for one selection."""
    k: int | None = Field(None, ge=0)
    """Items to take in the whole domain; the same on every row of a domain."""

    @model_validator(mode="after")
    def _ordered(self) -> Quota:
        if self.upper is not None and self.lower > self.upper:
            raise ValueError(f"lower {self.lower} is above upper {self.upper}")
        return self


class StratumCount(Record):
    """How a stratum came out."""

    domain: str = ""
    stratum: str
    lower: int = Field(ge=0)
    upper: int | None = Field(ge=0)
    selected: int = Field(ge=0)
    shortfall: int = Field(0, ge=0)
    """Items lacking to the lower bound."""


class DomainSelection(Record):
    """The set chosen for one domain, or for several that conflicts join, with what checks it."""

    domain: str
    """"" where the whole support was one domain; the names of joined domains with " + " between."""
    k: int = Field(ge=0)
    """Items asked for."""
    sizes: Mapping[str, int] = Field(min_length=1)
    """Domain to the items asked for of it; several domains where conflicts join them."""
    method: Method
    item_ids: tuple[str, ...]
    """In pick order: must-include items by id, then by the tie rule on marginal gains."""
    gains: tuple[float, ...]
    """Marginal gain of each pick, in the units of the anchor weights."""
    objective: float
    steps: int
    """The objective as a whole number of the document's steps."""
    objective_by_anchor: Mapping[str, float]
    """Weight times best support, or the sum of the r best; joined domains add up. Sums to the objective."""
    zero_gain_picks: int
    certificate: Certificate
    thresholds: Mapping[str, Mapping[str, int]]
    """lambda of the dual bound by domain and anchor, in whole levels; {} where the online bound is
    tightest."""
    cliques: tuple[tuple[str, ...], ...]
    """Disjoint sets of mutually conflicting items (two or more each) that the bounds use."""
    strata: tuple[StratumCount, ...]
    """Strata with a quota or a pick."""
    shortfall: int = Field(ge=0)
    """Items lacking to k, as --allow-shortfall permits; 0 otherwise."""
    lacking: Mapping[str, int]
    """Domain to the items lacking to its size; {} where none lacks any."""
    proof: Proof | None
    """What shows that the shortfall is forced; None: nothing is short, or it is not shown."""
    greedy_item_ids: tuple[str, ...] | None = None
    """The greedy picks that a set with another method is measured against."""
    folds: int = Field(1, ge=1)
    """r: an anchor counts through its r best items, each with weight 1; left out where it is 1."""
    maximised: str = ""
    """What that means, in words; left out where r is 1."""
    coverage: Coverage | None = None
    """F with its own bound; left out where r is 1, as the objective is F then."""

    @model_serializer(mode="wrap")
    def _plain(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what says nothing: files of the paper's objective stay as they were."""
        found: dict[str, Any] = handler(self)
        return found if self.folds > 1 else {k: v for k, v in found.items() if k not in FOLDED}


FOLDED = frozenset({"folds", "maximised", "coverage"})
"""Fields of a part that counts several items an anchor."""


class NamedFile(Record):
    """A file that was read, named so that a reader can find it again."""

    role: str
    """support | anchors | strata | quota | conflicts | must | exclude | decisions | keep | difficulty |
    balance."""
    name: str
    """Relative to the folder that selection.json was written to; "-" for a stream; of a
    quota, also the rule "proportional"; of balance, the rule "difficulty:N"."""


class Selection(Record):
    """The whole of selection.json: the total over the domains, then each domain."""

    format: Literal[2, 3, 4] = FORMAT
    """2: read from a file of the earlier form; 4: some part counts several items an anchor."""
    item_ids: tuple[str, ...]
    """Of all domains, domain by domain, each in pick order."""
    gains: tuple[float, ...]
    objective: float
    """Sum over the domains."""
    steps: int
    """The objective as a whole number of steps of weight_step / (scale x weight_unit)."""
    zero_gain_picks: int
    certificate: Certificate
    coverage: Coverage | None = None
    """Sum of F over the domains; left out where nothing else was maximised."""
    domains: tuple[DomainSelection, ...] = Field(min_length=1)
    scale: int = Field(ge=1)
    """Levels a unit of score."""
    weight_unit: int = Field(ge=1)
    """Integer steps a unit of weight; the arithmetic is exact in weight_step / (scale x weight_unit)."""
    weight_step: int = Field(1, ge=1)
    """Units of weight a step, where weights are so heavy that a step is more than one unit."""
    slack: int = Field(0, ge=0)
    """Steps by which the objective of any set may differ from that of the scores and weights as given."""
    conflict_mode: ConflictMode
    tie_rule: str = TIE_RULE
    inputs: Mapping[str, str]
    """Kind of input to the sha256 of its content, whatever its row order or file format."""
    files: tuple[NamedFile, ...] = ()
    """The files that were read."""
    eligible: Eligible = "all"
    """Which items could be taken: all, only those that reviewers accepted, or also those not decided."""
    by: str = ""
    """Field of a pool that is the stratum."""
    domain_by: str = ""
    """Field of a pool that is the domain."""
    seal: str = ""
    """sha256 of this document without the seal: catches damage, not forgery."""

    @model_serializer(mode="wrap")
    def _plain(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found: dict[str, Any] = handler(self)
        return {k: v for k, v in found.items() if k != "coverage" or v is not None}

    def __str__(self) -> str:
        """Say how many items there are, what they cover, and how good that is."""
        told = f"objective {self.objective:.6g} with {len(self.item_ids)} items"
        if self.coverage is not None:
            folds = " and ".join(map(str, sorted({part.folds for part in self.domains})))
            told += f", where {folds} items count for an anchor (F alone: {self.coverage.objective:.6g})"
        return f"{told}\n{self.certificate}"

    def write(self, path: Path) -> None:
        """Write selection.json."""
        write_document(path, self)


@dataclass(frozen=True)
class Read:
    """The files that were read, and the fields of a pool that named stratum and domain."""

    files: tuple[NamedFile, ...] = ()
    eligible: Eligible = "all"
    by: str = ""
    domain_by: str = ""


NOTHING_READ = Read()
