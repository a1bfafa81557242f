"""From files or records to the plan of a release, as `kina export` makes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kina_build.config import EngineRules, ItemRules, ReleaseRules
from kina_build.items.batches import count_processes
from kina_build.items.model import Item
from kina_build.items.pool import read_pool
from kina_build.progress import Progress, silent
from kina_build.release import sources
from kina_build.release.admission import Decision, admit
from kina_build.release.folder import read_release
from kina_build.release.options import ExportOptions, Extent, parse_pairs
from kina_build.release.plan import Past, Request, plan_release
from kina_build.release.prepared import NewRelease, Prepared
from kina_build.release.proof.evidence import Audited, Chosen, Sources, check_selection
from kina_build.release.record import AgreementFacts, Provenance
from kina_build.release.sources import Duplicates, Selected
from kina_build.scoring.estimator import Estimator, read_estimator
from kina_build.selection.gathering import Constraints, Scores, gather
from kina_build.selection.records import Selection
from kina_build.selection.sharing.share import Budget

if TYPE_CHECKING:
    from kina_build.selection.files import Files


@dataclass(frozen=True)
class Material:
    """What a release is made from."""

    pool: Sequence[Item]
    selected: Selected | None = None
    chosen: Chosen | None = None
    """The selection with its files, where it was checked against them."""
    decisions: Sequence[Decision] | None = None
    copies: Duplicates = field(default_factory=Duplicates)
    left_out: Mapping[str, int] | None = None
    """Items that fell before the selection, by step."""
    agreement: AgreementFacts | None = None
    audited: Sequence[Audited] | None = None
    estimator: Estimator | None = None
    """What scores on the released questions say of the pool."""
    past: Past | None = None
    take_down: Mapping[str, str] = field(default_factory=dict)
    """Ids to withdraw for good, and why."""
    filter_models: Sequence[str] = ()
    """Models whose wrong answers let items in."""


def build_release(
    pool: Path | str | Iterable[Item],
    selection: Path | str | Sequence[str] | Selection | Chosen | None = None,
    *,
    support: Scores | None = None,
    budget: Budget | None = None,
    decisions: Path | str | Iterable[Any] | None = None,
    duplicates: Path | str | Any | None = None,
    agreement: Path | str | None = None,
    audit: Path | str | None = None,
    estimator: Path | str | Estimator | None = None,
    previous: Path | str | None = None,
    request: Request | None = None,
    take_down: Mapping[str, str] | None = None,
    filter_models: Sequence[str] = (),
    evidence: Extent | None = None,
    rules: ReleaseRules = ReleaseRules(),
    item_rules: ItemRules = ItemRules(),
) -> NewRelease:
    """Make a release of a pool.

    Args:
        pool: items, or their file.
        selection: a selection, its selection.json, or the ids to release; None releases the whole pool.
        support: the scores that the selection was made from: it is certified, and the card's figures
            are derived for the items that are released. Without it the card states none.
        budget: the quotas that the selection was made under, with `support`.
        decisions: of the reviewers, records or file: only accepted items are released.
        duplicates: what dedup found, record or file: copies stay out, near-copies in one split.
        agreement: figures of the reviewers' agreement, for the card.
        audit: findings of a random audit, for the card.
        estimator: what scores on the released items say of the pool, as `shrink` makes it.
        previous: folder of the release before this one: its splits are kept.
        request: name, title, version, private splits and the like.
        take_down: ids to withdraw for good, and why.
        filter_models: models whose wrong answers let items in.
        evidence: how much evidence travels; None: all, and refused above 50 MB.
        rules: numbers of the release.
        item_rules: numbers of the gates about questions.

    Raises:
        InputError: a file that cannot be read, or ids that the pool does not have.
        Refusal: gates stand in the way, or nothing is left to release.
    """
    items = read_pool(Path(pool)) if isinstance(pool, str | Path) else list(pool)
    if isinstance(selection, Selection) and support is not None:
        under = {"budget": budget, "duplicates": duplicates, "decisions": decisions}
        selection = _certified(selection, support, **under)
    material = Material(
        items,
        selected=_selected(selection),
        chosen=selection if isinstance(selection, Chosen) else None,
        decisions=None if decisions is None else sources.gather_decisions(decisions),
        copies=Duplicates() if duplicates is None else sources.gather_duplicates(duplicates),
        agreement=sources.read_agreement(Path(agreement)) if agreement else None,
        audited=sources.read_audit(Path(audit), {item.item_id for item in items}) if audit else None,
        estimator=read_estimator(Path(estimator)) if isinstance(estimator, str | Path) else estimator,
        past=read_release(Path(previous)) if previous else None,
        take_down=take_down or {},
        filter_models=filter_models,
    )
    prepared = prepare(material, request or Request(), rules, item_rules)
    return replace(prepared, sources=replace(prepared.sources, extent=evidence)).make()


def prepare_export(
    options: ExportOptions,
    request: Request,
    proof: Files | None = None,
    *,
    rules: ReleaseRules = ReleaseRules(),
    item_rules: ItemRules = ItemRules(),
    engine: EngineRules = EngineRules(),
    on_progress: Progress = silent,
) -> Prepared:
    """Read the files that an export names, and plan its release.

    Args:
        options: of the command.
        request: as read_request gives it.
        proof: the files its selection was made from; None derives no figures from it.
        rules: numbers of the release.
        item_rules: numbers of the gates about questions.
        engine: says how much memory the scores of the selection may take.
        on_progress: told of items checked.

    Raises:
        InputError: a file that cannot be read, or ids that the pool does not have.
        Refusal: the selection does not hold, or nothing is left to release.
        UsageError: an option of the form NAME=reason that is none.
    """
    material = _read(options, proof, engine)
    prepared = prepare(material, request, rules, item_rules, on_progress=on_progress)
    return replace(prepared, sources=replace(prepared.sources, extent=options.evidence))


def prepare(
    material: Material,
    request: Request,
    rules: ReleaseRules,
    item_rules: ItemRules,
    *,
    on_progress: Progress = silent,
) -> Prepared:
    """Plan a release of what was read.

    Raises:
        InputError: ids that the pool does not have, or an item decided twice.
        Refusal: nothing is left to release.
    """
    pool, copies, chosen = material.pool, material.copies, material.chosen
    selected, decisions, past = material.selected, material.decisions, material.past
    gone = (past.record.taken_down if past else {}) | dict(material.take_down)
    admission = admit(
        pool,
        selected=selected.item_ids if selected else None,
        decisions=decisions,
        dropped=copies.dropped,
        taken_down=gone,
    )
    provenance = Provenance(
        pool_items=len(pool),
        selection=sources.selection_facts(selected, certified=chosen is not None) if selected else None,
        review=sources.review_facts(decisions) if decisions else None,
        agreement=material.agreement,
        audit=sources.audit_facts(material.audited) if material.audited else None,
        corrected_keys=admission.corrected,
        duplicates=copies.facts,
        filter_models=tuple(sorted(set(material.filter_models))),
        left_out=None if material.left_out is None else dict(material.left_out),
    )
    plan = plan_release(
        admission,
        request,
        provenance=provenance,
        clusters=copies.clusters,
        taken_down=gone,
        past=past,
        rules=rules,
        item_rules=item_rules,
        on_progress=on_progress,
        processes=count_processes(len(admission.items), item_rules),
    )
    found = Sources(chosen, decisions, material.audited, material.estimator)
    return Prepared(plan, found, rules)


def _read(options: ExportOptions, proof: Files | None, engine: EngineRules) -> Material:
    pool = read_pool(options.pool)
    selected = sources.read_selection(options.selection) if options.selection else None
    document = selected.document if selected else None
    chosen = None
    if options.selection and document and proof:
        mode, size = document.conflict_mode, sum(part.k for part in document.domains)
        chosen = check_selection(str(options.selection), document, lambda: proof.read(mode, engine, size))
    return Material(
        pool,
        selected,
        chosen,
        decisions=sources.read_decisions(options.decisions) if options.decisions else None,
        copies=sources.read_duplicates(options.duplicates) if options.duplicates else Duplicates(),
        estimator=read_estimator(options.estimator) if options.estimator else None,
        past=read_release(options.previous) if options.previous else None,
        left_out=sources.read_left_out(options.left_out, len(pool)) if options.left_out else None,
        audited=sources.read_audit(options.audit, {i.item_id for i in pool}) if options.audit else None,
        agreement=sources.read_agreement(options.agreement) if options.agreement else None,
        take_down=parse_pairs(options.take_down, "--take-down", reason_needed=False),
        filter_models=options.filter_model,
    )


def _certified(selection: Selection, support: Scores, **constraints: Any) -> Chosen:
    """Check a selection against what it was made from.

    Raises:
        Refusal: it does not hold.
    """
    if "decisions" not in selection.inputs:  # reviewed only afterwards
        constraints["decisions"] = None
    asked = Constraints(conflict_mode=selection.conflict_mode, **constraints)
    return check_selection("the selection", selection, lambda: gather(support, asked))


def _selected(selection: Path | str | Sequence[str] | Selection | Chosen | None) -> Selected | None:
    if selection is None:
        return None
    if isinstance(selection, str | Path):
        return sources.read_selection(Path(selection))
    if isinstance(selection, Chosen):
        return Selected(selection.document.item_ids, selection.document)
    if isinstance(selection, Selection):
        return Selected(selection.item_ids)
    return Selected(tuple(selection))
