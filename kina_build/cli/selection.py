"""Commands that choose the items of a split, check the choice, and plan its size."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.selection_files import Files, levels
from kina_build.cli.selection_page import show_budget, show_nothing, show_selection, show_verdict

if TYPE_CHECKING:
    from kina_build.selection.inputs import Inputs
    from kina_build.selection.records import Quota, Selection


class ConflictMode(StrEnum):
    """How conflict pairs bind."""

    clusters = "clusters"
    pairwise = "pairwise"


class Shares(StrEnum):
    """What a domain's share of the total follows."""

    strata = "strata"
    items = "items"
    even = "even"
    coverage = "coverage"


Support = Annotated[
    Path,
    typer.Option("--support", help="support.npz of `kina support`, or rows of item_id, anchor_id, score."),
]
Anchors = Annotated[
    Path | None,
    typer.Option("--anchors", help="Rows of anchor_id, weight; support.npz brings weights of its own."),
]
Strata = Annotated[
    Path | None, typer.Option("--strata", help="Rows of item_id, stratum (and domain), or a pool.")
]
By = Annotated[str, typer.Option("--by", help="Field of a pool that is the stratum.")]
DomainBy = Annotated[str, typer.Option("--domain-by", help="Field of a pool that is the domain.")]
QuotaFile = Annotated[
    Path | None,
    typer.Option("--quota", help="Rows of stratum, lower, upper; or what `kina budget` writes: all domains."),
]
ConflictFile = Annotated[
    Path | None, typer.Option("--conflicts", help="Rows of item_id, other_id, or duplicates.json.")
]
Mode = Annotated[
    ConflictMode,
    typer.Option("--conflict-mode", help="One item a connected cluster, or never both of a pair."),
]
MustFile = Annotated[
    Path | None, typer.Option("--must", help="Rows of item_id that must be in; they count toward -k.")
]
ExcludeFile = Annotated[
    Path | None,
    typer.Option(
        "--exclude", help="Rows of item_id to leave out, or a duplicates.json: its dropped and held items."
    ),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="The file to write; '-' for stdout.")]


def select(
    run: Run,
    *,
    support: Support,
    anchors: Anchors = None,
    k: Annotated[int | None, typer.Option("-k", min=1, help="Items to take; a budget gives it too.")] = None,
    strata: Strata = None,
    by: By = "subfield",
    domain_by: DomainBy = "field",
    quota: QuotaFile = None,
    conflicts: ConflictFile = None,
    conflict_mode: Mode = ConflictMode.clusters,
    must: MustFile = None,
    exclude: ExcludeFile = None,
    improve: Annotated[
        bool, typer.Option("--improve", help="Search on from the greedy set by swaps and restarts.")
    ] = False,
    allow_shortfall: Annotated[
        bool, typer.Option("--allow-shortfall", help="Take the fullest set where quotas cannot be met.")
    ] = False,
    seed: options.Seed = 0,
    output: Output = None,
) -> None:
    """Choose the items that cover the anchors best, and certify how good the choice is.

    Lazy greedy, pick for pick the naive one: of the items that leave all quotas within reach, the
    largest gain; ties go to the larger support alone, then to the smaller id. The file holds
    everything `kina certify` needs. Exit 1 when no set meets the constraints.
    """
    from kina_build.selection.domains import select as select_items
    from kina_build.selection.shortage import Infeasible

    files = Files(support, anchors, strata, quota, conflicts, must, exclude, by, domain_by)
    params = {
        "k": k,
        "conflict_mode": conflict_mode.value,
        "improve": improve,
        "allow_shortfall": allow_shortfall,
        "seed": seed,
        "rules": run.settings.selection.model_dump(mode="json"),
    }
    stage = run.stage(
        "select",
        inputs=files.paths,
        outputs=[] if output is None else [output],
        params=params | files.params,
        show=show_selection,
    )
    if stage.up_to_date():
        return
    inputs = files.read(conflict_mode.value)
    try:
        with run.console.progress("selecting domains") as bar:
            selection = select_items(
                inputs,
                k,
                run.settings.selection,
                allow_shortfall=allow_shortfall,
                improve=improve,
                seed=seed,
                on_progress=bar,
            )
    except Infeasible as error:
        if not run.console.json:
            raise
        run.console.error(error)
        run.report(_describe_shortage(error), show_nothing, error.exit_code)
        return
    if output is not None:
        from kina_build.jsonl import write_document

        write_document(output, selection)
    report = _describe_selection(selection, inputs, run.settings.selection.random_draws, seed)
    stage.finish(report, packages=("numpy", "scipy"))


