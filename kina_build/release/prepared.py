"""A release that is planned, then made in memory, then written as a folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kina_build.config import ReleaseRules
from kina_build.release.build import Release, make_release
from kina_build.release.files.write import publish, publish_answers
from kina_build.release.folder import answers_file
from kina_build.release.plan import Past, Plan
from kina_build.release.proof.evidence import Salt, Sources
from kina_build.release.proof.pool_error import state_error
from kina_build.release.record import ReleaseRecord


@dataclass(frozen=True)
class Prepared:
    """A release that is planned: made and written once no gate stands in its way."""

    plan: Plan
    sources: Sources
    """What its figures are derived from."""
    rules: ReleaseRules = field(default_factory=ReleaseRules)

    @property
    def report(self) -> dict[str, Any]:
        """Return the gates that stand in the way and the items withheld, as plain values."""
        return {
            "items": sum(map(len, self.plan.items.values())),
            "gates": [fault.model_dump(mode="json") for fault in self.plan.faults],
            "withheld": [one.model_dump() for one in self.plan.withheld],
        }

    def make(self) -> NewRelease:
        """Make the release in memory.

        Raises:
            Refusal: as build.make_release, or an estimator of other items than those released.
        """
        made = make_release(self.plan, self.rules)
        return NewRelease(state_error(made, self.sources.estimator), self.sources, self.plan.past)


@dataclass(frozen=True)
class NewRelease:
    """A release in memory, with what its figures are derived from when it is written."""

    made: Release
    sources: Sources
    past: Past | None = None

    @property
    def record(self) -> ReleaseRecord:
        """Return the manifest, without what only the written files tell."""
        return self.made.record

    @property
    def released(self) -> dict[str, str]:
        """Return the split of each item."""
        return {row.id: split for split, rows in self.made.rows.items() for row in rows}

    @property
    def private_ids(self) -> frozenset[str]:
        """Return the items whose answers are kept apart."""
        counts = self.record.counts
        return frozenset(item_id for item_id, split in self.released.items() if counts[split].private)

    @property
    def report(self) -> dict[str, Any]:
        """Return what is released, as `kina export` tells it; the figures follow when it is written."""
        return describe(self.made.record, self.made)

    def __str__(self) -> str:
        record = self.made.record
        splits = ", ".join(f"{count.items} {split}" for split, count in record.counts.items())
        return f"{record.title}, version {record.version}: {splits}; {len(record.withheld)} withheld"

    def write(
        self,
        target: str | Path,
        *,
        answers: str | Path | None = None,
        salt: Salt | None = None,
        overwrite: bool = False,
    ) -> ReleaseRecord:
        """Write the release folder whole, or leave what stood there.

        Args:
            target: the folder; an unchanged earlier release in it is replaced.
            answers: file of the private answers; default: beside the folder.
            salt: of hidden ids; default: kina.salt beside the folder, made at its first use.
            overwrite: replace files of an earlier release that were edited since.

        Returns:
            The manifest as written, with the figures.

        Raises:
            UsageError: the folder holds something that would be lost.
            InputError: the place cannot be written.
            Refusal: the evidence is large, and nobody said how much of it shall travel.
        """
        folder = Path(target)
        private = any(count.private for count in self.made.record.counts.values())
        secret = answers_file(folder, Path(answers) if answers else None) if private else None
        record = publish(self.made, folder, self.past, self.sources, salt=salt, overwrite=overwrite)
        if secret:
            publish_answers(self.made, secret)
        return record


def describe(record: ReleaseRecord, made: Release) -> dict[str, Any]:
    """Return what is released, as plain values."""
    return {
        "version": record.version,
        "content_hash": record.content_hash,
        "canary": record.canary,
        "items": sum(count.items for count in record.counts.values()),
        "splits": {split: count.model_dump(mode="json") for split, count in record.counts.items()},
        "withheld": [one.model_dump() for one in record.withheld],
        "gates": [],
        "exemptions": [one.model_dump(mode="json") for one in record.exemptions],
        "figures": record.figures,
        **({"pool_error": record.pool_error.model_dump(mode="json")} if record.pool_error else {}),
        "letters": record.letters.model_dump(mode="json"),
        "difference": made.difference.model_dump(mode="json") if made.difference else None,
    }
