"""The command that shares a total over domains and bounds their strata."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.selection_files import Files, levels
from kina_build.cli.selection_options import Anchors, By, ConflictFile, DomainBy, ExcludeFile, Output
from kina_build.cli.selection_page import show_budget

if TYPE_CHECKING:
    from kina_build.selection.inputs import Inputs
    from kina_build.selection.records import Quota


class Shares(StrEnum):
    """What a domain's share of the total follows."""

    strata = "strata"
    items = "items"
    even = "even"
    coverage = "coverage"


def budget(
    run: Run,
    *,
    pool: options.Pool,
    total: Annotated[int, typer.Option("--total", "-n", min=1, help="Items to share over the domains.")],
    by: By = "subfield",
    domain_by: DomainBy = "field",
    shares: Annotated[
        Shares,
        typer.Option("--shares", help="A domain's share: its strata, its items, even, or greedy coverage."),
    ] = Shares.strata,
    support: Annotated[
        Path | None, typer.Option("--support", help="Count only items it scores; needed for coverage.")
    ] = None,
    anchors: Anchors = None,
    conflicts: ConflictFile = None,
    exclude: ExcludeFile = None,
    output: Output = None,
) -> None:
    """Share a total over domains, and bound each stratum: the quota file of `kina select`.

    Shares are rounded by largest remainder, ties by name, and never exceed a domain's items.
    A stratum gets at least min(1, eligible) and at most max(3, 1.5 x an even share) items;
    the settings hold these numbers.
    """
    from kina_build.selection.budget import make_budget

    scored = Files(support or pool, anchors, pool, None, conflicts, None, exclude, by, domain_by)
    rules = run.settings.selection
    params = {"total": total, "shares": shares.value, "rules": rules.model_dump(mode="json")}
    stage = run.stage(
        "budget",
        inputs=[
            pool,
            *(path for path in (support, anchors) if path is not None),
            *(conflicts or ()),
            *(exclude or ()),
        ],
        outputs=[] if output is None else [output],
        params=params | scored.params | {"scored": support is not None},
        show=show_budget,
    )
    if stage.up_to_date():
        return
    supply, sizes = _share(run, total, shares, scored, support is not None)
    quotas = make_budget(sizes, supply, rules)
    if output is not None:
        _write_budget(output, quotas)
    eligible = [supply[quota.domain][quota.stratum] for quota in quotas]
    rows = [
        quota.model_dump(mode="json") | {"eligible": n} for quota, n in zip(quotas, eligible, strict=True)
    ]
    stage.finish({"total": total, "k": sizes, "quotas": rows})


def register(app: typer.Typer) -> None:
    """Add the command to an app."""
    command(app, "budget", example="kina budget pool.jsonl --total 60 -o budget.jsonl")(budget)


def _share(
    run: Run, total: int, shares: Shares, files: Files, scored: bool
) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """Count the eligible items of each domain and stratum, and share the total over the domains."""
    from kina_build.selection.budget import apportion, count_supply
    from kina_build.selection.inputs import read_ids
    from kina_build.selection.labels import read_labels

    pool = files.strata or files.support
    strata = read_labels(pool, *levels("stratum", files.by))
    domains = read_labels(pool, *levels("domain", files.domain_by))
    inputs = files.read("clusters", run.settings.engine) if scored else None
    eligible = frozenset(strata if inputs is None else inputs.matrix.item_ids)
    supply = count_supply(strata, domains, eligible - (read_ids(files.exclude) if files.exclude else set()))
    limits = {domain: sum(counts.values()) for domain, counts in supply.items()}
    if shares is Shares.coverage:
        return supply, _share_by_coverage(run, total, inputs, domains, limits)
    weights: dict[Shares, dict[str, float]] = {
        Shares.strata: {domain: len(counts) for domain, counts in supply.items()},
        Shares.items: dict(limits),
        Shares.even: dict.fromkeys(supply, 1),
    }
    return supply, apportion(total, weights[shares], limits)


def _share_by_coverage(
    run: Run, total: int, inputs: Inputs | None, domains: Mapping[str, str], limits: dict[str, int]
) -> dict[str, int]:
    from dataclasses import replace

    from kina_build.errors import UsageError
    from kina_build.selection.budget import share_by_gain
    from kina_build.selection.domains import gains_by_domain

    if inputs is None:
        raise UsageError("--shares coverage needs --support")
    gains = gains_by_domain(replace(inputs, domains=domains), total, limits, run.settings.selection)
    return share_by_gain(total, gains)


def _write_budget(output: Path, quotas: list[Quota]) -> None:
    from kina_build.jsonl import write_records
    from kina_build.tables import write_csv

    if output.suffix.lower() == ".csv":
        columns = ["domain", "k", "stratum", "lower", "upper"]
        write_csv(output, columns, (quota.model_dump(mode="json") for quota in quotas))
    else:
        write_records(output, quotas)
