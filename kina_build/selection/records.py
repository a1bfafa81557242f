"""What selection reads beside the scores, and what it leaves on disk."""

from __future__ import annotations

import math
from collections.abc import Mapping
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


EXACT_NEIGHBOURS = 24
"""Conflicts of one item up to which the k of a k-extendible system is exact; above, the number of
cliques in a greedy cover (items by id, each into the first clique it fits) stands for it."""

_FNW = "(Fisher, Nemhauser and Wolsey 1978)"
_EXTENDIBLE = "(Fisher, Nemhauser and Wolsey 1978; Calinescu, Chekuri, Pal and Vondrak 2011)"
STATEMENTS = {
    "cardinality": "at least 1 - 1/e of the optimum: a fixed number of items "
    "(Nemhauser, Wolsey and Fisher 1978)",
    "quotas": f"at least 1/2 of the optimum: stratum quotas form a matroid {_FNW}",
    "clusters": f"at least 1/2 of the optimum: one item a conflict cluster, with quotas only on strata that "
    f"hold whole clusters, forms a matroid {_FNW}",
    "two matroids": f"at least 1/3 of the optimum: quotas and conflict clusters across strata are two "
    f"matroids {_FNW}",
    "pairs": f"at least 1/{{parts}} of the optimum: pairwise conflicts are {{k}}-extendible {_EXTENDIBLE}",
    "pairs and quotas": "at least 1/{parts} of the optimum: pairwise conflicts are {k}-extendible, quotas "
    f"are one matroid more {_EXTENDIBLE}",
    "shortfall": "none: the constraints asked for cannot be met, so there is no optimum to compare with",
    "unshown": "none: the set is short of what was asked for, which is not shown to be infeasible",
    "repaired": "none: greedy stopped short of the size and the set was repaired",
}
"""What each kind of guarantee says, word for word as certificates carry it."""


class Record(BaseModel):
    """Base of the records of this room: frozen, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


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


class Guarantee(Record):
    """What holds in the worst case for the constraints that were used."""

    theorem: str
    """cardinality | matroid | two matroids | k-extendible | none."""
    factor: float
    """The objective is at least this share of the optimum; 0 where nothing is guaranteed."""
    k: int | None = None
    """Of a k-extendible system, quotas not counted."""
    statement: str
    """The claim in words, with its source."""


class Bound(Record):
    """An upper bound on the optimum of this instance."""

    method: Literal["online", "dual", "sum over domains"]
    """online: objective + the largest remaining gains that fit the quotas; dual: the same sum with
    thresholds of their own in place of the coverage; sum over domains: a total."""
    upper_bound: float
    """In the units of the anchor weights."""
    steps: int
    """The same as a whole number of the document's steps."""
    ratio: float
    """Objective / upper bound after the rounding of the inputs, itself rounded down."""


class Coverage(Record):
    """F of a set for which another objective was maximised: each anchor by its best item alone."""

    objective: float
    steps: int
    """The same as a whole number of the document's steps."""
    method: Literal["online", "all items", "sum over domains"]
    """online: as of a certificate; all items: what every eligible item together reaches."""
    upper_bound: float
    """No set that meets the constraints covers more."""
    upper_steps: int
    """The same as a whole number of the document's steps."""
    ratio: float
    """Objective / upper bound, rounded down, the inputs' rounding carried."""


class Certificate(Record):
    """Bounds on the optimum from above, by the instance and by theorem."""

    method: Literal["online", "sum over domains"]
    """How upper_bound was got."""
    upper_bound: float
    """The online bound: anyone can recompute it from the coverage of the set."""
    steps: int
    """The same as a whole number of the document's steps."""
    ratio: float
    """At least this share of the optimum is reached here: rounded down, the inputs' rounding carried."""
    guarantee: Guarantee
    tightest: Bound
    """The best upper bound found, and how."""

    def __str__(self) -> str:
        """Say what is reached of the optimum, here and in the worst case."""
        reached = math.floor(self.tightest.ratio * 10_000)
        here = f"this instance: at least {reached // 100}.{reached % 100:02} % of the optimum"
        return f"{here} ({self.tightest.method})\nworst case: {self.guarantee.statement}"


class Cut(Record):
    """A count of what any set can hold: domains by size, some strata by cliques, the others by quota."""

    domains: tuple[str, ...]
    """Counted at their size, whatever their strata."""
    strata: tuple[tuple[str, str], ...]
    """Domain and stratum, of other domains, counted by the cliques that have an eligible item there."""


class Proof(Record):
    """Two cuts that show a shortfall to be forced: a stranger adds their capacity up."""

    lower: Cut
    """No set fills more of the lower quotas."""
    size: Cut
    """No set holds more items."""


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
