"""The files that select, certify and budget read, by the options that name them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kina_build.config import EngineRules
    from kina_build.selection.inputs import Inputs

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

    def _slots(self) -> list[Sequence[Path]]:
        single = (self.support, self.anchors, self.strata, self.quota)
        several = (self.conflicts, self.must, self.exclude)
        return [*([path] if path else [] for path in single), *(paths or () for paths in several)]


def levels(column: str, field: str) -> list[str]:
    """Return the fields that may name a label, the column first, then the field and what is coarser."""
    coarser = LEVELS[LEVELS.index(field) :] if field in LEVELS else (field,)
    return [column, *coarser]
