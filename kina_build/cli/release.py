"""Commands of the release: export, diff, verify."""

from __future__ import annotations

import typer

from kina_build.cli.command import Run, command
from kina_build.cli.release_export import export
from kina_build.cli.release_options import AnswersIn, NewRelease, OldRelease, ReleaseFolder
from kina_build.cli.release_views import show_diff, show_verify
from kina_build.progress import collector_paused


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
    run.report(report, show_diff)


@collector_paused()
def verify(run: Run, release: ReleaseFolder, answers: AnswersIn = None) -> None:
    """Check a release against its own manifest, checksums and gates; nothing in it is trusted.

    Exit 1 when anything is not as the release says.
    """
    from kina_build.release.evidence import verifier_digest
    from kina_build.release.verify import verify_release

    found = verify_release(release, answers, run.settings.items)
    record = found.past.record
    report = {
        "release": release.name,
        "version": record.version,
        "content_hash": record.content_hash,
        "figures": record.figures,
        "verifier": verifier_digest(),
        "items": sum(count.items for count in record.counts.values()),
        "ok": not found.faults,
        "checks": list(found.checks),
        "faults": [
            {"check": f.check, "message": f.message, "item_ids": list(f.item_ids)} for f in found.faults
        ],
        "exemptions": [one.model_dump(mode="json") for one in record.exemptions],
    }
    run.report(report, show_verify, exit_code=1 if found.faults else 0)


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    command(app, "export", example="kina export pool.jsonl --selection selection.json -o release")(export)
    command(app, "diff", example="kina diff release-1.0.0 release-2.0.0")(diff)
    command(app, "verify", example="kina verify release")(verify)
