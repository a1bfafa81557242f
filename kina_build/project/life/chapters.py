"""What each artefact of a project says of each item: one chapter of all lives a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from kina_build.dedup.contamination.records import Contamination
from kina_build.dedup.records import Duplicates
from kina_build.items.checking.rule import Finding
from kina_build.items.importing.files import find_rows
from kina_build.items.pool import read_pool
from kina_build.project.eligible import LeftOut
from kina_build.project.folder import Project
from kina_build.project.graph import stages
from kina_build.project.graph.pool import import_options
from kina_build.project.life.picks import tell_picks, tell_support
from kina_build.project.table import Source
from kina_build.project.waiting import Doubt
from kina_build.release.record import ReleaseRecord
from kina_build.release.splits import RECORD
from kina_build.report.rows import ScoreRow
from kina_build.rows.jsonl import iter_rows, read_any_records, read_document, read_own_records, read_records
from kina_review.records import Assignment, Contest, Decision

Told = Iterator[tuple[str, str]]
"""Item and sentence; under REST what is said of every item that is not named."""
REST = ""
ITEMS = "pool"
"""The chapter that holds the items themselves."""


@dataclass(frozen=True)
class Chapter:
    """What some files say of every item."""

    stage: str
    """Under which it is told."""
    reads: tuple[Path, ...]
    tell: Callable[[], Told] = field(repr=False)
    told: Any = None
    """What shapes it beside the files."""


def find_chapters(project: Project) -> Iterator[Chapter]:
    """Yield the chapters of a project in the order of the flow; files that are not there say nothing."""
    root = project.root
    if (root / stages.POOL).exists():
        yield Chapter(ITEMS, (root / stages.POOL,), partial(_items, root / stages.POOL))
    for source in project.table.source:
        files = tuple(path for name in project.expand(source.files) if (path := root / name).exists())
        yield Chapter("import", files, partial(_imported, root, files, source), source.model_dump())
    for name, stage, tell, *others in TELLERS:
        if (root / name).exists():
            more = tuple(path for other in others if (path := root / str(other)).exists())
            yield Chapter(stage, (*_files(root / name), *more), partial(tell, root / name))


def _files(path: Path) -> Sequence[Path]:
    """Return a file, or of a release what its items are read from."""
    return [*sorted(path.glob("*.jsonl")), path / RECORD] if path.is_dir() else [path]


def _items(path: Path) -> Told:
    for item in read_pool(path):
        yield item.item_id, item.model_dump_json()


def _imported(root: Path, files: Sequence[Path], source: Source) -> Told:
    for item_id, places in find_rows(files, import_options(source)).items():
        for place in places:
            yield item_id, f"row {place.removeprefix(f'{root}/')}"


def _findings(path: Path) -> Told:
    for one in read_any_records(path, Finding):
        yield one.item_id, f"{one.severity}: {one.rule}: {one.message}"


def _copies(path: Path) -> Told:
    found = read_document(path, Duplicates)
    for gone in found.dropped:
        stays = f"; {gone.kept_id} stays" if gone.kept_id else ""
        yield gone.item_id, f"dropped ({gone.rule}): {gone.reason}{stays}"
        if gone.kept_id:
            yield gone.kept_id, f"stays for its copy {gone.item_id}"
    for held in found.held:
        yield held.item_id, f"held: {held.reason} ({', '.join(held.other_ids)})"
    for pair in found.pairs:
        cosine = "" if pair.cosine is None else f", cosine {pair.cosine:.2f}"
        for one, other in ((pair.item_id, pair.other_id), (pair.other_id, pair.item_id)):
            yield one, f"{pair.status} of {other}{cosine}: {pair.reason}"


def _elsewhere(path: Path) -> Told:
    for hit in read_document(path, Contamination).hits:
        yield hit.item_id, f"{hit.finding}: {hit.corpus}, {hit.other_id}: {hit.reason}"


def _doubted(path: Path) -> Told:
    for one in read_any_records(path, Doubt):
        told = f"{one.rival_votes} of {one.voters} strong models say {one.rival}, {one.key_votes} the key"
        yield one.item_id, f"{told} ({', '.join(one.flags)})"


def _assigned(path: Path) -> Told:
    people: dict[str, list[str]] = {}
    for one in read_records(path, Assignment):
        people.setdefault(one.item_id, []).append(one.reviewer_id)
    for item_id, given in people.items():
        yield item_id, f"given to {', '.join(given)}"


def _contested(path: Path) -> Told:
    for one in read_any_records(path, Contest):
        scores = ", ".join(f"{who} {score}" for who, score in one.scores.items())
        yield one.item_id, f"contest {one.status}" + (f": {scores}" if scores else "")


def _judged(path: Path) -> Told:
    for one in read_any_records(path, Decision):
        opinions = ", ".join(f"{who}: {said}" for who, said in one.opinions.items())
        yield one.item_id, f"{one.decision}: {one.reason}" + (f" ({opinions})" if opinions else "")


def _left_out(path: Path) -> Told:
    told: set[str] = set()
    for step in read_document(path, LeftOut).steps:
        for item_id in step.items.keys() - told:
            yield item_id, f"left out as {step.step}: {step.items[item_id]}"
        told |= step.items.keys()
    yield REST, "eligible"


def _released(path: Path) -> Told:
    record = read_document(path / RECORD, ReleaseRecord)
    for gone in record.withheld:
        yield gone.item_id, f"withheld: {gone.reason}"
    for split in record.counts:
        file = path / f"{split}.jsonl"
        for line, row in iter_rows(file) if file.exists() and file.stat().st_size else ():
            key = "kept apart" if row.get("answer") is None else str(row["answer"])
            yield str(row.get("id")), f"{record.name} {record.version}, {file.name}:{line}, key {key} there"


def _answered(path: Path) -> Told:
    scores: dict[str, dict[str, float | None]] = {}
    for row in read_own_records(path, ScoreRow):
        scores.setdefault(row.item_id, {})[row.model] = row.score
    for item_id, by in scores.items():
        yield item_id, f"score by model: {_list_scores(by)}"


def _list_scores(by: Mapping[str, float | None]) -> str:
    return ", ".join(f"{model} {'-' if one is None else f'{one:g}'}" for model, one in by.items())


Teller = Callable[[Path], Told]
BEHIND = (stages.LEFT_OUT, stages.SUPPORT, stages.DUPLICATES)
"""What says why an item was not selected."""
TELLERS: tuple[tuple[str, str, Teller, *tuple[str, ...]], ...] = (
    (stages.FINDINGS, "check", _findings),
    (stages.DUPLICATES, "dedup", _copies),
    (stages.CONTAMINATION, "contamination", _elsewhere),
    (stages.TRIAGE, "triage", _doubted),
    (stages.SUPPORT, "support", tell_support),
    (stages.ASSIGNMENTS, "assign", _assigned),
    (stages.CONTESTS, "settle", _contested),
    (stages.DECISIONS, "settle", _judged),
    (stages.LEFT_OUT, "leave-out", _left_out),
    (stages.SELECTION, "select", tell_picks, *BEHIND),
    (stages.TOPPED, "top-up", tell_picks, *BEHIND),
    (stages.RELEASE, "export", _released),
    (stages.SCORES, "score", _answered),
)
"""Artefact, the stage it is told under, what tells of it, and what else that reads."""
