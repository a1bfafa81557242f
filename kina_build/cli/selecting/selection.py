"""Commands that choose the items of a split, refill it after review, and check the choice."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from kina_build.cli.command import command
from kina_build.cli.run import Run
from kina_build.cli.selecting.views import (
    show_budget,
    show_nothing,
    show_sample,
    show_selection,
    show_verdict,
)
from kina_build.options import parameters
from kina_build.selection.options import (
    BudgetOptions,
    CertifyOptions,
    SampleOptions,
    SearchOptions,
    SelectOptions,
    TopUpOptions,
)

if TYPE_CHECKING:
    from kina_build.selection.files import Files
    from kina_build.selection.records import Selection


def select(run: Run, options: SelectOptions) -> None:
    """Choose the items that cover the anchors best, and certify how good the choice is.

    Lazy greedy, pick for pick the naive one: of the items that leave all quotas within reach, the
    largest gain; ties go to the larger support alone, then to the smaller id. The file holds
    everything `kina certify` needs. Exit 1 when no set meets the constraints.
    """
    from kina_build.selection.files import files_to_select

    _choose(run, "select", files_to_select(options), options, options.k, options.conflict_mode)


def top_up(run: Run, options: TopUpOptions) -> None:
    """Keep the items of a selection that review let stand, refill the holes, and certify anew.

    The files, K, quotas, conflicts and the objective (how many items count for an anchor) are those
    of the selection; a support or anchors that changed since are refused. Items that reviewers
    rejected, escalated or sent back leave and cannot return; undecided items may come in, and are
    named, as they have yet to be reviewed.
    """
    from kina_build.selection.inputs import read_decisions
    from kina_build.selection.reading import read_selection
    from kina_build.selection.refill import count_kept, files_to_refill

    document = read_selection(options.selection)
    files = files_to_refill(document, options.selection, options.decisions, options.accepted_only)
    kept = count_kept(document, read_decisions(options.decisions), options.accepted_only)
    size, held = sum(part.k for part in document.domains), len(document.item_ids)
    _choose(run, "top-up", files, options, size, document.conflict_mode, document)
    run.console.say(f"{kept} of {held} items stay, {held - kept} places are refilled")


def _choose(
    run: Run,
    name: str,
    files: Files,
    options: SearchOptions,
    k: int | None,
    conflict_mode: str,
    refilled: Selection | None = None,
) -> None:
    """Choose a set, write it with its certificate, and print it."""
    from kina_build.selection.choosing import select_files
    from kina_build.selection.solver.shortage import Infeasible

    rules = run.settings.selection
    stage = run.stage(
        name,
        inputs=files.paths,
        outputs=[] if options.output is None else [options.output],
        params=parameters(options)
        | {"k": k, "conflict_mode": conflict_mode, "rules": rules.model_dump(mode="json")}
        | files.params,
        show=show_selection,
    )
    if stage.up_to_date():
        return
    engine = run.engine_rules(options.engine, options.memory)
    try:
        chosen = select_files(
            files,
            options,
            k=k,
            conflict_mode=conflict_mode,
            refilled=refilled,
            rules=rules,
            engine=engine,
            tell=run.console,
        )
    except Infeasible as error:
        if not run.console.json:
            raise
        run.console.error(error, reported=True)
        told = {"lines": list(error.lines), "hint": error.hint, "exit_code": error.exit_code}
        said = {"error": told, "status": "infeasible", "reason": error.message} | asdict(error.shortage)
        run.report(said, show_nothing, error.exit_code)
        return
    if options.output is not None:
        chosen.write(options.output)
    stage.finish(chosen.report, packages=("numpy", "scipy"))


def certify(run: Run, options: CertifyOptions) -> None:
    """Check a selection against the files alone, every field of it.

    Give the same files as to `kina select`, in any row order, or none: then those that the
    selection names are read. The check shares no code with the selector: constraints, greedy
    order, gains, objective, bounds and guarantee are computed anew. K, conflict mode and quotas
    are the document's own word unless you state them. Exit 1 when anything differs.
    """
    from kina_build.rows.jsonl import write_document
    from kina_build.selection.choosing import certify_files
    from kina_build.selection.reading import read_selection
    from kina_build.selection.recorded import files_to_certify

    document = read_selection(options.selection)
    files, rules = files_to_certify(options, document), run.settings.selection
    params: dict[str, Any] = {"rules": rules.model_dump(mode="json"), "named": options.support is None}
    stage = run.stage(
        "certify",
        inputs=[options.selection, *files.paths],
        outputs=[] if options.output is None else [options.output],
        params=parameters(options) | params | files.params,
        show=show_verdict,
    )
    if stage.up_to_date():
        return
    engine = run.engine_rules("local", options.memory)
    checked = certify_files(document, files, options, rules=rules, engine=engine, tell=run.console)
    if options.output is not None:
        write_document(options.output, checked.report)
    stage.finish(
        checked.report, exit_code=0 if checked.verification.holds else 1, packages=("numpy", "scipy")
    )


def budget(run: Run, options: BudgetOptions) -> None:
    """Share a total over domains, and bound each stratum: the quota file of `kina select`.

    Shares are rounded by largest remainder, ties by name, and never exceed a domain's items.
    A stratum gets at least min(1, eligible) and at most max(3, 1.5 x an even share) items;
    the settings hold these numbers.
    """
    from kina_build.selection.sharing.share import budget_files, files_to_share

    rules = run.settings.selection
    given = files_to_share(options, options.support or options.pool).params
    params = {"rules": rules.model_dump(mode="json"), "scored": options.support is not None}
    stage = run.start("budget", options, params=params | given, show=show_budget)
    if stage.up_to_date():
        return
    found = budget_files(options, rules, run.settings.engine)
    if options.output is not None:
        found.write(options.output)
    stage.finish(found.report)


def sample(run: Run, options: SampleOptions) -> None:
    """Draw items at random, each stratum in proportion to its items: no anchors, no certificate.

    Shares are rounded by largest remainder, ties by name. The file goes to `kina export
    --selection` like a selection; it carries no bound and no guarantee, and says so.
    """
    from kina_build.selection.sharing.share import sample_files

    params = {"decisions": options.decisions is not None}
    stage = run.start("sample", options, params=params, show=show_sample)
    if stage.up_to_date():
        return
    drawn = sample_files(options, run.console)
    if options.output is not None:
        drawn.write(options.output)
    stage.finish(drawn.report, packages=("numpy",))


def register(app: typer.Typer) -> None:
    """Add this group's commands to an app."""
    files = "--support support.npz --anchors anchors.jsonl"
    command(app, "budget", example="kina budget pool.jsonl --total 60 -o budget.jsonl")(budget)
    command(app, "sample", example="kina sample pool.jsonl -n 200 --seed 7 -o sample.json")(sample)
    command(app, "select", example=f"kina select {files} -k 20 -o selection.json")(select)
    command(app, "certify", example="kina certify selection.json -k 20")(certify)
    refill = "kina top-up selection.json --decisions decisions.jsonl -o topped.json"
    command(app, "top-up", example=refill)(top_up)
