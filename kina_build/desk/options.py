"""What `kina desk` takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kina_build.options import Role, argument, option


@dataclass(frozen=True, kw_only=True)
class DeskOptions:
    """Options of `kina desk`."""

    folder: Path = argument(
        "Folder with the flow's files; default: this one.", default=Path(), role=Role.manner
    )
    who: str = option("me", help="Whose decisions are written; small letters, digits, underscores.")
    port: int = option(0, help="Port on 127.0.0.1; 0 takes a free one.", min=0, max=65535, role=Role.manner)
    read_only: bool = option(False, help="Show everything, write no decisions.")
    title: str | None = option(None, help="Name of the benchmark, on every page; default: the project's.")
