"""`kina select`, `top-up` and `certify` as functions: read the files, choose or check, describe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kina_build.config import EngineRules, SelectionRules
from kina_build.engine import open_engine
from kina_build.progress import NOBODY, Teller
from kina_build.rows.jsonl import write_document
from kina_build.selection.beside.draws import draw_random, find_gaps, sets_by_domain
from kina_build.selection.beside.saturation import draw_beside, survey
from kina_build.selection.domains import Settled, find_optimum, settle
from kina_build.selection.figures import share
from kina_build.selection.files import PROPORTIONAL, Files
from kina_build.selection.inputs import Inputs, read_decisions
from kina_build.selection.options import CertifyOptions, SearchOptions
from kina_build.selection.posing import stay_local, unmet_strata, unscored
from kina_build.selection.reading import restate
from kina_build.selection.recorded import describe_files
from kina_build.selection.records import Selection, maximised
from kina_build.selection.refill import check_again, folds_again
from kina_build.selection.verifier.verify import Expected, Verification, verify

SHOWN = 10
"""Names told of before the rest is only counted."""

FIGURES = {"objective", "steps", "slack", "scale", "weight_unit", "weight_step", "certificate", "coverage"}
"""Fields of a selection.json that its printed figures come from."""

ELIGIBLE = {"accepted": "accepted items only", "not refused": "all items that reviewers did not refuse"}
"""What decisions allow, in words."""

DECIDED = {
    "accept": "accepted",
    "revise": "to be revised",
    "reject": "rejected",
    "escalate": "escalated",
    "undecided": "undecided",
}
"""Decisions in words."""


@dataclass(frozen=True)
class Chosen:
    """A selection, and what is told of it."""

    selection: Selection
    report: dict[str, Any]

    def write(self, path: Path) -> None:
        """Write selection.json."""
        write_document(path, self.selection)


def select_files(
    files: Files,
    options: SearchOptions,
    *,
    k: int | None,
    conflict_mode: Any,
    refilled: Selection | None = None,
    rules: SelectionRules = SelectionRules(),
    engine: EngineRules = EngineRules(),
    tell: Teller = NOBODY,
) -> Chosen:
    """Read the files, choose the items, and describe the choice.

    Args:
        files: what is read.
        options: how the set is searched for; the files are named relative to its output.
        k: items to take; None where a budget gives it.
        conflict_mode: clusters or pairwise.
        refilled: the reviewed selection that is filled up by its own objective, if one is.
        rules: settings.
        engine: where levels on disk are read, and the memory that scores may take.
        tell: told of what does not count and of the progress.

    Raises:
        Infeasible: no set meets the constraints.
        InputError: a file that cannot be read.
        Refusal: the selection to fill up was made from other scores or anchors.
        UsageError: options that contradict each other.
    """
    folds = options.folds if refilled is None else folds_again(refilled, options.folds)
    inputs = files.read(conflict_mode, engine, k)
    if refilled is not None:
        check_again(refilled, inputs, tell, ruled=files.is_proportional or files.balance is not None)
    _tell(inputs, files, tell)
    place = Path() if options.output is None else options.output.parent
    with open_engine(stay_local(inputs, engine, tell)) as opened, tell.progress("selecting domains") as bar:
        settled = settle(
            inputs,
            k,
            rules,
            allow_shortfall=options.allow_shortfall,
            improve=options.improve,
            exact=options.exact,
            seed=options.seed,
            folds=folds,
            engine=opened,
            on_progress=bar,
            read=files.named(place),
        )
    return Chosen(settled.selection, describe_selection(settled, inputs, rules.random_draws, options.seed))


@dataclass(frozen=True)
class Checked:
    """Whether a selection holds, and what is told of it."""

    verification: Verification
    report: dict[str, Any]


def certify_files(
    document: Selection,
    files: Files,
    options: CertifyOptions,
    *,
    rules: SelectionRules = SelectionRules(),
    engine: EngineRules = EngineRules(),
    tell: Teller = NOBODY,
) -> Checked:
    """Check a selection against files, and find its optimum if that is asked.

    Args:
        document: the selection.
        files: what it was made from.
        options: what the reader states.
        rules: settings.
        engine: the memory that scores may take.
        tell: told of the progress.

    Raises:
        UsageError: a kind of input it was made from was not given.
        InputError: a file that cannot be read.
    """
    held = sum(part.k for part in document.domains)
    inputs = files.read(document.conflict_mode, engine, held if options.k is None else options.k)
    document = restate(document, inputs.matrix)
    found = verify(document, inputs, Expected(options.k, options.conflict_mode, options.folds))
    report: dict[str, Any] = {"verified": found.holds, "faults": list(found.faults)}
    report |= {"checked": list(found.checked), "items": len(document.item_ids)}
    report |= document.model_dump(mode="json", include=FIGURES)
    if document.coverage is not None:
        report["maximised"] = sorted({maximised(part.folds) for part in document.domains})
    report["files"] = describe_files(files, inputs.digests, named=options.support is None)
    report["as_stated"] = _as_stated(document, options)
    if options.exact and found.holds:
        report["exact"] = _compare_exact(document, inputs, rules, tell)
    return Checked(found, report)


def describe_selection(settled: Settled, inputs: Inputs, draws: int, seed: int) -> dict[str, Any]:
    """Return what is told of a selection: figures, random sets beside it, what it leaves uncovered."""
    selection = settled.selection
    keys = {"item_ids", "gains", "zero_gain_picks"} | FIGURES
    report = selection.model_dump(mode="json", include=keys)
    shown = {"domain", "k", "method", "objective", "shortfall", "strata", "folds", "maximised"}
    parts = [part.model_dump(mode="json", include=shown) for part in selection.domains]
    for part, record in zip(parts, selection.domains, strict=True):
        part["selected"] = len(record.item_ids)
    labels = [label for label in (inputs.strata, inputs.domains) if label is not None]
    sets = sets_by_domain(selection, inputs)
    covered = selection.objective if selection.coverage is None else selection.coverage.objective
    random = draw_random(inputs.matrix, sets, labels, inputs.closed, covered, draws=draws, seed=seed)
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
        "carried": settled.carried,
        "random": asdict(random),
        "beside": [asdict(one) for one in draw_beside(selection, inputs, draws=draws, seed=seed)],
        "survey": asdict(survey(inputs.matrix, selection.item_ids, inputs.closed)),
        "uncovered": [asdict(gap) for gap in gaps],
    }


def _tell(inputs: Inputs, files: Files, tell: Teller) -> None:
    """Name what does not count: items without scores, anchors without weight; and what counts twice."""
    if files.decisions is not None:
        tell.say(_count_decisions(inputs, read_decisions(files.decisions)))
    lacking = unscored(inputs)
    if lacking:
        tell.warn(
            f"{len(lacking)} items of --strata have no support row and cannot be taken: {_named(lacking)}"
        )
    unmet = unmet_strata(inputs)
    if unmet:
        tell.warn(f"{len(unmet)} strata of --quota have no scored item: {_named(unmet)}")
    faded = inputs.matrix.faded
    if faded:
        tell.warn(
            f"{len(faded)} anchors weigh so little beside the others that they round to 0: {_named(faded)}"
        )
    if inputs.domains is not None:
        tell.say("anchors are shared: one that several domains support counts once in each of them")


def _named(names: Any) -> str:
    return ", ".join(names[:SHOWN]) + (" ..." if len(names) > SHOWN else "")


def _count_decisions(inputs: Inputs, decided: Mapping[str, str]) -> str:
    """Say how many of the scored items reviewers accepted, refused and did not decide."""
    kinds = Counter(decided.get(item_id, "undecided") for item_id in inputs.matrix.item_ids)
    told = ", ".join(f"{kinds[kind]} {word}" for kind, word in DECIDED.items() if kinds[kind])
    return f"of {len(inputs.matrix.item_ids)} scored items: {told}"


def _as_stated(document: Selection, options: CertifyOptions) -> dict[str, Any]:
    """Return K, conflict mode and quotas: what they are, and whether the reader stated them."""
    total = sum(part.k for part in document.domains)
    rows: dict[str, tuple[Any, bool]] = {"k": (total, options.k is not None)}
    rows["conflict_mode"] = (document.conflict_mode, options.conflict_mode is not None)
    if document.coverage is not None or options.folds is not None:
        folds = sorted({part.folds for part in document.domains})
        rows["folds"] = (" and ".join(map(str, folds)), options.folds is not None)
    rule = any(file.role == "quota" and file.name == str(PROPORTIONAL) for file in document.files)
    word = "proportional" if rule else "as in the quota file"
    rows["quota"] = (word if "quota" in document.inputs else "none", options.quota is not None)
    if document.eligible != "all":
        rows["eligible"] = (ELIGIBLE[document.eligible], False)
    return {
        name: {"value": value, "said_by": "reader" if stated else "document"}
        for name, (value, stated) in rows.items()
    }


def _compare_exact(
    document: Selection, inputs: Inputs, rules: SelectionRules, tell: Teller
) -> dict[str, Any]:
    with tell.progress("solving domains") as bar:
        optimum = find_optimum(document, inputs, rules, on_progress=bar)
    return {
        "optimum": optimum.value,
        "true_ratio": share(document.steps, optimum.steps),
        "proven": optimum.proven,
        "item_ids": list(optimum.item_ids),
    }
