"""Commands of the release: export, diff, verify."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kina_build.cli import options
from kina_build.cli.command import Run, command
from kina_build.cli.console import Console
from kina_build.errors import UsageError

if TYPE_CHECKING:
    from kina_build.release.build import Release
    from kina_build.release.plan import Plan, Request

SHOWN_IDS = 10
"""Items named on the terminal before the rest is only counted."""

Selection = Annotated[
    Path | None, typer.Option("--selection", help="Release only what this selection.json chose.")
]
Decisions = Annotated[
    Path | None, typer.Option("--decisions", help="Release only what reviewers accepted (decisions.jsonl).")
]
Copies = Annotated[
    Path | None,
    typer.Option("--duplicates", help="Leave out copies, keep near-copies in one split (duplicates.json)."),
]
Audit = Annotated[
    Path | None, typer.Option("--audit", help="Findings of a random audit (item_id, flawed), for the card.")
]
FilterModel = Annotated[
    list[str] | None,
    typer.Option("--filter-model", help="A model whose wrong answers let items in; the card says so."),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="The release folder.")]
Name = Annotated[str, typer.Option("--name", help="Short name, also of the harness tasks.")]
Title = Annotated[str, typer.Option("--title", help="Title of the card; default: the name.")]
Published = Annotated[
    str | None, typer.Option("--published", help="Date in card and Croissant, YYYY-MM-DD; default: none.")
]
ReleaseVersion = Annotated[
    str | None,
    typer.Option("--release-version", help="Default: 1.0.0, or what the changes since --previous ask for."),
]
Previous = Annotated[
    Path | None, typer.Option("--previous", help="The release before this one; its splits are kept.")
]
TakeDown = Annotated[
    list[str] | None, typer.Option("--take-down", help="Withdraw an item for good: ID=reason; repeatable.")
]
Private = Annotated[
    list[str] | None,
    typer.Option("--private", help="Keep the answers of this split (test or dev) out of the folder."),
]
AnswersOut = Annotated[
    Path | None, typer.Option("--answers", help="File of the private answers; default: OUTPUT.answers.jsonl.")
]
AnswersIn = Annotated[
    Path | None, typer.Option("--answers", help="File of the private answers, to check them too.")
]
License = Annotated[
    list[str] | None, typer.Option("--license", help="Licence the card claims; default: those of the rows.")
]
Shuffle = Annotated[
    bool, typer.Option("--shuffle/--keep-letters", help="Draw the order of options, or keep it.")
]
Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", help="Let a gate pass: RULE=reason; the card says so; repeatable."),
]
ReleaseFolder = Annotated[Path, typer.Argument(help="A release folder, as `kina export` writes it.")]
OldRelease = Annotated[Path, typer.Argument(help="The earlier release folder.")]
NewRelease = Annotated[Path, typer.Argument(help="The later release folder.")]


@dataclass(frozen=True)
class Given:
    """The files an export reads."""

    pool: Path
    selection: Path | None
    decisions: Path | None
    duplicates: Path | None
    audit: Path | None
    previous: Path | None

    @property
    def paths(self) -> list[Path]:
        """Return those that are there."""
        named = (self.pool, self.selection, self.decisions, self.duplicates, self.audit, self.previous)
        return [path for path in named if path]

    @property
    def roles(self) -> list[str]:
        """Return what each one is, so that a file in another role is another run."""
        return [name for name, path in vars(self).items() if path]


def export(
    run: Run,
    pool: options.Pool,
    *,
    output: Output,
    selection: Selection = None,
    decisions: Decisions = None,
    duplicates: Copies = None,
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
    dry_run: options.DryRun = False,
) -> None:
    """Write a release folder: splits, card, manifest, checksums, files for harnesses.

    Gates stop it: exit 1, nothing written, the items at fault named. --allow lets one
    pass by name; the reason goes into the card.
    """
    from kina_build.release.build import build_release
    from kina_build.release.folder import check_target
    from kina_build.release.publish import publish, publish_answers

    check_target(output)
    given = Given(pool, selection, decisions, duplicates, audit, previous)
    request = _request(
        name=name,
        title=title,
        published=published,
        version=release_version,
        seed=seed,
        shuffle=shuffle,
        private=private or [],
        licenses=license or [],
        allow=allow or [],
    )
    secret = _answers_file(output, answers) if request.private else None
    stage = run.stage(
        "export",
        inputs=given.paths,
        outputs=[output, *filter(None, [secret])],
        params=_params(run, request, given, take_down or [], filter_model or []),
        show=_show_export,
    )
    if not dry_run and stage.up_to_date():
        return
    plan = _plan(run, request, given, take_down or [], filter_model or [])
    if plan.faults:
        run.report(_blocked(plan, output), _show_blocked, exit_code=1)
    release = build_release(plan, run.settings.release)
    report = _report(release, output, secret)
    if dry_run:
        run.report(report | {"written": False}, _show_export)
        return
    publish(release, output, plan.past)
    if secret:
        publish_answers(release, secret)
    stage.finish(report, packages=["pyarrow"])


def diff(run: Run, old: OldRelease, new: NewRelease) -> None:
    """Show what changed between two releases, item by item, and what it does to the version."""
    from kina_build.release.folder import read_release
    from kina_build.release.versions import compare, next_version, parse_version

    before, after = read_release(old), read_release(new)
    found = compare(before.rows, after.rows)
    old_version = parse_version(before.record.version)
    report = {
        "old": {"version": before.record.version, "content_hash": before.record.content_hash},
        "new": {"version": after.record.version, "content_hash": after.record.content_hash},
        **found.model_dump(mode="json"),
        "least_version": str(next_version(old_version, found.bump)),
        "version_says_enough": parse_version(after.record.version) >= next_version(old_version, found.bump),
    }
    run.report(report, _show_diff)


def verify(run: Run, release: ReleaseFolder, answers: AnswersIn = None) -> None:
    """Check a release against its own manifest, checksums and gates; nothing in it is trusted.

    Exit 1 when anything is not as the release says.
    """
    from kina_build.release.verify import verify_release

    found = verify_release(release, answers, run.settings.items)
    record = found.past.record
    report = {
        "release": release.name,
        "version": record.version,
        "content_hash": record.content_hash,
        "items": sum(count.items for count in record.counts.values()),
        "ok": not found.faults,
        "checks": list(found.checks),
        "faults": [
            {"check": f.check, "message": f.message, "item_ids": list(f.item_ids)} for f in found.faults
        ],
        "exemptions": [one.model_dump(mode="json") for one in record.exemptions],
    }
    run.report(report, _show_verify, exit_code=1 if found.faults else 0)


def _request(
    *,
    name: str,
    title: str,
    published: str | None,
    version: str | None,
    seed: int,
    shuffle: bool,
    private: list[str],
    licenses: list[str],
    allow: list[str],
) -> Request:
    from kina_build.release.gates import GATES
    from kina_build.release.plan import Request
    from kina_build.release.sources import parse_date, parse_pairs
    from kina_build.release.splits import SPLITS
    from kina_build.release.versions import parse_version

    if not name.isidentifier() or not name.isascii():
        raise UsageError(f"--name {name!r}: use letters, digits and underscores")
    _check_named("--private", private, SPLITS)
    allowed = parse_pairs(allow, "--allow", reason_needed=True)
    _check_named("--allow", allowed, GATES)
    return Request(
        name=name,
        title=title,
        published=parse_date(published) if published else None,
        version=parse_version(version) if version else None,
        seed=seed,
        shuffle=shuffle,
        private=frozenset(private),
        licenses=frozenset(licenses),
        allowed=allowed,
    )


def _check_named(option: str, names: Iterable[str], known: Iterable[str]) -> None:
    import difflib

    choices = list(known)
    for name in names:
        if name not in choices:
            near = difflib.get_close_matches(name, choices, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(choices)}"
            raise UsageError(f"{option} {name}: no such name", hint=hint)


def _answers_file(output: Path, answers: Path | None) -> Path:
    secret = answers or output.with_name(f"{output.name}.answers.jsonl")
    if output.resolve() in secret.resolve().parents:
        raise UsageError(f"{secret}: private answers do not belong in the release folder")
    return secret


def _params(
    run: Run, request: Request, given: Given, take_down: list[str], models: list[str]
) -> dict[str, Any]:
    asked = vars(request) | {
        "version": str(request.version) if request.version else None,
        "private": sorted(request.private),
        "licenses": sorted(request.licenses),
        "allowed": dict(request.allowed),
    }
    settings = {
        "release": run.settings.release.model_dump(mode="json"),
        "items": run.settings.items.shaping,
    }
    return {
        **asked,
        "take_down": take_down,
        "filter_models": models,
        "given": given.roles,
        "settings": settings,
    }


def _plan(run: Run, request: Request, given: Given, take_down: list[str], models: list[str]) -> Plan:
    from kina_build.items.pool import read_pool
    from kina_build.items.workers import count_processes
    from kina_build.release.admission import admit
    from kina_build.release.folder import read_release
    from kina_build.release.plan import plan_release
    from kina_build.release.record import Provenance
    from kina_build.release.sources import (
        Duplicates,
        parse_pairs,
        read_audit,
        read_decisions,
        read_duplicates,
        read_selection,
        review_facts,
    )

    pool = read_pool(given.pool)
    selected = read_selection(given.selection) if given.selection else None
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
    provenance = Provenance(
        pool_items=len(pool),
        selection=selected.facts if selected else None,
        review=review_facts(decisions) if decisions else None,
        audit=read_audit(given.audit, {item.item_id for item in pool}) if given.audit else None,
        corrected_keys=admission.corrected,
        duplicates=copies.facts,
        filter_models=tuple(sorted(set(models))),
    )
    with run.console.progress("gates") as progress:
        return plan_release(
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


def _blocked(plan: Plan, output: Path) -> dict[str, Any]:
    return {
        "release": output.name,
        "written": False,
        "items": sum(map(len, plan.items.values())),
        "gates": [fault.model_dump(mode="json") for fault in plan.faults],
        "withheld": [one.model_dump() for one in plan.withheld],
    }


def _report(release: Release, output: Path, secret: Path | None) -> dict[str, Any]:
    record = release.record
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
        "letters": record.letters.model_dump(mode="json"),
        "answers": secret.name if secret else None,
        "difference": release.difference.model_dump(mode="json") if release.difference else None,
    }


def _show_export(report: dict[str, Any], console: Console) -> None:
    console.line(f"{report['items']} items, version {report['version']}, in {report['release']}/")
    rows = [
        [
            split,
            count["items"],
            len(count["by_path"]),
            count["chance"],
            "private" if count["private"] else "open",
        ]
        for split, count in report["splits"].items()
    ]
    console.table("splits", ["split", "items", "paths", "chance", "answers"], rows)
    reasons = Counter(one["reason"].partition(":")[0] for one in report["withheld"])
    if reasons:
        told = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        console.line(f"withheld {len(report['withheld'])} items: {told}")
    for one in report["exemptions"]:
        console.line(f"let pass {one['rule']} ({one['message']}): {one['reason']}")
    kept = report["letters"]["kept"]
    if kept:
        console.line(f"{len(kept)} items keep their own letters: {_ids(list(kept))}")
    if report["difference"]:
        console.line(_changes(report["difference"]))
    if report["answers"]:
        console.line(f"private answers: {report['answers']} (keep it out of what you publish)")


def _show_blocked(report: dict[str, Any], console: Console) -> None:
    console.line(f"nothing written: {len(report['gates'])} gates stopped {report['items']} items")
    rows = [
        [gate["rule"], len(gate["items"]) or "all", gate["message"], _ids(list(gate["items"]))]
        for gate in report["gates"]
    ]
    console.table("gates", ["rule", "items", "what", "which"], rows)
    console.say("hint: mend or withdraw the items, or let a gate pass with --allow RULE='reason'")


def _show_diff(report: dict[str, Any], console: Console) -> None:
    old, new = report["old"]["version"], report["new"]["version"]
    console.line(f"{old} -> {new}: {_changes(report)}")
    if not report["version_says_enough"]:
        console.line(f"the new version should be {report['least_version']} or above")
    kinds = ("changed_key", "changed_text", "changed_options", "changed_details", "moved", "added", "removed")
    rows = [[kind.replace("_", " "), len(report[kind]), _ids(list(report[kind]))] for kind in kinds]
    console.table("changes", ["what", "items", "which"], [row for row in rows if row[1]])


def _show_verify(report: dict[str, Any], console: Console) -> None:
    state = "as it says" if report["ok"] else f"{len(report['faults'])} faults"
    console.line(f"{report['release']}, version {report['version']}, {report['items']} items: {state}")
    if report["faults"]:
        rows = [[f["check"], f["message"], _ids(f["item_ids"])] for f in report["faults"]]
        console.table("faults", ["check", "what", "which"], rows)
    for one in report["exemptions"]:
        console.line(f"let pass at export: {one['rule']} ({one['message']}): {one['reason']}")


def _changes(difference: dict[str, Any]) -> str:
    scores = "comparable" if difference["scores_comparable"] else "not comparable"
    return f"{difference['bump']} change, scores {scores}"


def _ids(ids: list[str]) -> str:
    more = f" and {len(ids) - SHOWN_IDS} more" if len(ids) > SHOWN_IDS else ""
    return ", ".join(ids[:SHOWN_IDS]) + more


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    command(app, "export", example="kina export pool.jsonl --selection selection.json -o release")(export)
    command(app, "diff", example="kina diff release-1.0.0 release-2.0.0")(diff)
    command(app, "verify", example="kina verify release")(verify)
