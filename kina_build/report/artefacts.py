"""What a report is made from: the files of one folder, each there or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from kina_build.dedup.records import Duplicates
from kina_build.errors import InputError, UsageError
from kina_build.items.model import Item
from kina_build.items.pool import read_pool
from kina_build.ranking.itemanalysis import ItemFigures
from kina_build.ranking.leaderboard import Leaderboard
from kina_build.release.record import ReleaseRecord
from kina_build.report.find import FILES
from kina_build.report.rows import (
    AnchorRow,
    ContestRow,
    DecisionRow,
    DoubtRow,
    FindingRow,
    FunnelRow,
    PatchRow,
    Payout,
    ReviewRow,
    ScoreRow,
)
from kina_build.rows.jsonl import iter_rows, read_document, read_json, read_own_records
from kina_build.selection.reading import read_selection
from kina_build.selection.records import Selection
from kina_build.support.matrix import SupportMatrix
from kina_build.support.npz import read_support

Record = TypeVar("Record", bound=BaseModel)


@dataclass(frozen=True)
class Artefacts:
    """The artefacts found; a part is None where its file is absent."""

    pool: tuple[Item, ...] | None = None
    patches: tuple[PatchRow, ...] | None = None
    findings: tuple[FindingRow, ...] | None = None
    duplicates: Duplicates | None = None
    support: SupportMatrix | None = None
    selection: Selection | None = None
    certificate: dict[str, Any] | None = None
    triage: tuple[DoubtRow, ...] | None = None
    anchors: tuple[AnchorRow, ...] | None = None
    reviews: tuple[ReviewRow, ...] | None = None
    decisions: tuple[DecisionRow, ...] | None = None
    contests: tuple[ContestRow, ...] | None = None
    payout: Payout | None = None
    release: ReleaseRecord | None = None
    released: Mapping[str, str] = field(default_factory=dict)
    """Split of each released item."""
    private_ids: frozenset[str] = frozenset()
    """Items whose answers the release keeps apart: their keys are shown nowhere."""
    scores: tuple[ScoreRow, ...] | None = None
    leaderboard: Leaderboard | None = None
    item_figures: tuple[ItemFigures, ...] | None = None
    funnel: tuple[FunnelRow, ...] | None = None
    """Of a project: what `kina status` prints; a folder that is none has its steps counted."""

    @property
    def empty(self) -> bool:
        """Tell whether nothing was found."""
        return not any(getattr(self, one.name) is not None for one in fields(self) if one.default is None)


ROWS: Mapping[str, type[BaseModel]] = {
    "patches": PatchRow,
    "findings": FindingRow,
    "triage": DoubtRow,
    "anchors": AnchorRow,
    "reviews": ReviewRow,
    "decisions": DecisionRow,
    "contests": ContestRow,
    "scores": ScoreRow,
    "item_figures": ItemFigures,
}
"""Parts that are rows, and what is read of each."""


def read_artefacts(files: Mapping[str, Path], payout: Payout | None = None) -> Artefacts:
    """Read the artefacts of one flow; absent ones are None, malformed ones are errors.

    Args:
        files: part to file, as find_files gives it.
        payout: totals of the ledger, which another room reads.

    Raises:
        InputError: a file that is there but cannot be read, named with line and field.
    """
    release = files.get("release")
    pool = files.get("pool")
    support = files.get("support")
    selection = files.get("selection")
    duplicates = files.get("duplicates")
    board = files.get("leaderboard")
    certificate = files.get("certificate")
    record = read_document(release / "release.json", ReleaseRecord) if release else None
    released = _released(release, record) if release and record else {}
    rows = {part: _rows(files, part, model) for part, model in ROWS.items()}
    return Artefacts(
        pool=tuple(read_pool(pool)) if pool else None,
        duplicates=read_document(duplicates, Duplicates) if duplicates else None,
        support=read_support(support) if support else None,
        selection=read_selection(selection) if selection else None,
        certificate=_object(certificate) if certificate else None,
        payout=payout,
        release=record,
        released=released,
        private_ids=_private_ids(released, record) if record else frozenset(),
        leaderboard=read_document(board, Leaderboard) if board else None,
        **rows,  # type: ignore[arg-type]
    )


def gather_artefacts(parts: Mapping[str, Any]) -> Artefacts:
    """Gather artefacts that are at hand: each one its file, or its record or records.

    Args:
        parts: name of a part of Artefacts to a path, a record, or records; None is absent. A release
            in memory is a NewRelease: it knows which answers are private. A settlement brings its
            decisions and contests.

    Raises:
        InputError: a file that cannot be read.
        UsageError: a part that no report has.
    """
    given = {name: part for name, part in parts.items() if part is not None}
    settlement = given.pop("settlement", None)
    if settlement is not None:
        given |= {"decisions": settlement.decisions, "contests": settlement.contests}
    unknown = sorted(given.keys() - FILES.keys() - {"payout"})
    if unknown:
        raise UsageError(f"a report has no part {unknown[0]}", hint=f"it has {', '.join(FILES)}")
    named = {name: Path(part) for name, part in given.items() if isinstance(part, str | Path)}
    held = {name: _held(name, part) for name, part in given.items() if name not in named}
    if "release" in held:
        held |= {name: getattr(given["release"], name) for name in ("released", "private_ids")}
    return replace(read_artefacts(named), **held)


INSIDE = {"support": "matrix", "scores": "rows"}
"""Attribute of a result of the library that holds what the file would."""


def _held(name: str, part: Any) -> Any:
    """Take a part that is in memory: of rows only what the pages show."""
    model = ROWS.get(name)
    part = getattr(part, INSIDE[name], part) if name in INSIDE else part
    if model is not None:
        return tuple(model.model_validate(row, from_attributes=True) for row in part)
    if name == "release":
        return part.record
    return tuple(part) if name == "pool" else part


def _rows(files: Mapping[str, Path], part: str, model: type[Record]) -> tuple[Record, ...] | None:
    path = files.get(part)
    if path is None:
        return None
    # no findings is a result too: an empty file says so
    return tuple(read_own_records(path, model))


def _object(path: Path) -> dict[str, Any]:
    document = read_json(path)
    if not isinstance(document, dict):
        raise InputError(f"{path}: not a JSON object")
    return document


def _released(release: Path, record: ReleaseRecord) -> dict[str, str]:
    splits = [name for name, split in record.counts.items() if split.items]
    return {str(row.get("id")): name for name in splits for _, row in iter_rows(release / f"{name}.jsonl")}


def _private_ids(released: Mapping[str, str], record: ReleaseRecord) -> frozenset[str]:
    return frozenset(item_id for item_id, split in released.items() if record.counts[split].private)
