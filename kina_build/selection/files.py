"""The files that select, certify, top-up and budget read: by the options, or by the selection.json."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kina_build.config import EngineRules
from kina_build.errors import UsageError
from kina_build.selection.inputs import Inputs, read_conflicts, read_decisions, read_ids, read_quotas
from kina_build.selection.labels import levels, read_labels
from kina_build.selection.options import CertifyOptions, SelectOptions
from kina_build.selection.posing import budget_sizes
from kina_build.selection.records import Eligible, NamedFile, Quota, Read
from kina_build.selection.sharing.balance import balance, read_difficulty, read_rule
from kina_build.selection.sharing.draw import proportional
from kina_build.support.rows import load_support

STREAM = "-"

PROPORTIONAL = Path("proportional")
"""Stands for a rule where a quota file is named."""

ROLES = (
    "support",
    "anchors",
    "strata",
    "quota",
    "conflicts",
    "must",
    "exclude",
    "decisions",
    "keep",
    "difficulty",
)
"""What the files are, in the order in which they are read."""


@dataclass(frozen=True)
class Files:
    """The files of a selection, as the options or a document name them."""

    support: Path
    anchors: Path | None = None
    strata: Path | None = None
    quota: Path | None = None
    conflicts: Sequence[Path] | None = None
    must: Sequence[Path] | None = None
    exclude: Sequence[Path] | None = None
    by: str = "subfield"
    domain_by: str = "field"
    decisions: Path | None = None
    keep: Path | None = None
    """An earlier selection whose items stay, as far as the decisions let them."""
    eligible: Eligible = "all"
    """What decisions allow."""
    difficulty: Path | None = None
    """How hard the items are."""
    balance: str | None = None
    """The rule that cuts strata into bins of difficulty."""

    @property
    def paths(self) -> list[Path]:
        """List the files that were given."""
        return [path for slot in self._slots() for path in slot]

    @property
    def params(self) -> dict[str, Any]:
        """Say which options were given: equal files in other roles are another job."""
        given = [len(slot) if len(slot) > 1 else bool(slot) for slot in self._slots()]
        found = {"given": given, "by": self.by, "domain_by": self.domain_by}
        more = {"quota": "proportional"} if self.is_proportional else {}
        more |= {} if self.balance is None else {"balance": self.balance}
        return found | more | ({} if self.decisions is None else {"eligible": self.eligible})

    @property
    def is_proportional(self) -> bool:
        """Tell whether --quota names the rule and not a file."""
        return self.quota == PROPORTIONAL

    def read(self, conflict_mode: Any, engine: EngineRules, size: int | None = None) -> Inputs:
        """Read every file that was given.

        Args:
            conflict_mode: clusters or pairwise.
            engine: says how much memory scores may take, and whether workers elsewhere read them.
            size: items to take, which proportional quotas need.
        """
        quotas = read_quotas(self.quota) if self.quota and not self.is_proportional else ()
        by_domain = self.strata is not None and bool(set(budget_sizes(quotas)) - {""})
        exclude = read_ids(self.exclude) if self.exclude else frozenset[str]()
        inputs = Inputs(
            matrix=load_support(
                self.support, self.anchors, memory_mb=engine.memory_mb, shared=engine.kind == "ray"
            ),
            strata=read_labels(self.strata, *levels("stratum", self.by)) if self.strata else None,
            domains=read_labels(self.strata, *levels("domain", self.domain_by))
            if self.strata and by_domain
            else None,
            quotas=quotas,
            conflicts=read_conflicts(self.conflicts, exclude) if self.conflicts else (),
            conflict_mode=conflict_mode,
            must=read_ids(self.must, "--must") if self.must else frozenset(),
            exclude=exclude,
        )
        inputs = self._decided(inputs)
        if self.balance is not None or self.difficulty is not None:
            return self._balanced(inputs, size)
        return replace(inputs, quotas=_proportional(inputs, size)) if self.is_proportional else inputs

    def _balanced(self, inputs: Inputs, size: int | None) -> Inputs:
        """Cut the strata into bins of difficulty; proportional quotas are then those of the bins."""
        if self.balance is None or self.difficulty is None:
            raise UsageError("--balance difficulty:N and --difficulty FILE go together")
        return balance(inputs, read_difficulty(self.difficulty), read_rule(self.balance), size)

    def _decided(self, inputs: Inputs) -> Inputs:
        """Leave only what the decisions allow, and keep what an earlier selection holds of it."""
        if self.decisions is None:
            return inputs
        decided = read_decisions(self.decisions)
        if self.eligible == "accepted":
            open_ids = frozenset(i for i, decision in decided.items() if decision == "accept")
        else:
            open_ids = frozenset(i for i in inputs.matrix.item_ids if decided.get(i, "accept") == "accept")
        kept = read_ids(self.keep, "--keep") & open_ids if self.keep else frozenset()
        return replace(inputs, accepted=open_ids, must=inputs.must | kept)

    def named(self, folder: Path) -> Read:
        """Return the files by role, relative to a folder, so that a reader finds them again."""
        files = [
            NamedFile(role=role, name=_name(path, folder))
            for role, slot in zip(ROLES, self._slots(), strict=False)
            for path in slot
        ]
        if self.is_proportional:
            files.append(NamedFile(role="quota", name=str(PROPORTIONAL)))
        if self.balance is not None:
            files.append(NamedFile(role="balance", name=self.balance))
        by = (self.by, self.domain_by) if self.strata else ("", "")
        return Read(tuple(files), "all" if self.decisions is None else self.eligible, *by)

    def _slots(self) -> list[Sequence[Path]]:
        single = (self.support, self.anchors, self.strata, None if self.is_proportional else self.quota)
        several = (self.conflicts, self.must, self.exclude)
        # what few commands read comes last and only as far as it is given: digests of other runs stay
        late = [[path] if path else [] for path in (self.decisions, self.keep, self.difficulty)]
        while late and not late[-1]:
            late.pop()
        return [*([path] if path else [] for path in single), *(paths or () for paths in several), *late]


def _proportional(inputs: Inputs, size: int | None) -> tuple[Quota, ...]:
    """Return each stratum's share of the eligible items, rounded down and up.

    Raises:
        UsageError: no strata, or no number of items.
    """
    if inputs.strata is None or size is None:
        raise UsageError("--quota proportional needs --strata and -k")
    open_ids = (i for i in inputs.matrix.item_ids if i not in inputs.closed)
    return proportional(size, Counter(inputs.strata[i] for i in open_ids if i in inputs.strata))


def _name(path: Path, folder: Path) -> str:
    """Return a path relative to a folder; "-" for what is no file that stays."""
    whole = path.resolve()
    if not (whole.is_file() or whole.is_dir()):
        return STREAM
    return Path(os.path.relpath(whole, folder.resolve())).as_posix()


def files_of_options(options: SelectOptions | CertifyOptions, support: Path) -> Files:
    """Return the files that options name."""
    return Files(
        support=support,
        anchors=options.anchors,
        strata=options.strata,
        quota=options.quota,
        conflicts=options.conflicts,
        must=options.must,
        exclude=options.exclude,
        by=options.by,
        domain_by=options.domain_by,
        decisions=options.decisions,
        difficulty=options.difficulty,
        balance=options.balance,
    )


def files_to_select(options: SelectOptions) -> Files:
    """Return the files of `kina select`: with decisions, only what reviewers accepted is eligible."""
    files = files_of_options(options, options.support)
    return files if options.decisions is None else replace(files, eligible="accepted")
