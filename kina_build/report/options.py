"""What `kina report` takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kina_build.options import Role, argument, option


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Options of `kina report`."""

    folder: Path = argument(
        "Folder with the flow's files: pool.jsonl, leaderboard.json, ...", role=Role.manner
    )
    output: Path = option(Path("report"), "-o", help="Folder for the pages.", role=Role.folder)
    title: str = option("Knowledge benchmark", help="Name of the benchmark, on every page.")
    hide_keys: bool = option(False, help="Show no right answers on item pages.")
