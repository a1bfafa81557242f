"""Commands that choose the items of a split and check the choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import budget, options, sample
from kina_build.cli.command import Run, command
from kina_build.cli.selection_files import PROPORTIONAL, Files, describe_files, find_files
from kina_build.cli.selection_options import (
    AllowShortfall,
    Anchors,
    By,
    ConflictFile,
    ConflictMode,
    DecisionFile,
    DomainBy,
    ExcludeFile,
    Improve,
    KeepFile,
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
    decisions: DecisionFile = None,
    improve: Improve = False,
    allow_shortfall: AllowShortfall = False,
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
    files = Files(support, anchors, strata, quota, conflicts, must, exclude, by, domain_by, decisions)
    if decisions is not None:
        files = replace(files, eligible="accepted")
    wanted = Wanted(k, conflict_mode.value, improve, allow_shortfall, seed, engine, memory, output)
    run_selection(run, "select", files, wanted)


@dataclass(frozen=True)
class Wanted:
    """How a set is to be chosen, and where it goes."""

    k: int | None
    conflict_mode: str
    improve: bool
    allow_shortfall: bool
    seed: int
    engine: options.EngineKind | None
    memory: int | None
    output: Path | None

    @property
    def params(self) -> dict[str, Any]:
        """Return what shapes the outputs."""
        names = ("k", "conflict_mode", "improve", "allow_shortfall", "seed")
        return {name: getattr(self, name) for name in names}


def run_selection(run: Run, name: str, files: Files, wanted: Wanted, more: Sequence[Path] = ()) -> None:
    """Choose a set, write it with its certificate, and print it.

    Args:
        run: console and settings.
        name: of the command.
        files: what is read.
        wanted: how.
        more: files that were read before.
    """
    from kina_build.engine import open_engine
    from kina_build.selection.domains import select as select_items
    from kina_build.selection.solver.shortage import Infeasible

    settings, output = run.settings.selection, wanted.output
    stage = run.stage(
        name,
        inputs=[*files.paths, *more],
        outputs=[] if output is None else [output],
        params=wanted.params | {"rules": settings.model_dump(mode="json")} | files.params,
        show=show_selection,
    )
    if stage.up_to_date():
        return
    rules = run.engine_rules(wanted.engine, wanted.memory)
    inputs = files.read(wanted.conflict_mode, rules, wanted.k)
    _tell(run, inputs, files)
    try:
        with (
            open_engine(_stay_local(run, inputs, rules)) as opened,
            run.console.progress("selecting domains") as bar,
        ):
            selection = select_items(
                inputs,
                wanted.k,
                settings,
                allow_shortfall=wanted.allow_shortfall,
                improve=wanted.improve,
                seed=wanted.seed,
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
    report = _describe_selection(selection, inputs, settings.random_draws, wanted.seed)
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
    decisions: DecisionFile = None,
    keep: KeepFile = None,
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
    from kina_build.selection.verifier.verify import Expected, verify

    document = read_selection(selection)
    if keep is not None and decisions is None:
        raise UsageError("--keep needs --decisions: they say which items stay")
    if support is not None:
        given = Files(support, anchors, strata, quota, conflicts, must, exclude, by, domain_by)
        files = replace(given, decisions=decisions, keep=keep, eligible=document.eligible)
    elif any((anchors, strata, quota, conflicts, must, exclude, decisions)):
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
    held = sum(part.k for part in document.domains)
    inputs = files.read(document.conflict_mode, run.engine_rules("local", memory), held if k is None else k)
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
    sample.register(app)
    command(app, "select", example=f"kina select {files} -k 20 -o selection.json")(select)
    command(app, "certify", example="kina certify selection.json -k 20")(certify)


FIGURES = {"objective", "steps", "slack", "scale", "weight_unit", "weight_step", "certificate"}
"""Fields of a selection.json that its printed figures come from."""


ELIGIBLE = {"accepted": "accepted items only", "not refused": "all items that reviewers did not refuse"}
"""What decisions allow, in words."""


def _as_stated(document: Selection, quota: bool, k: bool, mode: bool) -> dict[str, Any]:
    """Return K, conflict mode and quotas: what they are, and whether the reader stated them."""
    total = sum(part.k for part in document.domains)
    rows: dict[str, tuple[Any, bool]] = {"k": (total, k)}
    rows["conflict_mode"] = (document.conflict_mode, mode)
    rule = any(file.role == "quota" and file.name == str(PROPORTIONAL) for file in document.files)
    word = "proportional" if rule else "as in the quota file"
    rows["quota"] = (word if "quota" in document.inputs else "none", quota)
    if document.eligible != "all":
        rows["eligible"] = (ELIGIBLE[document.eligible], False)
    return {
        name: {"value": value, "said_by": "reader" if stated else "document"}
        for name, (value, stated) in rows.items()
    }


def _tell(run: Run, inputs: Inputs, files: Files) -> None:
    """Name what does not count: items without scores, anchors without weight; and what counts twice."""
    from kina_build.selection.inputs import read_decisions, unscored

    if files.decisions is not None:
        run.console.say(count_decisions(inputs, read_decisions(files.decisions)))
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


def count_decisions(inputs: Inputs, decided: Mapping[str, str]) -> str:
    """Say how many of the scored items reviewers accepted, refused and did not decide."""
    kinds = Counter(decided.get(item_id, "undecided") for item_id in inputs.matrix.item_ids)
    told = ", ".join(f"{kinds[kind]} {word}" for kind, word in DECIDED.items() if kinds[kind])
    return f"of {len(inputs.matrix.item_ids)} scored items: {told}"


DECIDED = {
    "accept": "accepted",
    "revise": "to be revised",
    "reject": "rejected",
    "escalate": "escalated",
    "undecided": "undecided",
}
"""Decisions in words."""


def _stay_local(run: Run, inputs: Inputs, rules: EngineRules) -> EngineRules:
    """Leave Ray out where every domain is small: there it only adds its start and its messages."""
    from kina_build.selection.posing import largest_domain

    if rules.kind == "ray" and largest_domain(inputs) < rules.spread_scores:
        run.console.say("no domain is large enough for Ray (engine.spread_scores): selecting in this process")
        return rules.model_copy(update={"kind": "local"})
    return rules


def _describe_selection(selection: Selection, inputs: Inputs, draws: int, seed: int) -> dict[str, Any]:
    from dataclasses import asdict

    from kina_build.selection.compare import draw_random, find_gaps

    keys = {"item_ids", "gains", "zero_gain_picks"} | FIGURES
    report = selection.model_dump(mode="json", include=keys)
    shown = {"domain", "k", "method", "objective", "shortfall", "strata"}
    parts = [part.model_dump(mode="json", include=shown) for part in selection.domains]
    for part, record in zip(parts, selection.domains, strict=True):
        part["selected"] = len(record.item_ids)
    labels = [label for label in (inputs.strata, inputs.domains) if label is not None]
    sets = _by_domain(selection, inputs)
    random = draw_random(
        inputs.matrix, sets, labels, inputs.closed, selection.objective, draws=draws, seed=seed
    )
    gaps = find_gaps(inputs.matrix, selection.item_ids, inputs.closed)
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
    from kina_build.selection.reading import share

    with run.console.progress("solving domains") as bar:
        optimum = find_optimum(document, inputs, run.settings.selection, on_progress=bar)
    return {
        "optimum": optimum.value,
        "true_ratio": share(document.steps, optimum.steps),
        "proven": optimum.proven,
        "item_ids": list(optimum.item_ids),
    }
