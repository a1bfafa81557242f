"""What waits for people, read from the artefacts: cases with ids, and how to go on with each."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from kina_build.dedup.records import Duplicates
from kina_build.project.decisions import Ruling, Rulings
from kina_build.project.folder import Project
from kina_build.project.funnel import read_selected
from kina_build.project.graph import stages
from kina_build.project.graph.stages import Stage
from kina_build.project.log import Case
from kina_build.rows.jsonl import iter_rows, read_any_records, read_document
from kina_review.records import Assignment, Audit, Contest, Decision, Finding
from kina_review.rubric import REVIEWS_PER_ITEM

Record = TypeVar("Record", bound=BaseModel)


class Doubt(BaseModel):
    """A row of triage.jsonl, as far as it is told here; fields that are none are not written there."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str
    key: str
    flags: tuple[str, ...]
    rival: str | None = None
    rival_votes: int
    key_votes: int
    voters: int


def find_cases(stage: Stage, project: Project, rulings: Rulings) -> list[Case]:
    """List what waits for people at a stage that has run; the stages behind it may go on meanwhile.

    Raises:
        InputError: an artefact that cannot be read.
    """
    finder = FINDERS.get(stage.name)
    return [] if finder is None else finder(project, rulings)


MANY = {
    "row not read": "rows not read",
    "copy filed twice": "copies filed twice",
    "decided on other texts": "decisions on other texts",
    "deciders differ": "conflicts of deciders",
    "handed out": "artefacts handed out",
    "file not understood": "files not understood",
}
"""Kinds of cases whose plural is no "s" behind them."""
REFILL = "refill"
"""Kind of the items that came in for others: what stops behind them waits for their reviews."""
BRING = "kina review push, then kina review pull; or put the reviews into review.batch.reviews"


def tell_cases(cases: Iterable[Case]) -> str:
    """Count cases by kind: "2 key conflicts, 1 doubtful key"."""
    counts = Counter(case.kind for case in cases)
    return ", ".join(f"{n} {kind if n == 1 else MANY.get(kind, f'{kind}s')}" for kind, n in counts.items())


def setting_cases(stage: Stage) -> list[Case]:
    """List the lines of kina.toml that a stage waits for, and reviews of which there is none yet."""
    return [
        Case(
            kind="setting", message=one, how=BRING if one.startswith(stages.NO_REVIEWS) else "edit kina.toml"
        )
        for one in stage.lacks
    ]


def ruling_cases(rulings: Rulings) -> list[Case]:
    """List decisions that contradict one another, and those made on texts that have changed."""
    torn = [
        Case(
            kind="deciders differ",
            subject=group[0].subject,
            message=f"{group[0].about}: "
            + "; ".join(f"{one.who} says {one.says}: {one.reason}" for one in group),
            how=f"one of them decides anew: {_decide(group[0])}",
        )
        for group in rulings.torn
    ]
    changed = [
        Case(
            kind="decided on other texts",
            subject=one.subject,
            message=f"{one.about}: {one.who} said {one.says}, but the text has changed since",
            how=_decide(one),
        )
        for one in rulings.changed
    ]
    return torn + changed


def _decide(one: Ruling) -> str:
    return f"kina decide {one.kind} {' '.join(one.subject)} VERDICT --who NAME --reason WHY"


def _held(project: Project, rulings: Rulings) -> list[Case]:
    found = read_document(project.root / stages.DUPLICATES, Duplicates)
    cases = []
    for cluster in found.clusters:
        if not cluster.needs_decision:
            continue
        ids, first = cluster.item_ids, cluster.item_ids[0]
        if cluster.status == "conflict":
            message = f"{', '.join(ids)}: the same question with different keys, none may be selected"
            how = f"kina decide key {first} wrong --letter X, or: kina decide pair {first} {ids[1]} different"
            cases.append(Case(kind="key conflict", subject=ids, message=message, how=_signed(how)))
        else:
            message = (
                f"{', '.join(ids)}: copies filed under {len(cluster.paths)} paths; {cluster.kept[0]} stays"
            )
            how = f"kina decide item {cluster.kept[0]} keep"
            cases.append(Case(kind="copy filed twice", subject=ids, message=message, how=_signed(how)))
    return cases


