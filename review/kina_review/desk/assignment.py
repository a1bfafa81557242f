"""Give every item two blind reviewers: eligible, distinct, evenly loaded, pairs fresh.

Items are taken in a seeded order, those with the fewest eligible reviewers first. The
least-loaded eligible reviewer is chosen first; the partner is the one met least often,
then the least loaded. A reviewer below the common load has met fewer people than there
are, so no pair repeats while fresh ones exist. Slots that caps leave open are filled by
moving one earlier choice; what then stays open is explained by `kina_review.desk.eligibility`.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kina_build.items.model import Item
from kina_build.progress import Progress, silent
from kina_review.desk.eligibility import FORBIDDEN, Eligibility, Roster, Shortage, explain_shortage
from kina_review.records import Assignment, Reviewer
from kina_review.rubric import REVIEWS_PER_ITEM

Slot = tuple[str, str]
"""(item_id, reviewer_id)."""


@dataclass(frozen=True)
class Plan:
    """All assignments, and what could not be assigned."""

    assignments: tuple[Assignment, ...]
    """Kept and new, by item and reviewer."""
    added: int
    loads: dict[str, int]
    """Reviewer id to items in all."""
    repeated_pairs: int
    """Meetings beyond the first, over all pairs of reviewers."""
    waiting: tuple[str, ...]
    """Items held back only by the cap on open work."""
    shortages: tuple[Shortage, ...]
    """Items that no assignment can serve, with the reviewers that are too few."""

    @property
    def report(self) -> dict[str, Any]:
        """Return the plan's figures as plain values."""
        return {
            "assignments": len(self.assignments),
            "added": self.added,
            "repeated_pairs": self.repeated_pairs,
            "waiting": list(self.waiting),
            "loads": self.loads,
            "shortages": [
                {
                    "item_ids": list(shortage.item_ids),
                    "reviewer_ids": list(shortage.reviewer_ids),
                    "needed": shortage.needed,
                    "available": shortage.available,
                }
                for shortage in self.shortages
            ],
        }


def assign_reviewers(
    items: Sequence[Item],
    reviewers: Sequence[Reviewer],
    *,
    seed: int,
    earlier: Sequence[Assignment] = (),
    released: Collection[Slot] = (),
    finished: Collection[Slot] = (),
    open_cap: int | None = None,
    load_cap: int | None = None,
    by_affiliation: bool = False,
    on_progress: Progress = silent,
) -> Plan:
    """Assign two eligible reviewers to every item.

    Args:
        items: what needs review; author_id, discipline, field and subfield decide who may.
        reviewers: who reviews; their fields, conflicts, payee and capacity are obeyed.
        seed: breaks ties; the same seed gives the same plan in any row order.
        earlier: assignments made before; they stay.
        released: earlier slots whose review never came; others fill them.
        finished: slots whose review is in; they are no longer open work.
        open_cap: most unfinished items a reviewer; what is beyond waits.
        load_cap: most items a reviewer in all, beside each one's own capacity.
        by_affiliation: keep people of one affiliation from each other and from authors.
        on_progress: called with (items done, items in all).
    """
    people = sorted(reviewers, key=lambda person: person.reviewer_id)
    eligibility = Eligibility(people, by_affiliation=by_affiliation)
    kept = [slot for slot in earlier if (slot.item_id, slot.reviewer_id) not in set(released)]
    done_slots = set(finished)
    limits = _limits(people, load_cap)
    roster = Roster(eligibility, limits.copy(), seed)
    _seat(roster, people, earlier, kept)
    if open_cap is not None:
        _limit_open_work(roster, people, kept, done_slots, open_cap)

    order = _serving_order(items, eligibility, seed)
    for done, item in enumerate(order, start=1):
        _serve(roster, item)
        on_progress(done, len(order))
    _level(roster)
    lacking = [item for item in order if roster.lacks(item) > 0]
    shortages = explain_shortage(lacking, order, eligibility, limits, REVIEWS_PER_ITEM) if lacking else ()
    hopeless = {item_id for shortage in shortages for item_id in shortage.item_ids}
    return Plan(
        assignments=_collect(roster, people, kept, seed),
        added=sum(map(len, roster.holds)),
        loads={person.reviewer_id: int(load) for person, load in zip(people, roster.load, strict=True)},
        repeated_pairs=_repeats(roster),
        waiting=tuple(sorted(item.item_id for item in lacking if item.item_id not in hopeless)),
        shortages=shortages,
    )


