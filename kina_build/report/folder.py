"""The report as a folder: pages of an earlier report go, anything else is left alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kina_build.errors import Refusal, UsageError
from kina_build.report.artefacts import Artefacts, gather_artefacts
from kina_build.report.site import render_site
from kina_build.rows.jsonl import write_text
from kina_build.rows.outputs import make_folder

MARK = "Made by kina-build"
"""Stands in the footer of every page."""


OUR_PAGES = re.compile(r"(index|pool|duplicates|coverage|review|release|leaderboard|search|items-\d+)\.html")


@dataclass(frozen=True)
class Report:
    """The pages that were written."""

    pages: tuple[str, ...]
    size_bytes: int

    @property
    def report(self) -> dict[str, Any]:
        """Return what was written, as plain values."""
        return {"pages": list(self.pages), "bytes": self.size_bytes}

    def __str__(self) -> str:
        return f"{len(self.pages)} pages, {self.size_bytes:,} bytes; open index.html in a browser"


def write_report(
    target: str | Path,
    artefacts: Artefacts | None = None,
    *,
    title: str = "Knowledge benchmark",
    hide_keys: bool = False,
    **parts: Any,
) -> Report:
    """Write static, self-contained pages about what a flow made.

    Args:
        target: folder for the pages; those of an earlier report there are replaced.
        artefacts: as read_artefacts gives them, where they were read from a folder.
        title: name of the benchmark, on every page.
        hide_keys: show no right answers.
        parts: the artefacts otherwise: pool, findings, duplicates, support, selection, certificate,
            decisions, contests, release, scores, leaderboard, item_figures; each its file, or its
            record or records.

    Raises:
        UsageError: the target holds something else than a report, or a part that no report has.
        InputError: a file that cannot be read, or a place that cannot be written.
        Refusal: there is nothing to show.
    """
    found = gather_artefacts(parts) if artefacts is None else artefacts
    if found.empty:
        raise Refusal("there is nothing to report on")
    site = render_site(found, title=title, keyed=not hide_keys)
    write_site(Path(target), site)
    return Report(tuple(sorted(site)), sum(len(html.encode()) for html in site.values()))


def write_site(target: Path, site: Mapping[str, str]) -> None:
    """Write the pages of a report, and remove those of an earlier one that it no longer has.

    Raises:
        UsageError: as check_target.
        InputError: the place cannot be written.
    """
    check_target(target)
    make_folder(target)
    for name, html in site.items():
        write_text(target / name, html)
    for page in target.glob("*.html"):
        if OUR_PAGES.fullmatch(page.name) and page.name not in site:
            page.unlink()


def check_target(target: Path) -> None:
    """Refuse to put a report over anything but a report.

    Raises:
        UsageError: the target is a file, or a folder that holds something else.
    """
    if target.is_file():
        raise UsageError(f"{target}: is a file, not a folder", hint="give a folder with -o")
    if not target.is_dir() or not any(target.iterdir()):
        return
    index = target / "index.html"
    if not index.is_file() or MARK not in index.read_text(encoding="utf-8", errors="replace"):
        raise UsageError(f"{target}: holds something else than a report", hint="give a new folder with -o")
