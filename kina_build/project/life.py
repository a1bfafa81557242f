"""The life of one item across all files of a project, from the row it stood on to who answered it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from kina_build.dedup.contamination.records import Contamination
from kina_build.dedup.reading import spread_edges
from kina_build.dedup.records import Duplicates
from kina_build.errors import UsageError
from kina_build.items.checking.rule import Finding
from kina_build.items.importing.files import find_rows
from kina_build.items.model import Item
from kina_build.items.pool import read_pool
from kina_build.project.decisions import Rulings, check_texts, read_rulings
from kina_build.project.eligible import LeftOut
from kina_build.project.folder import Project
from kina_build.project.funnel import read_selected
from kina_build.project.graph import stages
from kina_build.project.graph.pool import import_options
from kina_build.project.waiting import Doubt
from kina_build.release.record import ReleaseRecord
from kina_build.release.splits import RECORD
from kina_build.rows.jsonl import iter_rows, read_document, read_records
from kina_review.records import Assignment, Contest, Decision

ANCHORS_SHOWN = 3
"""Anchors that an item shows most of."""


class Event(BaseModel):
    """One thing that happened to an item."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: str
    what: str


def tell_life(project: Project, item_id: str) -> list[Event]:
    """Gather what every artefact says of an item; artefacts that are not there yet say nothing.

    Raises:
        UsageError: the pool has no such item.
        InputError: an artefact that cannot be read.
    """
    pool = project.root / stages.POOL
    items = {item.item_id: item for item in read_pool(pool)} if pool.exists() else {}
    if item_id not in items:
        import difflib

        near = difflib.get_close_matches(item_id, items, n=1)
        hint = f"did you mean {near[0]}?" if near else "kina status --items imported lists them"
        raise UsageError(f"{stages.POOL} has no item {item_id!r}", hint=hint)
    rulings = check_texts(read_rulings(project.root), items)
    life = list(_imported(project, items[item_id]))
    for name, stage, tell in TELLERS:
        if (project.root / name).exists():
            life += [Event(stage=stage, what=what) for what in tell(project.root / name, item_id)]
    life += [Event(stage="decided", what=what) for what in _decided(rulings, item_id)]
    return sorted(life, key=lambda event: ORDER.index(event.stage))


def _imported(project: Project, item: Item) -> Iterator[Event]:
    for source in project.table.source:
        files = [project.root / name for name in project.expand(source.files)]
        found = find_rows([path for path in files if path.exists()], import_options(source))
        for place in found.get(item.item_id, ()):
            yield Event(stage="import", what=f"row {str(place).removeprefix(f'{project.root}/')}")
    path = " > ".join(item.path)
    yield Event(
        stage="import",
        what=f"{item.question!r}, key {item.correct_answer}" + (f", in {path}" if path else ""),
    )


def _findings(path: Path, item_id: str) -> Iterator[str]:
    for one in read_records(path, Finding) if path.stat().st_size else ():
        if one.item_id == item_id:
            yield f"{one.severity}: {one.rule}: {one.message}"


def _copies(path: Path, item_id: str) -> Iterator[str]:
    found = read_document(path, Duplicates)
    for gone in found.dropped:
        if gone.item_id == item_id:
            yield f"dropped ({gone.rule}): {gone.reason}" + (
                f"; {gone.kept_id} stays" if gone.kept_id else ""
            )
        elif gone.kept_id == item_id:
            yield f"stays for its copy {gone.item_id}"
    for held in found.held:
        if held.item_id == item_id:
            yield f"held: {held.reason} ({', '.join(held.other_ids)})"
    for pair in found.pairs:
        if item_id in (pair.item_id, pair.other_id):
            other = pair.other_id if pair.item_id == item_id else pair.item_id
            cosine = "" if pair.cosine is None else f", cosine {pair.cosine:.2f}"
            yield f"{pair.status} of {other}{cosine}: {pair.reason}"


def _elsewhere(path: Path, item_id: str) -> Iterator[str]:
    for hit in read_document(path, Contamination).hits:
        if hit.item_id == item_id:
            yield f"{hit.finding}: {hit.corpus}, {hit.other_id}: {hit.reason}"


def _doubted(path: Path, item_id: str) -> Iterator[str]:
    for one in read_records(path, Doubt) if path.stat().st_size else ():
        if one.item_id == item_id:
            told = f"{one.rival_votes} of {one.voters} strong models say {one.rival}, {one.key_votes} the key"
            yield f"{told} ({', '.join(one.flags)})"


def _supported(path: Path, item_id: str) -> Iterator[str]:
    from kina_build.support.npz import read_support

    matrix = read_support(path)
    rows = matrix.rows([item_id])
    if not rows:
        yield "has no scores"
        return
    levels = [int(one) for one in matrix.levels[rows[0]]]
    best = sorted(range(len(levels)), key=lambda column: (-levels[column], matrix.anchor_ids[column]))
    told = [
        f"{matrix.anchor_ids[c]} {levels[c] / matrix.scale:.2f}" for c in best[:ANCHORS_SHOWN] if levels[c]
    ]
    yield f"shows most of: {', '.join(told)}" if told else "shows nothing of any anchor"


def _assigned(path: Path, item_id: str) -> Iterator[str]:
    people = [one.reviewer_id for one in read_records(path, Assignment) if one.item_id == item_id]
    if people:
        yield f"given to {', '.join(people)}"


