"""Assignments out to a desk and reviews back from it: a Label Studio server, or worksheets."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kina_build.errors import UsageError
from kina_build.items.model import Item
from kina_build.items.pool import read_pool
from kina_build.progress import Progress, silent
from kina_build.rows.jsonl import read_document, read_records, write_document, write_records
from kina_build.rows.source import is_stream
from kina_build.rows.tables import read_typed
from kina_review.desk.authorship import Annotation, Desk, merge_texts
from kina_review.desk.collection import Collected, collect_grades, collect_reviews
from kina_review.desk.deskmap import DeskMap
from kina_review.desk.deskmap import pull as pull_from
from kina_review.desk.deskmap import push as push_to
from kina_review.desk.labelling import Purpose, grading_task, labelling_config, review_task
from kina_review.desk.labelstudio import TOKEN_VARIABLE, DeskServer
from kina_review.desk.options import PullOptions, PushOptions
from kina_review.desk.planning import report_loads
from kina_review.desk.worksheets import read_worksheets, write_worksheets
from kina_review.instants import read_end, read_moment
from kina_review.intake import read_reviewers, read_reviews
from kina_review.manuals import show_page, write_manual
from kina_review.records import Assignment, Review
from kina_review.rubric import ReviewRules


@dataclass(frozen=True)
class Parcel:
    """What goes out to a desk, checked."""

    slots: list[Assignment]
    items: Mapping[str, Item]
    graded: Mapping[tuple[str, str], Review]
    """By item and reviewer, the reviews to grade; empty where items are reviewed."""
    purpose: Purpose

    @property
    def report(self) -> dict[str, Any]:
        """Return how much goes to whom."""
        return report_loads(self.slots) | {"purpose": self.purpose}


def check_desk(url: str | None, folder: Path | None) -> None:
    """Check that exactly one desk is named.

    Raises:
        UsageError: none is, or two are.
    """
    if (url is None) == (folder is None):
        raise UsageError("name one desk", hint="--url for a Label Studio server, or --folder for worksheets")


def pack(options: PushOptions) -> Parcel:
    """Read what goes out, and check that each assignment has its item and each grading its review.

    Raises:
        InputError: an unreadable file.
        UsageError: an item or a review is not there.
    """
    slots = read_typed(options.assignments, Assignment)
    items = {item.item_id: item for item in read_pool(options.pool)}
    strange = sorted({slot.item_id for slot in slots} - items.keys())
    if strange:
        raise UsageError(f"assigned but not in the pool: {', '.join(strange[:5])} ({len(strange)} in all)")
    purpose: Purpose = "grading" if any(slot.review_of for slot in slots) else "review"
    if purpose == "grading" and options.reviews is None:
        raise UsageError("these assignments are of grading", hint="name the reviews to grade with --reviews")
    rows = read_reviews(options.reviews).records if options.reviews else ()
    graded = {(review.item_id, review.reviewer_id): review for review in rows}
    for slot in slots:
        if slot.review_of and (slot.item_id, slot.review_of) not in graded:
            raise UsageError(
                f"to be graded but not among the reviews: {slot.review_of!r} on item {slot.item_id!r}",
                hint="give the --reviews that `kina review graders` was given",
            )
    return Parcel(slots, items, graded, purpose)


def write_sheets(parcel: Parcel, folder: Path, options: PushOptions) -> dict[str, Any]:
    """Write a parcel as worksheets, with the map of who has what; return the report.

    Raises:
        InputError: an id that cannot be a file name.
    """
    desk = DeskMap(batch=options.batch, purpose=parcel.purpose, projects=(), assignments=tuple(parcel.slots))
    files = write_worksheets(folder, parcel.purpose, parcel.slots, parcel.items, parcel.graded)
    write_document(options.output, desk, private=True)
    return {"worksheets": [file.name for file in files], "assignments": len(parcel.slots)}


def push_tasks(
    parcel: Parcel, options: PushOptions, rules: ReviewRules, on_progress: Progress = silent
) -> dict[str, Any]:
    """Put a parcel on a Label Studio server and keep the map of its tasks; return the report.

    Raises:
        ConfigError: the server refuses or goes away; push again to go on.
        Refusal: a reviewer has no account there.
        UsageError: the map belongs to another batch.
    """
    people = read_reviewers(options.reviewers).records
    earlier = _earlier_map(options.output, options.batch, parcel.purpose)
    with DeskServer(str(options.url), os.environ.get(TOKEN_VARIABLE, "")) as server:
        pushed = push_to(
            server,
            options.batch,
            parcel.purpose,
            parcel.slots,
            people,
            config=labelling_config(parcel.purpose, max(len(item.options) for item in parcel.items.values())),
            make_task=_task_maker(parcel),
            instruction=show_page(write_manual("reviewer", rules), whole=False),
            earlier=earlier,
            on_progress=on_progress,
        )
        version = server.version
    write_document(options.output, pushed.desk, private=True)
    return {
        "server": version,
        "projects": len(pushed.desk.projects),
        "projects_created": pushed.projects_created,
        "tasks_added": pushed.tasks_added,
        "tasks_there": pushed.tasks_there,
    }


def _task_maker(parcel: Parcel) -> Callable[[Assignment], Mapping[str, Any]]:
    def make(slot: Assignment) -> Mapping[str, Any]:
        item, key = parcel.items[slot.item_id], str(slot.assignment_id)
        if slot.review_of:
            return grading_task(item, parcel.graded[slot.item_id, slot.review_of], key)
        return review_task(item, key)

    return make


def _earlier_map(path: Path, batch: str, purpose: Purpose) -> DeskMap | None:
    """Return the map of an earlier push of this batch, whose task ids must stay known."""
    if not path.exists():
        return None
    earlier = read_document(path, DeskMap)
    if (earlier.batch, earlier.purpose) == (batch, purpose) or not earlier.projects:
        return earlier
    raise UsageError(
        f"{path}: is the map of batch {earlier.batch} ({earlier.purpose}), which `kina review pull` needs",
        hint="give this batch a map of its own with -o",
    )


def texts_path(desk: Path) -> Path:
    """Return where the texts that pulls saw are kept: desk.json -> desk.texts.jsonl."""
    return Path("desk.texts.jsonl") if is_stream(desk) else desk.with_name(f"{desk.stem}.texts.jsonl")


@dataclass(frozen=True)
class Pulled:
    """What came back from a desk."""

    annotations: int
    found: Collected[Any]
    undated: int
    """Rows of worksheets that say nowhere when they came in."""

    @property
    def report(self) -> dict[str, Any]:
        """Return counts of results by state, and of what is quarantined by reason."""
        states = Counter(getattr(result, "status", "submitted") for result in self.found.results)
        faults = Counter(fault.reason for fault in self.found.quarantine)
        return {
            "annotations": self.annotations,
            "results": dict(sorted(states.items())),
            "quarantined": dict(sorted(faults.items())),
        }


def fetch(options: PullOptions, plan: DeskMap, on_progress: Progress = silent) -> Pulled:
    """Fetch annotations from the desk and hold every one against the map.

    Raises:
        ConfigError: the server refuses or goes away.
        InputError: an unreadable file.
        UsageError: the batch went out to another desk.
    """
    people = {person.reviewer_id: person for person in read_reviewers(options.reviewers).records}
    if options.folder:
        moment = read_moment(options.handed_in, "--handed-in") if options.handed_in else None
        annotations: Sequence[Annotation] = read_worksheets(options.folder, moment)
        accounts = {slot.reviewer_id: slot.reviewer_id for slot in plan.assignments}
    else:
        annotations = _from_server(str(options.url), plan, texts_path(options.desk), on_progress)
        accounts = {project.reviewer_id: project.account for project in plan.projects}
    snapshot = read_end(options.snapshot, "--snapshot") if options.snapshot else None
    against = Desk(accounts, None if options.folder else plan.tasks, snapshot)
    found: Collected[Any]
    if plan.purpose == "grading":
        found = collect_grades(annotations, plan.assignments, against)
    else:
        payees = {name: person.payee_id for name, person in people.items() if person.payee_id}
        found = collect_reviews(annotations, plan.assignments, against, payees=payees)
    undated = sum(annotation.created_at is None for annotation in annotations) if options.folder else 0
    return Pulled(len({annotation.annotation_id for annotation in annotations}), found, undated)


def _from_server(url: str, plan: DeskMap, path: Path, on_progress: Progress) -> Sequence[Annotation]:
    """Fetch a batch, and keep its texts with those of earlier pulls: a later edit cannot undo them."""
    if not plan.projects and plan.assignments:
        raise UsageError("this batch went out as worksheets", hint="name their --folder")
    with DeskServer(url, os.environ.get(TOKEN_VARIABLE, "")) as server:
        seen = pull_from(server, plan, on_progress)
    kept = read_records(path, Annotation) if path.exists() else []
    texts = merge_texts(kept, [text for text in seen if not text.draft])
    if texts:
        write_records(path, texts, private=True)
    return [*texts, *(text for text in seen if text.draft)]
