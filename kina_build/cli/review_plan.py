"""kina review calibrate, audit, simulate, budget."""

from __future__ import annotations

import typer


def register(group: typer.Typer) -> None:
    """Add."""
