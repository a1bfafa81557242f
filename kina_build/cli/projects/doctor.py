"""kina doctor: whether this machine and this folder are fit to build."""

from __future__ import annotations

import os
from typing import Any

import typer

from kina_build.cli.command import Run, command
from kina_build.cli.console import Console


def doctor(run: Run) -> None:
    """Check encoder, kept vectors, ledger, permissions, litter, versions and extras.

    Each fault comes with the way to mend it. Exit 1 when there is one; what merely lacks is a note.
    """
    from kina_build.project.doctor import examine
    from kina_build.project.folder import find_project

    checks = list(examine(find_project(run.config), run.settings, os.environ))
    faults = sum(one.state == "fault" for one in checks)
    run.report(
        {"faults": faults, "checks": [one.model_dump() for one in checks]}, _show, exit_code=int(faults > 0)
    )


def _show(report: dict[str, Any], console: Console) -> None:
    rows = [[one["about"], one["state"], one["message"], one["how"]] for one in report["checks"]]
    console.table("checked", ["what", "state", "found", "how to mend it"], rows)
    console.line(f"{report['faults']} faults" if report["faults"] else "fit to build")


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "doctor", example="kina doctor")(doctor)
