"""Commands that choose the items of a split and check the choice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import budget, options
from kina_build.cli.command import Run, command
from kina_build.cli.selection_files import Files
from kina_build.cli.selection_options import (
    Anchors,
    By,
    ConflictFile,
    ConflictMode,
    DomainBy,
    ExcludeFile,
    Mode,
    MustFile,
    Output,
    QuotaFile,
    Strata,
    Support,
)
from kina_build.cli.selection_page import show_nothing, show_selection, show_verdict

if TYPE_CHECKING:
    from kina_build.config import EngineRules
    from kina_build.selection.inputs import Inputs
    from kina_build.selection.records import Selection


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
    engine: options.Engine = None,
    memory: options.Memory = None,
    output: Output = None,
) -> None:
    """Choose the items that cover the anchors best, and certify how good the choice is.

    Lazy greedy, pick for pick the naive one: of the items that leave all quotas within reach, the
    largest gain; ties go to the larger support alone, then to the smaller id. The file holds
    everything `kina certify` needs. Exit 1 when no set meets the constraints.
    """
    from kina_build.engine import open_engine
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
    rules = run.engine_rules(engine, memory)
    inputs = files.read(conflict_mode.value, rules)
    try:
        with (
            open_engine(_stay_local(run, inputs, rules)) as opened,
            run.console.progress("selecting domains") as bar,
        ):
            selection = select_items(
                inputs,
                k,
                run.settings.selection,
                allow_shortfall=allow_shortfall,
                improve=improve,
                seed=seed,
                engine=opened,
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
    memory: options.Memory = None,
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
    inputs = files.read(document.conflict_mode, run.engine_rules("local", memory))
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


def register(app: typer.Typer) -> None:
    """Add this group's commands to an app."""
    files = "--support support.npz --anchors anchors.jsonl"
    budget.register(app)
    command(app, "select", example=f"kina select {files} -k 20 -o selection.json")(select)
    command(app, "certify", example=f"kina certify selection.json {files} --exact")(certify)


def _stay_local(run: Run, inputs: Inputs, rules: EngineRules) -> EngineRules:
    """Leave Ray out where every domain is small: there it only adds its start and its messages."""
    from kina_build.selection.posing import largest_domain

    if rules.kind == "ray" and largest_domain(inputs) < rules.spread_scores:
        run.console.say("no domain is large enough for Ray (engine.spread_scores): selecting in this process")
        return rules.model_copy(update={"kind": "local"})
    return rules


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
