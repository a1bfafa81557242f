"""The options that every command has, and mean one thing on all."""

from __future__ import annotations

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
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done; write nothing.")]
