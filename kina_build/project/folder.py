"""A project: its folder, its file, what the file says, and how it is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kina_build.config import CONFIG_NAME, Section, check_section, find_config, load_settings
from kina_build.errors import ConfigError, UsageError
from kina_build.project.table import ProjectTable, ReviewBatch
from kina_build.rows.source import is_stream

OWNED = ("ledger", "contests", "decisions")
"""Keys of a batch file that name artefacts: a project's have names of their own."""
PAID_LATER = ("payments", "provider", "payees", "cap", "paid_before", "since")
"""Keys of a batch file that only payments read, which are no stage: here they would do nothing."""


@dataclass(frozen=True)
class Project:
    """A project: its folder, its file, what the file says."""

    root: Path
    """Folder of kina.toml; all names are seen from here."""
    file: str
    """Name of the settings file in it."""
    table: ProjectTable
    batch: ReviewBatch | None = None
    """None: nothing is reviewed."""

    def expand(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the files that names and globs mean, each once; a name stays, whether it is there or not."""
        found: dict[str, None] = {}
        for name in names:
            globbed = any(sign in name for sign in "*?[")
            hits = (
                sorted(p.relative_to(self.root).as_posix() for p in self._glob(name)) if globbed else [name]
            )
            found.update(dict.fromkeys(hits))
        return tuple(found)

    def _glob(self, name: str) -> list[Path]:
        try:
            return list(self.root.glob(name))
        except (ValueError, NotImplementedError) as error:
            raise ConfigError(f"{self.file}: {name!r} is no pattern of file names: {error}") from None


def find_project(config: Path | None = None) -> Project | None:
    """Return the project of the folder we are in; None where no kina.toml has a table [project].

    Raises:
        ConfigError: an unreadable file, an unknown key or a bad value.
        UsageError: a pipe, which stands in no folder.
    """
    if config is not None and is_stream(config):
        raise UsageError(
            f"{config}: a project has a folder, and a pipe has none", hint="name kina.toml itself"
        )
    found = config or find_config(Path.cwd())
    if found is None:
        return None
    settings = load_settings(found)
    if not settings.project:
        return None
    table = check_section(_Page, {"project": settings.project}, str(found)).project
    batch = settings.review.get("batch")
    return Project(found.parent, found.name, table, None if batch is None else _batch(batch, str(found)))


def need_project(config: Path | None = None) -> Project:
    """Return the project of the folder we are in.

    Raises:
        UsageError: there is none.
        ConfigError: as find_project.
    """
    project = find_project(config)
    if project is None:
        raise UsageError(
            f"there is no project here: no {CONFIG_NAME} with a table [project] in this folder or above",
            hint="kina init FILES... writes one",
        )
    return project


class _Review(Section):
    batch: ReviewBatch


class _ReviewPage(Section):
    review: _Review


class _Page(Section):
    project: ProjectTable


def _batch(table: Any, origin: str) -> ReviewBatch:
    batch = check_section(_ReviewPage, {"review": {"batch": table}}, origin).review.batch
    for keys, why, hint in (
        (OWNED, "the project names this file itself", "leave the line out"),
        (
            PAID_LATER,
            "no stage of a project pays",
            "kina review pay takes it",
        ),
    ):
        for key in keys:
            if getattr(batch, key) not in (None, ()):
                raise ConfigError(f"{origin}: review.batch.{key}: {why}", hint=hint)
    return batch
