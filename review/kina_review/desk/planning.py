"""From files to a plan: who reviews what, who grades it, and how far everybody is.

Adjudicators grade what they reviewed nothing of, evenly loaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kina_build.errors import InputError, Refusal
from kina_build.items.model import Item
from kina_build.items.pool import read_item_ids, read_pool
from kina_build.progress import Progress, silent
from kina_build.rows.tables import read_typed
from kina_review.desk.assignment import Plan, assign_reviewers, seeded_hash
from kina_review.desk.options import AssignOptions, ReopenOptions
from kina_review.intake import read_decisions, read_reviewers, read_reviews
from kina_review.records import Assignment, Review

MOST_ROUND_DIGITS = 3
"""Digits of a round's number: nothing is reviewed a thousand times."""


def plan_assignments(options: AssignOptions, open_cap: int, on_progress: Progress = silent) -> Plan:
    """Read pool, reviewers and earlier work, and give every item two blind reviewers.

    Args:
        options: the files and caps.
        open_cap: most unfinished items a reviewer; 0 is no cap.
        on_progress: called with (items done, items in all).

    Raises:
        InputError: an unreadable file.
    """
    before = read_typed(options.earlier, Assignment) if options.earlier else []
    done = {
        (review.item_id, review.reviewer_id)
        for review in _reviews_in(options.reviews)
        if review.status == "submitted"
    }
    slots = {(slot.item_id, slot.reviewer_id) for slot in before}
    return assign_reviewers(
        _items_of(options),
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


def _items_of(options: AssignOptions) -> list[Item]:
    """Return the items to assign: those of the pool that are meant, with those that are assigned already."""
    pool = read_pool(options.pool)
    if options.only is None:
        return pool
    wanted = set(read_item_ids(options.only))
    missing = sorted(wanted - {item.item_id for item in pool})
    if missing:
        raise InputError(
            f"{options.only}: not in the pool: {', '.join(missing[:5])} ({len(missing)} in all)",
            hint=f"give the pool that it was selected from, not {options.pool}",
        )
    return [item for item in pool if item.item_id in wanted]


def plan_next_round(options: ReopenOptions, on_progress: Progress = silent) -> Plan:
    """Give each item that was to be revised to two other reviewers, as its next round.

    Nobody who had an item in an earlier round gets it again. Bar and pay are those of its first round:
    `settle` sees to it.

    Raises:
        InputError: an unreadable file.
        Refusal: nothing is to be revised, an item of it is not in the pool, or too few are left for it.
    """
    decided = read_decisions(options.decisions).records
    wanted = {decision.item_id for decision in decided if decision.decision == "revise"}
    if not wanted:
        raise Refusal(f"{options.decisions}: no item is to be revised")
    items = [item for item in read_pool(options.pool) if item.item_id in wanted]
    missing = sorted(wanted - {item.item_id for item in items})
    if missing:
        raise Refusal(
            f"to be revised but not in the pool: {', '.join(missing[:5])} ({len(missing)} in all)",
            hint="a revised item keeps its item_id; give the pool that holds the revised ones",
        )
    before = [slot for slot in read_typed(options.earlier, Assignment) if slot.item_id in wanted]
    rounds: dict[str, int] = dict.fromkeys(wanted, 1)
    for slot in before:
        rounds[slot.item_id] = max(rounds[slot.item_id], _round_number(slot.round))
    plan = assign_reviewers(
        items,
        read_reviewers(options.reviewers).records,
        seed=options.seed,
        earlier=before,
        released={(slot.item_id, slot.reviewer_id) for slot in before},
        load_cap=options.load_cap,
        by_affiliation=options.by_affiliation,
        on_progress=on_progress,
    )
    if plan.waiting:
        raise Refusal(
            f"too few reviewers who have not seen it: {', '.join(plan.waiting[:5])} "
            f"({len(plan.waiting)} items in all)",
            hint="add reviewers who had them in no earlier round",
        )
    opened = tuple(
        slot.model_copy(
            update={
                "round": (number := str(rounds[slot.item_id] + 1)),
                "assignment_id": seeded_hash(options.seed, f"{slot.assignment_id} round {number}")[:16],
            }
        )
        for slot in plan.assignments
    )
    return replace(plan, assignments=opened)


def _round_number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > MOST_ROUND_DIGITS:
        raise Refusal(f"round {text!r} is no number: which round comes next is unknown")
    return int(text)


def report_loads(slots: Sequence[Assignment]) -> dict[str, Any]:
    """Return how many assignments there are, and how many each person has."""
    return {"assignments": len(slots), "loads": dict(Counter(slot.reviewer_id for slot in slots))}


def report_status(assignments: Path, reviews: Path | None = None) -> dict[str, Any]:
    """Return who has done how much, and how many items wait for a review.

    Raises:
        InputError: an unreadable file.
    """
    states = {(review.item_id, review.reviewer_id): review.status for review in _reviews_in(reviews)}
    people: dict[str, Counter[str]] = {}
    done_of: Counter[str] = Counter()
    for slot in read_typed(assignments, Assignment):
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