def certify(
    run: Run,
    *,
    selection: Annotated[Path, typer.Argument(help="The selection.json to check.")],
    support: Support,
    anchors: Anchors = None,
    strata: Strata = None,
    by: By = "subfield",
    domain_by: DomainBy = "field",
    quota: QuotaFile = None,
    conflicts: ConflictFile = None,
    must: MustFile = None,
    exclude: ExcludeFile = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Find the optimum with HiGHS and print the true ratio.")
    ] = False,
    output: Output = None,
) -> None:
    """Check a selection against the files alone, every field of it.

    Give the same files as to `kina select`, in any row order. The check shares no code with
    the selector: constraints, greedy order, gains, objective, bounds and guarantee are
    computed anew. Exit 1 when anything differs.
    """
    from kina_build.jsonl import read_document
    from kina_build.selection.records import Selection
    from kina_build.selection.verify import verify

    files = Files(support, anchors, strata, quota, conflicts, must, exclude, by, domain_by)
    rules = run.settings.selection
    stage = run.stage(
        "certify",
        inputs=[selection, *files.paths],
        outputs=[] if output is None else [output],
        params={"exact": exact, "rules": rules.model_dump(mode="json")} | files.params,
        show=show_verdict,
    )
    if stage.up_to_date():
        return
    document = read_document(selection, Selection)
    inputs = files.read(document.conflict_mode)
    verdict = verify(document, inputs)
    certificate = document.certificate.model_dump(mode="json")
    report: dict[str, Any] = {"verified": verdict.holds, "faults": list(verdict.faults)}
    report |= {"checked": list(verdict.checked), "objective": document.objective}
    report |= {"items": len(document.item_ids), "certificate": certificate}
    if exact and verdict.holds:
        report["exact"] = _compare_exact(document, inputs, run)
    if output is not None:
        from kina_build.jsonl import write_document

        write_document(output, report)
    stage.finish(report, exit_code=0 if verdict.holds else 1, packages=("numpy", "scipy"))


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
        inputs=[pool, *(path for path in (support, anchors, conflicts, exclude) if path is not None)],
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
    """Add this group's commands to an app."""
    files = "--support support.npz --anchors anchors.jsonl"
    command(app, "budget", example="kina budget pool.jsonl --total 60 -o budget.jsonl")(budget)
    command(app, "select", example=f"kina select {files} -k 20 -o selection.json")(select)
    command(app, "certify", example=f"kina certify selection.json {files} --exact")(certify)


def _share(
    run: Run, total: int, shares: Shares, files: Files, scored: bool
) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """Count the eligible items of each domain and stratum, and share the total over the domains."""
    from kina_build.selection.budget import apportion, count_supply
    from kina_build.selection.inputs import read_ids, read_labels

    pool = files.strata or files.support
    strata = read_labels(pool, *levels("stratum", files.by))
    domains = read_labels(pool, *levels("domain", files.domain_by))
    inputs = files.read("clusters") if scored else None
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
    run: Run, total: int, inputs: Inputs | None, domains: dict[str, str], limits: dict[str, int]
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


def _describe_selection(selection: Selection, inputs: Inputs, draws: int, seed: int) -> dict[str, Any]:
    from dataclasses import asdict

    from kina_build.selection.compare import draw_random
    from kina_build.selection.uncovered import find_gaps

    keys = {"item_ids", "gains", "objective", "zero_gain_picks", "certificate"}
    report = selection.model_dump(mode="json", include=keys)
    shown = {"domain", "k", "method", "objective", "shortfall", "strata", "withheld"}
    parts = [part.model_dump(mode="json", include=shown) for part in selection.domains]
    for part, record in zip(parts, selection.domains, strict=True):
        part["selected"] = len(record.item_ids)
    labels = [label for label in (inputs.strata, inputs.domains) if label is not None]
    sets = [part.item_ids for part in selection.domains]
    random = draw_random(
        inputs.matrix, sets, labels, inputs.exclude, selection.objective, draws=draws, seed=seed
    )
    gaps = find_gaps(inputs.matrix, selection.item_ids, inputs.exclude)
    short = {
        f"{part.domain}/{row.stratum}".removeprefix("/"): row.shortfall
        for part in selection.domains
        for row in part.strata
        if row.shortfall
    }
    lacking = bool(short) or any(part.shortfall for part in selection.domains)
    return report | {
        "status": "shortfall" if lacking else "complete",
        "shortfall": short,
        "domains": parts,
        "random": asdict(random),
        "uncovered": [asdict(gap) for gap in gaps],
    }


def _describe_shortage(error: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return {"status": "infeasible", "reason": error.message} | asdict(error.shortage)


def _compare_exact(document: Selection, inputs: Inputs, run: Run) -> dict[str, Any]:
    from kina_build.selection.domains import find_optimum

    with run.console.progress("solving domains") as bar:
        optimum = find_optimum(document, inputs, run.settings.selection, on_progress=bar)
    return {
        "optimum": optimum.value,
        "true_ratio": document.objective / optimum.value if optimum.value else 1.0,
        "proven": optimum.proven,
        "item_ids": list(optimum.item_ids),
    }
