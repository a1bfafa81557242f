"""The generated half of the docs: pages made from commands, settings, records, rules and imports.

`python -m docs.generate` writes them below docs/generated, as the build of the docs does; they are
not kept in the repository, so that they cannot say anything else than the code.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from docs.generate import architecture, columns, commands, files, letters, library, project, settings

FOLDER = Path(__file__).resolve().parent.parent / "generated"

Pages = dict[str, str]
"""File name below the folder to text."""

MAKERS: tuple[Callable[[], Pages], ...] = (
    commands.pages,
    files.pages,
    settings.pages,
    project.pages,
    columns.pages,
    letters.pages,
    library.pages,
    architecture.pages,
)


def pages() -> Pages:
    """Make every generated page."""
    return {name: text for make in MAKERS for name, text in make().items()}


def write(folder: Path = FOLDER) -> list[Path]:
    """Write every page; files that nothing makes any more go. What is unchanged is not touched."""
    made = {folder / name: text for name, text in pages().items()}
    for path in [*folder.rglob("*")] if folder.is_dir() else []:
        if path.is_file() and path not in made:
            path.unlink()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return sorted(made)


def remove(folder: Path = FOLDER) -> None:
    """Take the generated pages away."""
    shutil.rmtree(folder, ignore_errors=True)
