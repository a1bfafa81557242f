"""The report's folder on disk: pages of an earlier report go, anything else is left alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from kina_build.claims import make_folder
from kina_build.errors import UsageError
from kina_build.jsonl import write_text

MARK = "Made by kina-build"
"""Stands in the footer of every page."""

OUR_PAGES = re.compile(r"(index|pool|duplicates|coverage|review|release|leaderboard|items-\d+)\.html")


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