def _doubtful(project: Project, rulings: Rulings) -> list[Case]:
    queue = _records(project.root / stages.TRIAGE, Doubt)
    return [
        Case(
            kind="doubtful key",
            subject=(one.item_id,),
            message=f"{one.item_id}: {one.rival_votes} of {one.voters} models say {one.rival}, not {one.key}",
            how=_signed(f"kina decide key {one.item_id} right, or: wrong --letter {one.rival}"),
        )
        for one in queue
        if "agreed_rival" in one.flags and not _is_ruled(one.item_id, rulings)
    ]


def _is_ruled(item: str, rulings: Rulings) -> bool:
    return rulings.of("key", item) is not None or rulings.of("item", item) is not None


def _signed(how: str) -> str:
    return f"{how} --who NAME --reason WHY"


def _open_reviews(project: Project, rulings: Rulings) -> list[Case]:
    slots = _records(project.root / stages.ASSIGNMENTS, Assignment)
    done = _reviewed(project)
    counts = Counter(item for item, _ in done)
    left = [
        slot
        for slot in slots
        if counts[slot.item_id] < REVIEWS_PER_ITEM and (slot.item_id, slot.reviewer_id) not in done
    ]
    return [
        Case(
            kind="open review",
            subject=(slot.item_id, slot.reviewer_id),
            message=f"{slot.item_id}: the review of {slot.reviewer_id} is not in",
            how=BRING,
        )
        for slot in left
    ]


def _reviewed(project: Project) -> set[tuple[str, str]]:
    from kina_review.intake import read_reviews

    names = (
        [] if project.batch is None else project.expand([path.as_posix() for path in project.batch.reviews])
    )
    paths = [project.root / name for name in names if (project.root / name).exists()]
    rows = read_reviews(paths).records if paths else ()
    return {(row.item_id, row.reviewer_id) for row in rows if row.submitted_at is not None}


def _unreviewed(project: Project, rulings: Rulings) -> list[Case]:
    """List the items that came in for others, and that nobody reviewed."""
    items, _ = read_selected(project.root / stages.TOPPED)
    told = {one.item_id for one in _records(project.root / stages.DECISIONS, Decision)}
    people = project.batch.reviewers if project.batch else None
    left = [one for one in items if one not in told]
    listed = shlex.join(("item_id", *left))
    how = (
        f"printf '%s\\n' {listed} | kina review assign {stages.POOL} --only - --reviewers {people or 'FILE'} "
        "--open-cap 0 -o assignments-2.jsonl; push and pull them into files of their own, and name those "
        "in review.batch.reviews"
    )
    return [
        Case(kind=REFILL, subject=(one,), message=f"{one}: came in for another, not reviewed yet", how=how)
        for one in items
        if one not in told
    ]


def _open_contests(project: Project, rulings: Rulings) -> list[Case]:
    contests = _records(project.root / stages.CONTESTS, Contest)
    left = [one.item_id for one in contests if one.status == "open"]
    cases = [
        Case(
            kind="open contest",
            subject=(item,),
            message=f"{item}: lacks a review or a score",
            how="hand it in, or name it in review.batch: reviews, scores; its deadline ends the wait",
        )
        for item in left
    ]
    return cases + _audits(project)


def _audits(project: Project) -> list[Case]:
    batch = project.batch
    if batch is None or batch.draw is None or not (project.root / batch.draw).exists():
        return []
    drawn = read_document(project.root / batch.draw, Audit)
    names = project.expand([path.as_posix() for path in batch.findings])
    found = {
        str(row.get("item_id"))
        for name in names
        if (project.root / name).exists() and name.endswith(".jsonl")
        for _, row in iter_rows(project.root / name)
    } | {one.item_id for name in names if name.endswith(".csv") for one in _table(project.root / name)}
    return [
        Case(
            kind="audit",
            subject=(item,),
            message=f"{item}: drawn for audit, no finding yet",
            how="review.batch.findings",
        )
        for item in drawn.item_ids
        if item not in found
    ]


def _table(path: Path) -> list[Finding]:
    from kina_review.intake import read_findings

    return list(read_findings([path]).records) if path.exists() else []


def _records(path: Path, model: type[Record]) -> list[Record]:
    return read_any_records(path, model) if path.exists() else []


Finder = Callable[[Project, Rulings], list[Case]]
FINDERS: Mapping[str, Finder] = {
    "dedup": _held,
    "triage": _doubtful,
    "assign": _open_reviews,
    "settle": _open_contests,
    "top-up": _unreviewed,
}
"""Stage to what looks for its cases."""
