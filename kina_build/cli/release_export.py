"""`kina export`: from a pool to a release folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kina_build.cli import options
from kina_build.cli.command import Run
from kina_build.cli.release_evidence import check_selection, find_files
from kina_build.cli.release_options import (
    Agreement,
    Allow,
    AnswersOut,
    Audit,
    Copies,
    Creator,
    Decisions,
    Evidence,
    FilterModel,
    License,
    MadeFrom,
    Name,
    Output,
    Previous,
    Private,
    Published,
    ReleaseVersion,
    Selection,
    Shuffle,
    TakeDown,
    Title,
    Url,
)
from kina_build.cli.release_request import Given, answers_file, read_request, shaping_params
from kina_build.cli.release_views import show_blocked, show_export
from kina_build.progress import collector_paused

if TYPE_CHECKING:
    from kina_build.release.build import Release
    from kina_build.release.evidence import Extent, Sources
    from kina_build.release.plan import Plan, Request
    from kina_build.release.record import ReleaseRecord


@collector_paused()
def export(
    run: Run,
    pool: options.Pool,
    *,
    output: Output,
    selection: Selection = None,
    decisions: Decisions = None,
    duplicates: Copies = None,
    agreement: Agreement = None,
    audit: Audit = None,
    filter_model: FilterModel = None,
    name: Name = "benchmark",
    title: Title = "",
    release_version: ReleaseVersion = None,
    published: Published = None,
    previous: Previous = None,
    take_down: TakeDown = None,
    private: Private = None,
    answers: AnswersOut = None,
    license: License = None,
    shuffle: Shuffle = True,
    seed: options.Seed = 0,
    allow: Allow = None,
    evidence: Evidence = None,
    made_from: MadeFrom = None,
    creator: Creator = None,
    url: Url = None,
    dry_run: options.DryRun = False,
) -> None:
    """Write a release folder: splits, card, manifest, evidence, checksums, files for harnesses.

    Gates stop it: exit 1, nothing written, the items at fault named. --allow lets one
    pass by name; the reason goes into the card. Figures of a selection are derived from
    its own files, for the items that are released.
    """
    from kina_build.release.build import build_release
    from kina_build.release.folder import check_target
    from kina_build.release.publish import publish, publish_answers

    check_target(output, overwrite=run.overwrite)
    extent: Extent | None = evidence.value if evidence else None
    proof = find_files(selection, made_from or []) if selection and extent != "none" else None
    given = Given(pool, selection, decisions, duplicates, agreement, audit, previous, proof)
    request = read_request(
        name=name,
        title=title,
        published=published,
        version=release_version,
        seed=seed,
        shuffle=shuffle,
        private=private or [],
        licenses=license or [],
        allow=allow or [],
        creators=creator or [],
        url=url,
    )
    secret = answers_file(output, answers) if request.private else None
    stage = run.stage(
        "export",
        inputs=given.paths,
        outputs=[output, *filter(None, [secret])],
        params=shaping_params(run, request, given, take_down or [], filter_model or [], extent),
        show=show_export,
        folders=[output],
    )
    if not dry_run and stage.up_to_date():
        return
    plan, sources = _plan(run, request, given, take_down or [], filter_model or [])
    if plan.faults:
        run.report(_blocked(plan, output), show_blocked, exit_code=1)
    release = build_release(plan, run.settings.release)
    if dry_run:
        run.report(_report(release.record, release, output, secret) | {"written": False}, show_export)
        return
    sources = replace(sources, extent=extent)
    record = publish(release, output, plan.past, sources, overwrite=run.overwrite)
    if secret:
        publish_answers(release, secret)
    stage.finish(_report(record, release, output, secret), packages=["pyarrow"])


def _plan(
    run: Run, request: Request, given: Given, take_down: list[str], models: list[str]
) -> tuple[Plan, Sources]:
    from kina_build.items.pool import read_pool
    from kina_build.items.workers import count_processes
    from kina_build.release.admission import admit
    from kina_build.release.evidence import Sources, make_salt
    from kina_build.release.folder import read_release
    from kina_build.release.plan import plan_release
    from kina_build.release.record import Provenance
    from kina_build.release.sources import (
        Duplicates,
        audit_facts,
        parse_pairs,
        read_agreement,
        read_audit,
        read_decisions,
        read_duplicates,
        read_selection,
        review_facts,
        selection_facts,
    )

    pool = read_pool(given.pool)
    selected = read_selection(given.selection) if given.selection else None
    chosen = None
    if given.selection and selected and selected.document and given.proof:
        chosen = check_selection(run, given.selection, selected.document, given.proof)
    decisions = read_decisions(given.decisions) if given.decisions else None
    copies = read_duplicates(given.duplicates) if given.duplicates else Duplicates()
    past = read_release(given.previous) if given.previous else None
    earlier = past.record.taken_down if past else {}
    gone = earlier | parse_pairs(take_down, "--take-down", reason_needed=False)
    admission = admit(
        pool,
        selected=selected.item_ids if selected else None,
        decisions=decisions,
        dropped=copies.dropped,
        taken_down=gone,
    )
    audited = read_audit(given.audit, {item.item_id for item in pool}) if given.audit else None
    provenance = Provenance(
        pool_items=len(pool),
        selection=selection_facts(selected, certified=chosen is not None) if selected else None,
        review=review_facts(decisions) if decisions else None,
        agreement=read_agreement(given.agreement) if given.agreement else None,
        audit=audit_facts(audited) if audited else None,
        corrected_keys=admission.corrected,
        duplicates=copies.facts,
        filter_models=tuple(sorted(set(models))),
    )
    with run.console.progress("gates") as progress:
        plan = plan_release(
            admission,
            request,
            provenance=provenance,
            clusters=copies.clusters,
            taken_down=gone,
            past=past,
            rules=run.settings.release,
            item_rules=run.settings.items,
            on_progress=progress,
            processes=count_processes(len(admission.items), run.settings.items),
        )
    return plan, Sources(make_salt(pool), chosen, decisions, audited)


def _blocked(plan: Plan, output: Path) -> dict[str, Any]:
    return {
        "release": output.name,
        "written": False,
        "items": sum(map(len, plan.items.values())),
        "gates": [fault.model_dump(mode="json") for fault in plan.faults],
        "withheld": [one.model_dump() for one in plan.withheld],
    }


def _report(record: ReleaseRecord, release: Release, output: Path, secret: Path | None) -> dict[str, Any]:
    return {
        "release": output.name,
        "written": True,
        "version": record.version,
        "content_hash": record.content_hash,
        "canary": record.canary,
        "items": sum(count.items for count in record.counts.values()),
        "splits": {split: count.model_dump(mode="json") for split, count in record.counts.items()},
        "withheld": [one.model_dump() for one in record.withheld],
        "gates": [],
        "exemptions": [one.model_dump(mode="json") for one in record.exemptions],
        "figures": record.figures,
        "letters": record.letters.model_dump(mode="json"),
        "answers": secret.name if secret else None,
        "difference": release.difference.model_dump(mode="json") if release.difference else None,
    }
