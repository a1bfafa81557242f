"""The files that select, certify and budget read, by the options that name them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kina_build.config import EngineRules
    from kina_build.selection.certificate import Read
    from kina_build.selection.inputs import Inputs
    from kina_build.selection.records import Selection

STREAM = "-"

LEVELS = ("subfield", "field", "discipline")
"""Taxonomy, fine to coarse: an item without a subfield counts under its field."""


@dataclass(frozen=True)
class Files:
    """Paths as the options give them."""

    support: Path
    anchors: Path | None = None
    strata: Path | None = None
    quota: Path | None = None
    conflicts: Sequence[Path] | None = None
    must: Sequence[Path] | None = None
    exclude: Sequence[Path] | None = None
    by: str = "subfield"
    domain_by: str = "field"

    @property
    def paths(self) -> list[Path]:
        """List the files that were given."""
        return [path for slot in self._slots() for path in slot]

    @property
    def params(self) -> dict[str, Any]:
        """Say which options were given: equal files in other roles are another job."""
        given = [len(slot) if len(slot) > 1 else bool(slot) for slot in self._slots()]
        return {"given": given, "by": self.by, "domain_by": self.domain_by}

    def read(self, conflict_mode: Any, engine: EngineRules) -> Inputs:
        """Read every file that was given.

        Args:
            conflict_mode: clusters or pairwise.
            engine: says how much memory scores may take, and whether workers elsewhere read them.
        """
        from kina_build.selection.inputs import Inputs, read_conflicts, read_ids, read_quotas
        from kina_build.selection.labels import read_labels
        from kina_build.selection.posing import budget_sizes
        from kina_build.support.rows import load_support

        quotas = read_quotas(self.quota) if self.quota else ()
        by_domain = self.strata is not None and bool(set(budget_sizes(quotas)) - {""})
        return Inputs(
            matrix=load_support(
                self.support, self.anchors, memory_mb=engine.memory_mb, shared=engine.kind == "ray"
            ),
            strata=read_labels(self.strata, *levels("stratum", self.by)) if self.strata else None,
            domains=read_labels(self.strata, *levels("domain", self.domain_by))
            if self.strata and by_domain
            else None,
            quotas=quotas,
            conflicts=read_conflicts(self.conflicts) if self.conflicts else (),
            conflict_mode=conflict_mode,
            must=read_ids(self.must, "--must") if self.must else frozenset(),
            exclude=read_ids(self.exclude) if self.exclude else frozenset(),
        )

    def named(self, folder: Path) -> Read:
        """Return the files by role, relative to a folder, so that a reader finds them again."""
        from kina_build.selection.certificate import Read
        from kina_build.selection.records import NamedFile

        names = ("support", "anchors", "strata", "quota", "conflicts", "must", "exclude")
        files = [
            NamedFile(role=role, name=_name(path, folder))
            for role, slot in zip(names, self._slots(), strict=True)
            for path in slot
        ]
        by = (self.by, self.domain_by) if self.strata else ("", "")
        return Read(tuple(files), *by)

    def _slots(self) -> list[Sequence[Path]]:
        single = (self.support, self.anchors, self.strata, self.quota)
        several = (self.conflicts, self.must, self.exclude)
        return [*([path] if path else [] for path in single), *(paths or () for paths in several)]


def _name(path: Path, folder: Path) -> str:
    """Return a path relative to a folder; "-" for what is no file that stays."""
    whole = path.resolve()
    if not (whole.is_file() or whole.is_dir()):
        return STREAM
    return Path(os.path.relpath(whole, folder.resolve())).as_posix()


def find_files(document: Selection, folder: Path) -> Files:
    """Find the files that a selection.json names.

    Raises:
        UsageError: it names none, or one that was a stream.
        InputError: one is not there.
    """
    from kina_build.errors import InputError, UsageError

    found: dict[str, list[Path]] = {}
    for file in document.files:
        if Path(file.name).is_absolute():
            raise UsageError(f"the selection names {file.name!r}, which is no place beside it")
        if file.name == STREAM:
            raise UsageError(f"the selection read its {file.role} from a stream: give the files here")
        path = Path(os.path.normpath(folder / file.name))
        if not path.exists():
            raise InputError(
                f"{path}: no such file, but the selection names it as its {file.role}",
                hint="give the files as to `kina select`",
            )
        found.setdefault(file.role, []).append(path)
    if "support" not in found:
        raise UsageError("the selection names no files: give --support and the others as to `kina select`")
    one = {role: paths[0] for role, paths in found.items()}
    return Files(
        support=one["support"],
        anchors=one.get("anchors"),
        strata=one.get("strata"),
        quota=one.get("quota"),
        conflicts=found.get("conflicts"),
        must=found.get("must"),
        exclude=found.get("exclude"),
        by=document.by or "subfield",
        domain_by=document.domain_by or "field",
    )


def describe_files(files: Files, digests: Mapping[str, str], *, named: bool) -> list[dict[str, Any]]:
    """Return each kind of input with the files it was read from and the digest of its content."""
    source = {"anchors": "support", "domains": "strata"}
    names: dict[str, list[str]] = {}
    for file in files.named(Path()).files:
        names.setdefault(file.role, []).append(file.name)
    return [
        {
            "role": kind,
            "names": names.get(kind) or names.get(source.get(kind, ""), []),
            "sha256": digest,
            "said_by": "document" if named else "reader",
        }
        for kind, digest in digests.items()
    ]


def levels(column: str, field: str) -> list[str]:
    """Return the fields that may name a label, the column first, then the field and what is coarser."""
    coarser = LEVELS[LEVELS.index(field) :] if field in LEVELS else (field,)
    return [column, *coarser]