def _limits(people: Sequence[Reviewer], load_cap: int | None) -> NDArray[np.int64]:
    unlimited = np.iinfo(np.int32).max
    caps = [min(p.capacity if p.capacity is not None else unlimited, load_cap or unlimited) for p in people]
    return np.array(caps, dtype=np.int64)


def _seat(
    roster: Roster, people: Sequence[Reviewer], earlier: Sequence[Assignment], kept: Sequence[Assignment]
) -> None:
    """Put earlier assignments on the desk; nobody gets an item twice."""
    position = {person.reviewer_id: index for index, person in enumerate(people)}
    for slot in earlier:
        if slot.reviewer_id in position:
            roster.banned[slot.item_id].add(position[slot.reviewer_id])
    for slot in kept:
        if slot.reviewer_id in position:
            roster.give(slot.item_id, position[slot.reviewer_id])
        else:
            roster.departed[slot.item_id] += 1


def _limit_open_work(
    roster: Roster,
    people: Sequence[Reviewer],
    kept: Sequence[Assignment],
    finished: Collection[Slot],
    open_cap: int,
) -> None:
    busy: dict[str, int] = defaultdict(int)
    for slot in kept:
        busy[slot.reviewer_id] += (slot.item_id, slot.reviewer_id) not in finished
    free = np.array([open_cap - busy[person.reviewer_id] for person in people], dtype=np.int64)
    roster.limit(free)


def _serving_order(items: Sequence[Item], eligibility: Eligibility, seed: int) -> list[Item]:
    """Order items: fewest eligible reviewers first, then by a seeded hash of the id."""
    return sorted(items, key=lambda item: (len(eligibility.of(item)), seeded_hash(seed, item.item_id)))


def _serve(roster: Roster, item: Item) -> None:
    candidates = roster.candidates(item)
    while roster.lacks(item) > 0:
        who = roster.pick(item, candidates)
        if who is None:
            who = _free_one(roster, item, candidates)
        if who is None:
            return
        roster.give(item.item_id, who, movable=item)


def _free_one(roster: Roster, item: Item, candidates: NDArray[np.int64]) -> int | None:
    """Make room for one candidate by handing one of their items to somebody with room."""
    partners = roster.given[item.item_id]
    for who in candidates.tolist():
        if who in partners or any(roster.met[other, who] >= FORBIDDEN for other in partners):
            continue
        for other_id, other in list(roster.holds[who].items()):
            roster.take(other_id, who)
            options = roster.candidates(other)
            instead = roster.pick(other, options[options != who])
            if instead is not None:
                roster.give(other_id, instead, movable=other)
                return int(who)
            roster.give(other_id, who, movable=other)
    return None


def _level(roster: Roster) -> None:
    """Move items from the fullest to the emptiest reviewers while that repeats no pair."""
    movable = True
    while movable and len(roster.load) > 1:
        movable = False
        for rich in np.argsort(-roster.load, kind="stable").tolist():
            if roster.load[rich] - roster.load.min() > 1 and _relieve(roster, rich):
                movable = True
                break


def _relieve(roster: Roster, rich: int) -> bool:
    for item_id, item in list(roster.holds[rich].items()):
        partners = [other for other in roster.given[item_id] if other != rich]
        for poor in roster.candidates(item).tolist():
            fits = roster.load[rich] - roster.load[poor] > 1 and roster.room[poor] > 0
            if fits and all(roster.met[poor, other] < roster.met[rich, other] for other in partners):
                roster.take(item_id, rich)
                roster.give(item_id, poor, movable=item)
                return True
    return False


def _collect(
    roster: Roster, people: Sequence[Reviewer], kept: Sequence[Assignment], seed: int
) -> tuple[Assignment, ...]:
    new = [
        Assignment(
            item_id=item_id,
            reviewer_id=people[who].reviewer_id,
            assignment_id=seeded_hash(seed, f"{item_id}\0{people[who].reviewer_id}")[:16],
        )
        for who, held in enumerate(roster.holds)
        for item_id in held
    ]
    return tuple(sorted([*kept, *new], key=lambda slot: (slot.item_id, slot.reviewer_id)))


def _repeats(roster: Roster) -> int:
    meetings = np.triu(roster.met, 1) % FORBIDDEN
    return int(np.maximum(meetings.astype(np.int64) - 1, 0).sum())


def seeded_hash(seed: int, text: str) -> str:
    """Return a hash of a text that the seed decides: opaque ids, and orders nobody chose."""
    return hashlib.sha256(f"{seed}\0{text}".encode()).hexdigest()
