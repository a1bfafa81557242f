"""What a report is made from: the files of one folder, each there or not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from kina_build.dedup.records import Duplicates
from kina_build.errors import InputError
from kina_build.items.model import Item
from kina_build.items.pool import read_pool
from kina_build.jsonl import iter_rows, read_document, read_json, read_records
from kina_build.ranking.itemanalysis import ItemFigures
from kina_build.ranking.leaderboard import Leaderboard
from kina_build.release.record import ReleaseRecord
from kina_build.selection.reading import read_selection
from kina_build.selection.records import Selection
from kina_build.support.matrix import SupportMatrix
from kina_build.support.npz import read_support

Record = TypeVar("Record", bound=BaseModel)


class FindingRow(BaseModel):
    """One finding of `kina check`, as far as pages show it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str | None = None
    """None for a finding on the pool as a whole."""
    rule: str
    severity: str
    message: str


class DecisionRow(BaseModel):
    """What became of an item in review."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str
    decision: str
    reason: str = ""


class ContestRow(BaseModel):
    """How a contest of two reviews ended; who took part is not read."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str
    status: str
    tied: bool = False


class ScoreRow(BaseModel):
    """One model's score on one item."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    item_id: str
    model: str
    score: float | None = None


class PayoutLine(BaseModel):
    """Lines of the ledger of one kind, summed: no person is named."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    lines: int
    amount: str
    """In major units, with the currency's decimals."""


class Payout(BaseModel):
    """Totals of the ledger."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    currency: str
    totals: tuple[PayoutLine, ...]
    head: str
    """Count and hash of the ledger's last line."""


@dataclass(frozen=True)
class Artefacts:
    """The artefacts found; a part is None where its file is absent."""

    pool: tuple[Item, ...] | None = None
    findings: tuple[FindingRow, ...] | None = None
    duplicates: Duplicates | None = None
    support: SupportMatrix | None = None
    selection: Selection | None = None
    certificate: dict[str, Any] | None = None
    decisions: tuple[DecisionRow, ...] | None = None
    contests: tuple[ContestRow, ...] | None = None
    payout: Payout | None = None
    release: ReleaseRecord | None = None
    private_ids: frozenset[str] = frozenset()
    """Items whose answers the release keeps apart: their keys are shown nowhere."""
    scores: tuple[ScoreRow, ...] | None = None
    leaderboard: Leaderboard | None = None
    item_figures: tuple[ItemFigures, ...] | None = None

    @property
    def empty(self) -> bool:
        """Tell whether nothing was found."""
        given = {name: value for name, value in vars(self).items() if name != "private_ids"}
        return all(value is None for value in given.values())


FILES = {
    "pool": "pool.jsonl",
    "findings": "findings.jsonl",
    "duplicates": "duplicates.json",
    "support": "support.npz",
    "selection": "selection.json",
    "certificate": "certificate.json",
    "decisions": "decisions.jsonl",
    "contests": "contests.jsonl",
    "release": "release",
    "scores": "scores.jsonl",
    "leaderboard": "leaderboard.json",
    "item_figures": "item_analysis.jsonl",
}
"""Part to its name in the folder, in the order of the flow."""


def find_files(folder: Path) -> dict[str, Path]:
    """Return the artefacts that a folder holds.

    Raises:
        InputError: no such folder.
    """
    if not folder.is_dir():
        raise InputError(
            f"{folder}: no such folder", hint="give the folder that holds pool.jsonl and the rest"
        )
    return {part: folder / name for part, name in FILES.items() if (folder / name).exists()}


def read_artefacts(files: dict[str, Path], payout: Payout | None = None) -> Artefacts:
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
    return Artefacts(
        pool=tuple(read_pool(pool)) if pool else None,
        findings=_rows(files, "findings", FindingRow),
        duplicates=read_document(duplicates, Duplicates) if duplicates else None,
        support=read_support(support) if support else None,
        selection=read_selection(selection) if selection else None,
        certificate=_object(certificate) if certificate else None,
        decisions=_rows(files, "decisions", DecisionRow),
        contests=_rows(files, "contests", ContestRow),
        payout=payout,
        release=record,
        private_ids=_private_ids(release, record) if release and record else frozenset(),
        scores=_rows(files, "scores", ScoreRow),
        leaderboard=read_document(board, Leaderboard) if board else None,
        item_figures=_rows(files, "item_figures", ItemFigures),
    )


def _rows(files: dict[str, Path], part: str, model: type[Record]) -> tuple[Record, ...] | None:
    path = files.get(part)
    if path is None:
        return None
    # no findings is a result too: an empty file says so
    return tuple(read_records(path, model)) if path.stat().st_size else ()


def _object(path: Path) -> dict[str, Any]:
    document = read_json(path)
    if not isinstance(document, dict):
        raise InputError(f"{path}: not a JSON object")
    return document


def _private_ids(release: Path, record: ReleaseRecord) -> frozenset[str]:
    private = [name for name, split in record.counts.items() if split.private and split.items]
    return frozenset(
        str(row.get("id")) for name in private for _, row in iter_rows(release / f"{name}.jsonl")
    )
