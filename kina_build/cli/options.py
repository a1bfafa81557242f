"""Options that mean one thing on every command."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings file; default: the nearest kina.toml upward."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but data and errors.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show tracebacks and details.")]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Redo all of the work although it is up to date: no finished part, kept vector or logged reply "
        "is reused, and calls to a model are made and paid for anew.",
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace outputs that kina did not write, or that were changed.")
]

Pool = Annotated[Path, typer.Argument(help="Items: a pool.jsonl as `kina import` writes it; '-' for stdin.")]
LettersOf = Annotated[
    Path | None,
    typer.Option(
        "--letters-of",
        metavar="POOL|RELEASE",
        help="Whose order of options letters mean where a row does not say (no prompt_sha or option_hashes).",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done; write nothing.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Take only the first N records, by id.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random in this command.")]


class EngineKind(StrEnum):
    """Where work runs."""

    local = "local"
    ray = "ray"


Engine = Annotated[
    EngineKind | None,
    typer.Option(
        "--engine", help="Run in this process, or on Ray: the cluster of RAY_ADDRESS, else a local one."
    ),
]
Memory = Annotated[
    int | None,
    typer.Option("--memory", min=1, help="Resident memory to keep to, in MB; what is larger stays on disk."),
]