def _contested(path: Path, item_id: str) -> Iterator[str]:
    for one in read_records(path, Contest) if path.stat().st_size else ():
        if one.item_id == item_id:
            scores = ", ".join(f"{who} {score}" for who, score in one.scores.items())
            yield f"contest {one.status}" + (f": {scores}" if scores else "")


def _judged(path: Path, item_id: str) -> Iterator[str]:
    for one in read_records(path, Decision) if path.stat().st_size else ():
        if one.item_id == item_id:
            opinions = ", ".join(f"{who}: {said}" for who, said in one.opinions.items())
            yield f"{one.decision}: {one.reason}" + (f" ({opinions})" if opinions else "")


def _decided(rulings: Rulings, item_id: str) -> Iterator[str]:
    torn = tuple(one for group in rulings.torn for one in group)
    groups = (("", rulings.holding), ("contradicted: ", torn), ("on another text: ", rulings.changed))
    for word, group in groups:
        for one in group:
            if item_id in one.subject:
                yield f"{word}{one.who} on {one.at:%Y-%m-%d}: {one.about}: {one.says}: {one.reason}"


def _left_out(path: Path, item_id: str) -> Iterator[str]:
    found = read_document(path, LeftOut)
    step = next((step for step in found.steps if item_id in step.items), None)
    yield "eligible" if step is None else f"left out as {step.step}: {step.items[item_id]}"


def _selected(path: Path, item_id: str) -> Iterator[str]:
    ids, gains = read_selected(path)
    if item_id in ids:
        at = ids.index(item_id)
        yield f"pick {at + 1} of {len(ids)}" + (f", gain {gains[at]:.4f}" if at < len(gains) else "")
        return
    yield f"not selected: {_why_not(path.parent, ids, item_id)}"


def _why_not(root: Path, ids: list[str], item_id: str) -> str:
    left = root / stages.LEFT_OUT
    if left.exists() and item_id in read_document(left, LeftOut).item_ids:
        return "it was left out before"
    if not (root / stages.SUPPORT).exists():
        return f"the draw took {len(ids)} others"
    from kina_build.support.npz import read_support

    matrix = read_support(root / stages.SUPPORT)
    own = matrix.rows([item_id])
    if not own:
        return "it has no scores"
    cover = matrix.levels[matrix.rows(ids)].max(axis=0).astype("int64")
    more = (matrix.levels[own[0]].astype("int64") - cover).clip(min=0) @ matrix.weights
    rivals = [
        one
        for pair in _conflicts(root, item_id)
        if item_id in pair
        for one in pair
        if one in ids and one != item_id
    ]
    told = f"added to the {len(ids)} it would gain {int(more) / matrix.unit:.4f}"
    return f"near-copy of {rivals[0]}, which is; {told}" if rivals else told


def _conflicts(root: Path, item_id: str) -> tuple[tuple[str, str], ...]:
    path = root / stages.DUPLICATES
    if not path.exists():
        return ()
    found = read_document(path, Duplicates)
    gone = {one.item_id for one in found.dropped}
    return tuple(spread_edges(found.conflict_edges, found.groups, gone - {item_id}))


def _released(path: Path, item_id: str) -> Iterator[str]:
    record = read_document(path / RECORD, ReleaseRecord)
    for gone in record.withheld:
        if gone.item_id == item_id:
            yield f"withheld: {gone.reason}"
    for split in record.counts:
        file = path / f"{split}.jsonl"
        for line, row in iter_rows(file) if file.exists() and file.stat().st_size else ():
            if row.get("id") == item_id:
                key = "kept apart" if row.get("answer") is None else str(row["answer"])
                yield f"{record.name} {record.version}, {file.name}:{line}, key {key}"


def _answered(path: Path, item_id: str) -> Iterator[str]:
    scores = {
        str(row["model"]): row.get("score") for _, row in iter_rows(path) if row.get("item_id") == item_id
    }
    if scores:
        told = ", ".join(f"{model} {'-' if one is None else f'{one:g}'}" for model, one in scores.items())
        yield f"score by model: {told}"


Teller = Callable[[Path, str], Iterator[str]]
TELLERS: tuple[tuple[str, str, Teller], ...] = (
    (stages.FINDINGS, "check", _findings),
    (stages.DUPLICATES, "dedup", _copies),
    (stages.CONTAMINATION, "contamination", _elsewhere),
    (stages.TRIAGE, "triage", _doubted),
    (stages.SUPPORT, "support", _supported),
    (stages.ASSIGNMENTS, "assign", _assigned),
    (stages.CONTESTS, "settle", _contested),
    (stages.DECISIONS, "settle", _judged),
    (stages.LEFT_OUT, "leave-out", _left_out),
    (stages.SELECTION, "select", _selected),
    (stages.TOPPED, "top-up", _selected),
    (stages.RELEASE, "export", _released),
    (stages.SCORES, "score", _answered),
)
"""Artefact, the stage it is told under, and what tells of it."""

ORDER = (
    "import",
    "check",
    "dedup",
    "contamination",
    "triage",
    "decided",
    "support",
    "assign",
    "settle",
    "leave-out",
    "select",
    "top-up",
    "export",
    "score",
)
