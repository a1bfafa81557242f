"""Commands that choose the items of a split and check the choice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import budget, options
from kina_build.cli.command import Run, command
from kina_build.cli.selection_files import Files, describe_files, find_files
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
    SupportAgain,
)
from kina_build.cli.selection_page import SHOWN, show_nothing, show_selection, show_verdict

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
    _tell(run, inputs)
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
                read=files.named(Path() if output is None else output.parent),
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
    support: SupportAgain = None,
    anchors: Anchors = None,
    strata: Strata = None,
    by: By = "subfield",
    domain_by: DomainBy = "field",
    quota: QuotaFile = None,
    conflicts: ConflictFile = None,
    must: MustFile = None,
    exclude: ExcludeFile = None,
    k: Annotated[
        int | None, typer.Option("-k", min=0, help="Items that you expect it to hold, not its own word.")
    ] = None,
    conflict_mode: Annotated[
        ConflictMode | None, typer.Option("--conflict-mode", help="How you expect conflicts to bind.")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Find the optimum with HiGHS and print the true ratio.")
    ] = False,
    memory: options.Memory = None,
    output: Output = None,
) -> None:
    """Check a selection against the files alone, every field of it.

    Give the same files as to `kina select`, in any row order, or none: then those that the
    selection names are read. The check shares no code with the selector: constraints, greedy
    order, gains, objective, bounds and guarantee are computed anew. K, conflict mode and quotas
    are the document's own word unless you state them. Exit 1 when anything differs.
    """
    from kina_build.errors import UsageError
    from kina_build.selection.reading import read_selection, restate
    from kina_build.selection.verify import Expected, verify

    document = read_selection(selection)
    given = (support, anchors, strata, quota, conflicts, must, exclude)
    if support is not None:
        files = Files(support, anchors, strata, quota, conflicts, must, exclude, by, domain_by)
    elif any(given):
        raise UsageError("--support is needed where other files are given", hint="give all files, or none")
    else:
        files = find_files(document, selection.parent)
    mode: Any = None if conflict_mode is None else conflict_mode.value
    rules = run.settings.selection
    stage = run.stage(
        "certify",
        inputs=[selection, *files.paths],
        outputs=[] if output is None else [output],
        params={"exact": exact, "rules": rules.model_dump(mode="json"), "k": k, "conflict_mode": mode}
        | {"named": support is None}
        | files.params,
        show=show_verdict,
    )
    if stage.up_to_date():
        return
    inputs = files.read(document.conflict_mode, run.engine_rules("local", memory))
    document = restate(document, inputs.matrix)
    verdict = verify(document, inputs, Expected(k, mode))
    report: dict[str, Any] = {"verified": verdict.holds, "faults": list(verdict.faults)}
    report |= {"checked": list(verdict.checked), "items": len(document.item_ids)}
    report |= document.model_dump(mode="json", include=FIGURES)
    report["files"] = describe_files(files, inputs.digests, named=support is None)
    report["as_stated"] = _as_stated(document, quota is not None, k is not None, mode is not None)
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
    command(app, "certify", example="kina certify selection.json -k 20")(certify)


FIGURES = {"objective", "steps", "slack", "scale", "weight_unit", "weight_step", "certificate"}
"""Fields of a selection.json that its printed figures come from."""


def _as_stated(document: Selection, quota: bool, k: bool, mode: bool) -> dict[str, Any]:
    """Return K, conflict mode and quotas: what they are, and whether the reader stated them."""
    total = sum(part.k for part in document.domains)
    rows: dict[str, tuple[Any, bool]] = {"k": (total, k)}
    rows["conflict_mode"] = (document.conflict_mode, mode)
    rows["quota"] = ("as in the quota file" if "quota" in document.inputs else "none", quota)
    return {
        name: {"value": value, "said_by": "reader" if stated else "document"}
        for name, (value, stated) in rows.items()
    }


def _tell(run: Run, inputs: Inputs) -> None:
    """Name what does not count: items without scores, anchors without weight; and what counts twice."""
    from kina_build.selection.inputs import unscored

    lacking = unscored(inputs)
    if lacking:
        names = ", ".join(lacking[:SHOWN]) + (" ..." if len(lacking) > SHOWN else "")
        run.console.warn(f"{len(lacking)} items of --strata have no support row and cannot be taken: {names}")
    faded = inputs.matrix.faded
    if faded:
        names = ", ".join(faded[:SHOWN]) + (" ..." if len(faded) > SHOWN else "")
        run.console.warn(
            f"{len(faded)} anchors weigh so little beside the others that they round to 0: {names}"
        )
    if inputs.domains is not None:
        run.console.say("anchors are shared: one that several domains support counts once in each of them")


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

    keys = {"item_ids", "gains", "zero_gain_picks"} | FIGURES
    report = selection.model_dump(mode="json", include=keys)
    shown = {"domain", "k", "method", "objective", "shortfall", "strata"}
    parts = [part.model_dump(mode="json", include=shown) for part in selection.domains]
    for part, record in zip(parts, selection.domains, strict=True):
        part["selected"] = len(record.item_ids)
    labels = [label for label in (inputs.strata, inputs.domains) if label is not None]
    sets = _by_domain(selection, inputs)
    random = draw_random(
        inputs.matrix, sets, labels, inputs.exclude, selection.objective, draws=draws, seed=seed
    )
    gaps = find_gaps(inputs.matrix, selection.item_ids, inputs.exclude)
    short = {
        f"{row.domain}/{row.stratum}".removeprefix("/"): row.shortfall
        for part in selection.domains
        for row in part.strata
        if row.shortfall
    }
    lacking = bool(short) or any(part.shortfall for part in selection.domains)
    return report | {
        "status": "shortfall" if lacking else "complete",
        "shortfall": short,
        "shown": all(part.proof is not None for part in selection.domains if part.shortfall or short),
        "domains": parts,
        "random": asdict(random),
        "uncovered": [asdict(gap) for gap in gaps],
    }


def _by_domain(selection: Selection, inputs: Inputs) -> list[list[str]]:
    """Return the selected items of each domain, those of joined domains apart."""
    sets: list[list[str]] = []
    for part in selection.domains:
        home = inputs.domains if len(part.sizes) > 1 else None
        split: dict[str, list[str]] = {}
        for item_id in part.item_ids:
            split.setdefault("" if home is None else home[item_id], []).append(item_id)
        sets += split.values()
    return sets


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
