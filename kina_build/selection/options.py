"""Options of the commands that choose items.

Commands that share options share base classes; of several bases the last one's fields come first.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Literal

from kina_build.options import Role, argument, engine, memory, option, pool, seed

Mode = Literal["clusters", "pairwise"]
Shares = Literal["strata", "items", "even", "coverage"]
Where = Literal["local", "ray"]

SUPPORT = "support.npz or folder of `kina support`, or rows of item_id, anchor_id, score."
ANCHORS = "Rows of anchor_id, weight; support.npz brings weights of its own."
BY = "Field of a pool that is the stratum."
DOMAIN_BY = "Field of a pool that is the domain."
CONFLICTS = "Rows of item_id, other_id, or duplicates.json; repeatable."
EXCLUDE = (
    "Items to leave out: rows of item_id, the dropped and held of a duplicates.json, or those with "
    "an error in findings; repeatable."
)
DECISIONS = "The reviewers' decisions: only items they accepted are taken."
OUTPUT = "The file to write; '-' for stdout."
QUOTA = (
    "Rows of stratum, lower, upper; what `kina budget` writes: all domains; or `proportional`: "
    "each stratum's share of the eligible items, rounded down or up."
)


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Files beside the scores that say what may be taken, and how much of it."""

    anchors: Path | None = option(None, help=ANCHORS, role=Role.input)
    strata: Path | None = option(
        None, help="Rows of item_id, stratum (and domain), or a pool; also .parquet.", role=Role.input
    )
    by: str = option("subfield", help=BY)
    domain_by: str = option("field", help=DOMAIN_BY)
    # a rule may stand where a file does, so it is no input by itself
    quota: Path | None = option(None, help=QUOTA)
    balance: str | None = option(
        None,
        help="difficulty:N cuts each stratum, and its quota, into N bins of difficulty.",
        metavar="RULE",
    )
    difficulty: Path | None = option(
        None, help="Rows of item_id and difficulty or p, as `kina difficulty` writes them.", role=Role.input
    )
    conflicts: tuple[Path, ...] = option((), help=CONFLICTS, role=Role.input)
    must: tuple[Path, ...] = option(
        (), help="Rows of item_id that must be in; they count toward -k; repeatable.", role=Role.input
    )
    exclude: tuple[Path, ...] = option((), help=EXCLUDE, role=Role.input)
    decisions: Path | None = option(None, help=DECISIONS, role=Role.input)


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How a set is searched for, and where it goes."""

    improve: bool = option(False, help="Search on from the greedy set by swaps and restarts.")
    exact: bool = option(
        False, help="Search on, and take the set that HiGHS finds; its bound is still ours, in whole numbers."
    )
    folds: int | None = option(
        None,
        help="Items that count for an anchor. Default: 1, and past saturation the least number that "
        "leaves no pick without a gain. 1 always: the anchors full, larger support alone decides.",
        min=1,
    )
    allow_shortfall: bool = option(False, help="Take the fullest set where quotas cannot be met.")
    seed: int = seed()
    engine: Where | None = engine()
    memory: int | None = memory()
    output: Path | None = option(None, "-o", help=OUTPUT, role=Role.output)


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """The scores and the number of items."""

    support: Path = option(MISSING, help=SUPPORT, role=Role.input)
    k: int | None = option(None, "-k", help="Items to take; a budget gives it too.", min=1)
    conflict_mode: Mode = option("clusters", help="One item a connected cluster, or never both of a pair.")


@dataclass(frozen=True, kw_only=True)
class SelectOptions(SearchOptions, FileOptions, ScoreOptions):
    """Options of `kina select`."""


@dataclass(frozen=True, kw_only=True)
class CertifyOptions(FileOptions):
    """Options of `kina certify`."""

    selection: Path = argument("The selection.json to check.")
    support: Path | None = option(
        None,
        help="As given to `kina select`; left out with all others: as the file names.",
        role=Role.input,
    )
    keep: Path | None = option(
        None,
        help="The selection that was topped up, where `kina top-up` wrote this one.",
        role=Role.input,
    )
    k: int | None = option(None, "-k", help="Items that you expect it to hold, not its own word.", min=0)
    conflict_mode: Mode | None = option(None, help="How you expect conflicts to bind.")
    folds: int | None = option(None, help="Items that you expect to count for an anchor.", min=1)
    exact: bool = option(False, help="Find the optimum with HiGHS and print the true ratio.")
    memory: int | None = memory()
    output: Path | None = option(None, "-o", help=OUTPUT, role=Role.output)


@dataclass(frozen=True, kw_only=True)
class TopUpOptions(SearchOptions):
    """Options of `kina top-up`."""

    selection: Path = argument("The selection.json that was reviewed.")
    decisions: Path = option(MISSING, help="The reviewers' decisions.", role=Role.input)
    accepted_only: bool = option(False, help="Refill with accepted items, not with undecided ones.")


@dataclass(frozen=True, kw_only=True)
class BudgetOptions:
    """Options of `kina budget`."""

    pool: Path = pool()
    total: int = option(MISSING, "-n", help="Items to share over the domains.", min=1)
    by: str = option("subfield", help=BY)
    domain_by: str = option("field", help=DOMAIN_BY)
    shares: Shares = option(
        "strata", help="A domain's share: its strata, its items, even, or greedy coverage."
    )
    support: Path | None = option(
        None, help="Count only items it scores; needed for coverage.", role=Role.input
    )
    anchors: Path | None = option(None, help=ANCHORS, role=Role.input)
    conflicts: tuple[Path, ...] = option((), help=CONFLICTS, role=Role.input)
    exclude: tuple[Path, ...] = option((), help=EXCLUDE, role=Role.input)
    output: Path | None = option(None, "-o", help=OUTPUT, role=Role.output)


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    """Options of `kina sample`."""

    pool: Path = pool()
    total: int = option(MISSING, "-n", help="Items to draw.", min=1)
    by: str = option("subfield", help=BY)
    exclude: tuple[Path, ...] = option((), help=EXCLUDE, role=Role.input)
    decisions: Path | None = option(None, help=DECISIONS, role=Role.input)
    seed: int = seed()
    output: Path | None = option(None, "-o", help=OUTPUT, role=Role.output)
