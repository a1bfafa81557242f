"""What is shown of a selection: bounds on the optimum, worst cases by theorem, forced shortfalls."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from kina_build.shares import written

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
        here = f"this instance: at least {written(self.tightest.ratio)} of the optimum"
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
