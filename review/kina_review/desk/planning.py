"""From files to a plan: who reviews what, who grades it, and how far everybody is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kina_build.errors import UsageError
from kina_build.items.pool import read_pool
from kina_build.jsonl import read_records
from kina_build.progress import Progress, silent
from kina_build.tables import read_typed
from kina_review.desk.assignment import Plan, assign_reviewers
from kina_review.desk.grading_plan import Appeal, plan_appeals, plan_grading
from kina_review.desk.options import AssignOptions, GradersOptions
from kina_review.instants import read_moment
from kina_review.intake import read_reviewers, read_reviews
from kina_review.records import Assignment, Review


def plan_assignments(options: AssignOptions, open_cap: int, on_progress: Progress = silent) -> Plan:
    """Read pool, reviewers and earlier work, and give every item two blind reviewers.

    Args:
        options: the files and caps.
        open_cap: most unfinished items a reviewer; 0 is no cap.
        on_progress: called with (items done, items in all).

    Raises:
        InputError: an unreadable file.
    """
    before = read_records(options.earlier, Assignment) if options.earlier else []
    done = {
        (review.item_id, review.reviewer_id)
        for review in _reviews_in(options.reviews)
        if review.status == "submitted"
    }
    slots = {(slot.item_id, slot.reviewer_id) for slot in before}
    return assign_reviewers(
        read_pool(options.pool),
        read_reviewers(options.reviewers).records,
        seed=options.seed,
        earlier=before,
        released=slots - done if options.reassign else (),
        finished=done,
        open_cap=open_cap or None,
        load_cap=options.load_cap,
        by_affiliation=options.by_affiliation,
        on_progress=on_progress,
    )


@dataclass(frozen=True)
class Grading:
    """Who grades which review."""

    assignments: list[Assignment]

    @property
    def report(self) -> dict[str, Any]:
        """Return how many assignments each adjudicator has."""
        return report_loads(self.assignments)


def report_loads(slots: Sequence[Assignment]) -> dict[str, Any]:
    """Return how many assignments there are, and how many each person has."""
    return {"assignments": len(slots), "loads": dict(Counter(slot.reviewer_id for slot in slots))}


def check_grading(options: GradersOptions) -> None:
    """Check that what belongs to an appeal is given together.

    Raises:
        UsageError: it is not.
    """
    lone = (options.appeals is None) != (options.earlier is None)
    if lone or (options.until is not None and options.appeals is None):
        raise UsageError("--appeals and --earlier go together, and --until with them")


def plan_graders(options: GradersOptions) -> Grading:
    """Read reviews and adjudicators, and give both reviews of each item to one of them.

    Raises:
        InputError: an unreadable file.
        Refusal: nobody may grade an item, or an appeal is late or about nothing.
        UsageError: as check_grading.
    """
    check_grading(options)
    rows, people = read_reviews(options.reviews).records, read_reviewers(options.graders).records
    if options.appeals is None or options.earlier is None:
        return Grading(plan_grading(rows, people, seed=options.seed))
    return Grading(
        plan_appeals(
            read_typed(options.appeals, Appeal),
            rows,
            read_records(options.earlier, Assignment),
            people,
            seed=options.seed,
            until=read_moment(options.until, "--until") if options.until else None,
        )
    )


def report_status(assignments: Path, reviews: Path | None = None) -> dict[str, Any]:
    """Return who has done how much, and how many items wait for a review.

    Raises:
        InputError: an unreadable file.
    """
    states = {(review.item_id, review.reviewer_id): review.status for review in _reviews_in(reviews)}
    people: dict[str, Counter[str]] = {}
    done_of: Counter[str] = Counter()
    for slot in read_records(assignments, Assignment):
        state = states.get((slot.item_id, slot.reviewer_id), "open")
        people.setdefault(slot.reviewer_id, Counter())[state] += 1
        done_of[slot.item_id] += state == "submitted"
    by_count = Counter(done_of.values())
    return {
        "items": {"both": by_count[2], "one": by_count[1], "none": by_count[0]},
        "reviewers": {
            name: {"assigned": sum(c.values()), **dict(sorted(c.items()))}
            for name, c in sorted(people.items())
        },
    }


def _reviews_in(path: Path | None) -> Sequence[Review]:
    return read_reviews(path).records if path else ()
