"""Options that the commands of selection share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class ConflictMode(StrEnum):
    """How conflict pairs bind."""

    clusters = "clusters"
    pairwise = "pairwise"


Support = Annotated[
    Path,
    typer.Option(
        "--support", help="support.npz or folder of `kina support`, or rows of item_id, anchor_id, score."
    ),
]
SupportAgain = Annotated[
    Path | None,
    typer.Option("--support", help="As given to `kina select`; left out with all others: as the file names."),
]
Anchors = Annotated[
    Path | None,
    typer.Option("--anchors", help="Rows of anchor_id, weight; support.npz brings weights of its own."),
]
Strata = Annotated[
    Path | None,
    typer.Option("--strata", help="Rows of item_id, stratum (and domain), or a pool; also .parquet."),
]
By = Annotated[str, typer.Option("--by", help="Field of a pool that is the stratum.")]
DomainBy = Annotated[str, typer.Option("--domain-by", help="Field of a pool that is the domain.")]
QuotaFile = Annotated[
    Path | None,
    typer.Option(
        "--quota",
        help="Rows of stratum, lower, upper; what `kina budget` writes: all domains; or `proportional`: "
        "each stratum's share of the eligible items, rounded down or up.",
    ),
]
ConflictFile = Annotated[
    list[Path] | None,
    typer.Option("--conflicts", help="Rows of item_id, other_id, or duplicates.json; repeatable."),
]
Mode = Annotated[
    ConflictMode,
    typer.Option("--conflict-mode", help="One item a connected cluster, or never both of a pair."),
]
MustFile = Annotated[
    list[Path] | None,
    typer.Option("--must", help="Rows of item_id that must be in; they count toward -k; repeatable."),
]
ExcludeFile = Annotated[
    list[Path] | None,
    typer.Option(
        "--exclude",
        help="Items to leave out: rows of item_id, the dropped and held of a duplicates.json, or those with "
        "an error in findings; repeatable.",
    ),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="The file to write; '-' for stdout.")]
DecisionFile = Annotated[
    Path | None,
    typer.Option("--decisions", help="The reviewers' decisions: only items they accepted are taken."),
]
KeepFile = Annotated[
    Path | None,
    typer.Option("--keep", help="The selection that was topped up, where `kina top-up` wrote this one."),
]
Improve = Annotated[
    bool, typer.Option("--improve", help="Search on from the greedy set by swaps and restarts.")
]
AllowShortfall = Annotated[
    bool, typer.Option("--allow-shortfall", help="Take the fullest set where quotas cannot be met.")
]
