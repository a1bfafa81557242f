"""What selection reads beside the scores, and what it leaves on disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

ConflictMode = Literal["clusters", "pairwise"]
"""How conflict pairs bind: one item a connected cluster, or never both items of a pair."""

Method = Literal["greedy", "repaired", "improved"]
"""How a set came to be: the greedy picks, refilled where greedy stopped short, or searched further."""

TIE_RULE = "larger gain, then larger raw centrality, then smaller item_id"
"""Raw centrality is the objective of the item alone; zero gains are ties like any other."""

FORMAT = 2
"""Version of selection.json; a change of fields raises it."""


EXACT_NEIGHBOURS = 24
"""Conflicts of one item up to which the k of a k-extendible system is exact; above, the number of
cliques in a greedy cover (items by id, each into the first clique it fits) stands for it."""

_FNW = "(Fisher, Nemhauser and Wolsey 1978)"
STATEMENTS = {
    "cardinality": "at least 1 - 1/e of the optimum: a fixed number of items "
    "(Nemhauser, Wolsey and Fisher 1978)",
    "quotas": f"at least 1/2 of the optimum: stratum quotas form a matroid {_FNW}",
    "clusters": f"at least 1/2 of the optimum: one item a conflict cluster, with quotas only on strata that "
    f"hold whole clusters, forms a matroid {_FNW}",
    "two matroids": f"at least 1/3 of the optimum: quotas and conflict clusters across strata are two "
    f"matroids {_FNW}",
    "pairs": "at least 1/{parts} of the optimum: pairwise conflicts are {k}-extendible (Mestre 2006)",
    "pairs and quotas": "at least 1/{parts} of the optimum: pairwise conflicts are {k}-extendible, quotas "
    "are one matroid more (Mestre 2006)",
    "shortfall": "none: the constraints asked for cannot be met, so there is no optimum to compare with",
    "withheld": "none: items were withheld because an earlier domain took others they conflict with",
    "repaired": "none: greedy stopped short of the size and the set was repaired",
}
"""What each kind of guarantee says, word for word as certificates carry it."""


class Record(BaseModel):
    """Base of the records of this room: frozen, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Quota(BaseModel):
    """Bound how many items of a stratum are taken; a row of a quota or budget file."""

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
    """State what holds in the worst case for the constraints that were used."""

    theorem: str
    """cardinality | matroid | two matroids | k-extendible | none."""
    factor: float
    """The objective is at least this share of the optimum; 0 where nothing is guaranteed."""
    k: int | None = None
    """Of a k-extendible system, quotas not counted."""
    statement: str
    """The claim in words, with its source."""


class Bound(Record):
    """State an upper bound on the optimum of this instance."""

    method: Literal["online", "dual", "sum over domains"]
    """online: objective + the largest remaining gains that fit the quotas; dual: the same sum with
    thresholds of their own in place of the coverage; sum over domains: a total."""
    upper_bound: float
    """In the units of the anchor weights."""
    ratio: float
    """Objective / upper bound."""


class Certificate(Record):
    """Bound the optimum from above, by the instance and by theorem."""

    method: Literal["online", "sum over domains"]
    """How upper_bound was got."""
    upper_bound: float
    """The online bound: anyone can recompute it from the coverage of the set."""
    ratio: float
    """objective / upper_bound: at least this share of the optimum is reached here."""
    guarantee: Guarantee
    tightest: Bound
    """The best upper bound found, and how."""


class StratumCount(Record):
    """Say how a stratum came out."""

    stratum: str
    lower: int
    upper: int | None
    selected: int
    shortfall: int = 0
    """Items lacking to the lower bound: no set can hold more of this stratum."""


class DomainSelection(Record):
    """Hold the set chosen for one domain with everything a stranger needs to check it."""

    domain: str
    """"" where the whole support was one domain."""
    k: int
    """Items asked for."""
    method: Method
    item_ids: tuple[str, ...]
    """In pick order: must-include items by id, then by the tie rule on marginal gains."""
    gains: tuple[float, ...]
    """Marginal gain of each pick, in the units of the anchor weights."""
    objective: float
    objective_by_anchor: Mapping[str, float]
    """Weight times best support; sums to the objective."""
    zero_gain_picks: int
    certificate: Certificate
    thresholds: Mapping[str, float]
    """lambda of the dual bound by anchor, multiples of 1/scale; {} where the online bound is tightest."""
    cliques: tuple[tuple[str, ...], ...]
    """Disjoint sets of mutually conflicting items (two or more each) that the bounds use."""
    strata: tuple[StratumCount, ...]
    """Strata with a quota or a pick."""
    shortfall: int
    """Items lacking to k, as --allow-shortfall permits; 0 otherwise."""
    withheld: tuple[str, ...]
    """Items left out because an earlier domain took one that they conflict with."""
    greedy_item_ids: tuple[str, ...] | None = None
    """The greedy picks that a set with another method is measured against."""


class Selection(Record):
    """Hold selection.json: the total over the domains, then each domain."""

    format: int = FORMAT
    item_ids: tuple[str, ...]
    """Of all domains, domain by domain, each in pick order."""
    gains: tuple[float, ...]
    objective: float
    """Sum over the domains."""
    zero_gain_picks: int
    certificate: Certificate
    domains: tuple[DomainSelection, ...]
    scale: int
    """Levels a unit of score."""
    weight_unit: int
    """Integer steps a unit of weight; the arithmetic is exact in 1 / (scale x weight_unit)."""
    conflict_mode: ConflictMode
    tie_rule: str = TIE_RULE
    inputs: Mapping[str, str]
    """Kind of input to the sha256 of its content, whatever its row order or file format."""
    seal: str = ""
    """sha256 of this document without the seal: catches damage, not forgery."""
