"""Commands of the release: export, diff, verify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from kina_build.release.build import Past, Release, Request
    from kina_build.release.record import Provenance

SHOWN_IDS = 10
"""Items named on the terminal before the rest is only counted."""

Selection = Annotated[
    Path | None, typer.Option("--selection", help="Release only what this selection.json chose.")
]
Decisions = Annotated[
    Path | None, typer.Option("--decisions", help="Release only what reviewers accepted (decisions.jsonl).")
]
DuplicatesFile = Annotated[
    Path | None,
    typer.Option(
        "--duplicates", help="Leave out copies and keep near-copies in one split (duplicates.json)."
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="The release folder.")]
Name = Annotated[str, typer.Option("--name", help="Short name, also of the harness tasks.")]
Title = Annotated[str, typer.Option("--title", help="Title of the card; default: the name.")]
ReleaseVersion = Annotated[
    str | None,
    typer.Option("--release-version", help="Default: 1.0.0, or what the changes since --previous ask for."),
]
Previous = Annotated[
    Path | None,
    typer.Option("--previous", help="Folder of the release before this one; its splits are kept."),
]
TakeDown = Annotated[
    list[str] | None,
    typer.Option("--take-down", help="Withdraw an item for good: ID=reason. May be repeated."),
]
Private = Annotated[
    list[str] | None,
    typer.Option("--private", help="Keep the answers of this split (test or dev) out of the folder."),
]
Answers = Annotated[
    Path | None, typer.Option("--answers", help="File of the private answers; default: OUTPUT.answers.jsonl.")
]
License = Annotated[
    list[str] | None, typer.Option("--license", help="Licence the card claims; default: those of the rows.")
]
Shuffle = Annotated[
    bool, typer.Option("--shuffle/--keep-letters", help="Draw the order of options, or keep it.")
]
Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", help="Let a gate pass: RULE=reason; the card says so. May be repeated."),
]


def export(
    run: Run,
    pool: options.Pool,
    output: Output,
    selection: Selection = None,
    decisions: Decisions = None,
    duplicates: DuplicatesFile = None,
    name: Name = "benchmark",
    title: Title = "",
    release_version: ReleaseVersion = None,
    previous: Previous = None,
    take_down: TakeDown = None,
    private: Private = None,
    answers: Answers = None,
    license: License = None,
    shuffle: Shuffle = True,
    seed: options.Seed = 0,
    allow: Allow = None,
    dry_run: options.DryRun = False,
) -> None:
    """Write a release folder: splits, card, manifest, checksums, harness files.

    Gates stop it (exit 1, nothing written) and name the items at fault.
    """
    from kina_build.release.folder import check_target
    from kina_build.release.publish import publish, publish_answers

    check_target(output)
    request = _request(name, title, release_version, seed, shuffle, private, license, allow)
    secret = (answers or output.with_name(f"{output.name}.answers.jsonl")) if request.private else None
    if secret and output.resolve() in secret.resolve().parents:
        raise UsageError(f"{secret}: private answers do not belong in the release folder")
    given = [path for path in (selection, decisions, duplicates, previous) if path]
    stage = run.stage(
        "export",
        inputs=[pool, *given],
        outputs=[output, *([secret] if secret else [])],
        params=_params(run, request, take_down, selection, decisions, duplicates, previous),
        show=_show_export,
    )
    if not dry_run and stage.up_to_date():
        return
    release = _build(run, pool, request, selection, decisions, duplicates, previous, take_down)
    report = _report(release, output, secret)
    if release.findings:
        run.report(report, _show_export, exit_code=1)
    if dry_run:
        run.report(report, _show_export)
        return
    publish(release, output)
    if secret:
        publish_answers(release, secret)
    stage.finish(report, packages=["pyarrow"])


def _request(
    name: str,
    title: str,
    version: str | None,
    seed: int,
    shuffle: bool,
    private: list[str] | None,
    license: list[str] | None,
    allow: list[str] | None,
) -> Request:
    import difflib

    from kina_build.release.build import Request
    from kina_build.release.gates import RULES
    from kina_build.release.sources import parse_pairs
    from kina_build.release.splits import SPLITS
    from kina_build.release.versions import parse_version

    if not name.isidentifier() or not name.isascii():
        raise UsageError(f"--name {name!r}: use letters, digits and underscores")
    for split in private or ():
        if split not in SPLITS:
            raise UsageError(f"--private {split}: no such split", hint=f"splits: {', '.join(SPLITS)}")
    allowed = parse_pairs(allow or (), "--allow", reason_needed=True)
    for rule in allowed:
        if rule not in RULES:
            near = difflib.get_close_matches(rule, RULES, n=1)
            hint = f"did you mean {near[0]}?" if near else f"rules: {', '.join(RULES)}"
            raise UsageError(f"--allow {rule}: no such gate", hint=hint)
    return Request(
        name=name,
        title=title,
        version=parse_version(version) if version else None,
        seed=seed,
        shuffle=shuffle,
        private=frozenset(private or ()),
        licenses=frozenset(license or ()),
        allowed=allowed,
    )


def _params(run: Run, request: Request, take_down: list[str] | None, *given: Path | None) -> dict[str, Any]:
    return {
        "name": request.name,
        "title": request.title,
        "version": str(request.version) if request.version else None,
        "seed": request.seed,
        "shuffle": request.shuffle,
        "private": sorted(request.private),
        "licenses": sorted(request.licenses),
        "allowed": dict(request.allowed),
        "take_down": take_down or [],
        "given": [path is not None for path in given],
        "rules": run.settings.release.model_dump(mode="json"),
    }


def _build(
    run: Run,
    pool: Path,
    request: Request,
    selection: Path | None,
    decisions: Path | None,
    duplicates: Path | None,
    previous: Path | None,
    take_down: list[str] | None,
) -> Release:
    from kina_build.items.pool import read_pool
    from kina_build.release.admission import admit
    from kina_build.release.build import build_release
    from kina_build.release.folder import read_release
    from kina_build.release.record import Provenance
    from kina_build.release.sources import (
        Duplicates,
        parse_pairs,
        read_decisions,
        read_duplicates,
        read_selection,
        review_facts,
    )

    items = read_pool(pool)
    chosen = read_selection(selection) if selection else None
    verdicts = read_decisions(decisions) if decisions else None
    copies = read_duplicates(duplicates) if duplicates else Duplicates()
    past = read_release(previous) if previous else None
    gone = (past.record.taken_down if past else {}) | parse_pairs(
        take_down or (), "--take-down", reason_needed=False
    )
    admission = admit(
        items,
        selected=chosen.item_ids if chosen else None,
        decisions=verdicts,
        dropped=copies.dropped,
        taken_down=gone,
    )
    provenance = Provenance(
        pool_items=len(items),
        selection=chosen.facts if chosen else None,
        review=review_facts(verdicts) | {"corrected_keys": admission.corrected} if verdicts else None,
        duplicates=copies.facts,
    )
    return build_release(
        admission,
        request,
        clusters=copies.clusters,
        provenance=provenance,
        taken_down=gone,
        past=past,
        rules=run.settings.release,
    )


def _report(release: Release, output: Path, secret: Path | None) -> dict[str, Any]:
    record = release.record
    return {
        "release": output.name,
        "written": not release.findings,
        "version": record.version,
        "content_hash": record.content_hash,
        "canary": record.canary,
        "items": sum(count.items for count in record.counts.values()),
        "splits": {split: count.model_dump(mode="json") for split, count in record.counts.items()},
        "withheld": [one.model_dump() for one in record.withheld],
        "findings": [finding.model_dump(mode="json") for finding in release.findings],
        "exemptions": [one.model_dump(mode="json") for one in record.exemptions],
        "letters": record.letters.model_dump(mode="json"),
        "answers": secret.name if secret else None,
        "difference": release.difference.model_dump(mode="json") if release.difference else None,
    }


def _show_export(report: dict[str, Any], console: Console) -> None:
    if report["findings"]:
        console.line(f"blocked: {len(report['findings'])} gates fired, nothing was written")
        rows = [
            [f["rule"], len(f["item_ids"]), f["message"], _ids(f["item_ids"])] for f in report["findings"]
        ]
        console.table("gates", ["rule", "items", "what", "which"], rows)
        return
    console.line(f"{report['items']} items in {report['release']}, version {report['version']}")
    rows = [
        [s, c["items"], len(c["by_path"]), c["chance"], c["private"]] for s, c in report["splits"].items()
    ]
    console.table("splits", ["split", "items", "paths", "chance", "private answers"], rows)


def _ids(ids: list[str]) -> str:
    more = f" and {len(ids) - SHOWN_IDS} more" if len(ids) > SHOWN_IDS else ""
    return ", ".join(ids[:SHOWN_IDS]) + more


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    command(app, "export", example="kina export pool.jsonl --selection selection.json -o release")(export)
