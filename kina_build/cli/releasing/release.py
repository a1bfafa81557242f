"""Commands of the release: export, diff, verify."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kina_build.cli.command import command
from kina_build.cli.releasing.views import show_blocked, show_diff, show_export, show_publish, show_verify
from kina_build.cli.run import Run, Stage
from kina_build.options import Role, parameters, paths
from kina_build.progress import collector_paused
from kina_build.release.options import DiffOptions, ExportOptions, PublishOptions, VerifyOptions

if TYPE_CHECKING:
    from kina_build.selection.files import Files


@collector_paused()
def export(run: Run, options: ExportOptions) -> None:
    """Write a release folder: splits, card, manifest, evidence, checksums, files for harnesses.

    Gates stop it: exit 1, nothing written, the items at fault named. --allow lets one
    pass by name; the reason goes into the card. Figures of a selection are derived from
    its own files, for the items that are released.
    """
    from kina_build.release.export import prepare_export
    from kina_build.release.folder import answers_file, check_target
    from kina_build.release.plan import read_request
    from kina_build.release.prepared import describe
    from kina_build.release.proof.chosen import find_files
    from kina_build.release.proof.evidence import place_salt

    check_target(options.output, overwrite=run.overwrite)
    derived = options.selection and options.evidence != "none"
    proof = find_files(options.selection, options.made_from) if options.selection and derived else None
    request = read_request(options)
    secret = answers_file(options.output, options.answers) if request.private else None
    salt = place_salt(options.output, options.salt, options.previous)
    named = {"release": options.output.name}
    answers = {"answers": secret.name if secret else None}
    stage = _export_stage(run, options, proof, [secret] if secret else [])
    if not options.dry_run and stage.up_to_date():
        return
    with run.console.progress("gates") as progress:
        prepared = prepare_export(
            options,
            request,
            proof,
            rules=run.settings.release,
            item_rules=run.settings.items,
            engine=run.engine_rules("local", None),
            on_progress=progress,
        )
    if prepared.plan.faults:
        run.report(named | {"written": False} | prepared.report, show_blocked, exit_code=1)
    release = prepared.make()
    if options.dry_run:
        run.report(named | {"written": False} | release.report | answers, show_export)
        return
    record = release.write(options.output, answers=secret, salt=salt, overwrite=run.overwrite)
    kept = {"salt": salt.used.name} if salt.used else {}
    report = named | {"written": True} | describe(record, release.made) | answers | kept
    stage.finish(report, packages=["pyarrow"])


def diff(run: Run, options: DiffOptions) -> None:
    """Show what changed between two releases, item by item, and what it does to the version."""
    from kina_build.release.folder import read_release
    from kina_build.release.versions import diff_releases

    run.report(diff_releases(read_release(options.old), read_release(options.new)), show_diff)


@collector_paused()
def verify(run: Run, options: VerifyOptions) -> None:
    """Check a release against its own manifest, checksums and gates; nothing in it is trusted.

    Exit 1 when anything is not as the release says.
    """
    from kina_build.release.proof.verify import verify_release

    found = verify_release(options.release, options.answers, run.settings.items)
    report = {"release": options.release.name} | found.report
    run.report(report, show_verify, exit_code=1 if found.faults else 0)


def publish(run: Run, options: PublishOptions) -> None:
    """Make a release ready for the Hugging Face Hub: a folder of exactly its files, and a checklist.

    The release must hold (kina verify). Everything is done offline; only --upload, with --repo,
    sends the folder to the hub, as a private dataset that its owner opens.
    """
    from kina_build.release.folder import check_target
    from kina_build.release.publish import check_repository, make_ready, upload, write_checklist

    repository = check_repository(options.repo) if options.upload or options.repo else ""
    check_target(options.output, overwrite=run.overwrite)
    points = options.output.with_name(f"{options.output.name}.checklist.md")
    stage = run.stage(
        "publish",
        inputs=[options.release],
        outputs=[options.output, points],
        params=parameters(options) | {"items": run.settings.items.shaping},
        show=show_publish,
        folders=[options.output],
    )
    if not options.upload and stage.up_to_date():
        return
    ready = make_ready(options.release, options.output, rules=run.settings.items, overwrite=run.overwrite)
    write_checklist(ready, points)
    sent = {"uploaded": upload(ready, repository) if options.upload else None}
    stage.finish({"folder": options.output.name, "checklist_file": points.name} | ready.report | sent)


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    command(app, "export", example="kina export pool.jsonl --selection selection.json -o release")(export)
    command(app, "diff", example="kina diff release-1.0.0 release-2.0.0")(diff)
    command(app, "publish", example="kina publish release -o to-publish")(publish)
    command(app, "verify", example="kina verify release")(verify)


def _export_stage(run: Run, options: ExportOptions, proof: Files | None, more: Sequence[Path]) -> Stage:
    """Start the stage of an export, which also reads what its selection was made from."""
    settings = run.settings
    inputs = [*paths(options, Role.input), *(proof.paths if proof else ())]
    roles = (
        "selection",
        "decisions",
        "duplicates",
        "left_out",
        "agreement",
        "audit",
        "estimator",
        "previous",
    )
    params = {
        "given": [role for role in roles if getattr(options, role)],
        "made_from": proof.params if proof else None,
        "settings": {
            "release": settings.release.model_dump(mode="json"),
            "items": settings.items.shaping,
        },
    }
    return run.stage(
        "export",
        inputs=list(dict.fromkeys(inputs)),
        outputs=[options.output, *more],
        params=parameters(options) | params,
        show=show_export,
        folders=[options.output],
    )
