"""Which items of a pool selection may not take, and at which step each fell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from kina_build.dedup.contamination.records import Contamination
from kina_build.dedup.records import Duplicates
from kina_build.items.checking.rule import POOL, Finding
from kina_build.items.model import Item
from kina_build.items.pool import read_pool
from kina_build.project.decisions import Rulings
from kina_build.project.options import LeaveOutOptions
from kina_build.release.admission import own_fault
from kina_build.rows.jsonl import read_any_records, read_document
from kina_review.records import Decision

COPIES = frozenset({"item_repeated", "keys_conflict"})
"""Rules of `kina check` about several items: dedup says which of them stays."""
ACCEPTED = "accept"
STEPS = ("broken", "contaminated", "copies", "held", "decided", "panel", "not accepted")
"""The order in which items fall; an item counts where it falls first."""


class Step(BaseModel):
    """The items that fell at one step."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: str
    items: dict[str, str]
    """Item to the reason."""


class LeftOut(BaseModel):
    """left-out.json: the items that may not be selected."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item_ids: tuple[str, ...]
    """As `kina select --exclude` reads them."""
    pool: int
    eligible: int
    steps: tuple[Step, ...]


def leave_out(given: LeaveOutOptions, rulings: Rulings) -> LeftOut:
    """List the items that selection may not take, with the step at which each fell.

    Args:
        given: the pool, and the files that speak against items of it.
        rulings: what people decided, those that hold on the pool's texts.

    Raises:
        InputError: a file that cannot be read.
    """
    pool = read_pool(given.pool)
    ids = [item.item_id for item in pool]
    kept = {one.subject[0] for one in rulings.holding if one.kind == "item" and one.verdict == "keep"}
    copies = read_document(given.duplicates, Duplicates) if given.duplicates else None
    ruled = _ruled(rulings)
    fallen = {
        "broken": _broken(given.findings, kept, _fine(rulings))
        | ({} if given.reviewed else _flawed_by_source(pool)),
        "contaminated": _contaminated(given.contamination, kept),
        # what a person decided is told as such, also where dedup carried it out
        "copies": {o.item_id: o.reason for o in copies.dropped if o.item_id not in ruled} if copies else {},
        "held": {one.item_id: one.reason for one in copies.held} if copies else {},
        "decided": ruled,
        **({"panel": _refused_by_panel(given.panel, ids)} if given.panel else {}),
        "not accepted": _refused(given.reviewed, ids),
    }
    return _count(ids, fallen)


def _count(ids: Sequence[str], fallen: Mapping[str, Mapping[str, str]]) -> LeftOut:
    left = set(ids)
    steps = []
    for name in (step for step in STEPS if step in fallen):
        here = {item: why for item, why in sorted(fallen[name].items()) if item in left}
        left.difference_update(here)
        steps.append(Step(step=name, items=here))
    gone = tuple(sorted(item for step in steps for item in step.items))
    return LeftOut(item_ids=gone, pool=len(ids), eligible=len(left), steps=tuple(steps))


def _fine(rulings: Rulings) -> set[tuple[str, ...]]:
    """Return the findings that a person called fine: item and rule."""
    return {one.subject for one in rulings.holding if (one.kind, one.verdict) == ("finding", "fine")}


def _broken(path: Path | None, kept: set[str], fine: set[tuple[str, ...]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in read_any_records(path, Finding) if path else ():
        if (
            one.item_id != POOL
            and one.severity == "error"
            and one.rule not in COPIES
            and one.item_id not in kept
            and (one.item_id, one.rule) not in fine
        ):
            found.setdefault(one.item_id, f"{one.rule}: {one.message}")
    return found


def _flawed_by_source(pool: Sequence[Item]) -> dict[str, str]:
    """Return what a pool's own annotators found wrong: where nobody reviews, a release withholds these."""
    faults = {item.item_id: own_fault(item) for item in pool}
    return {item: f"its source says: {fault}" for item, fault in faults.items() if fault}


def _contaminated(path: Path | None, kept: set[str]) -> dict[str, str]:
    if path is None:
        return {}
    found = read_document(path, Contamination)
    where = {hit.item_id: f"stands in {hit.corpus}" for hit in found.hits if hit.finding == "contaminated"}
    return {one: where.get(one, "stands in another corpus") for one in found.contaminated if one not in kept}


def _ruled(rulings: Rulings) -> dict[str, str]:
    gone = {("item", "drop"), ("item", "withdraw"), ("key", "wrong")}
    return {
        one.subject[0]: f"{one.who}: {one.kind} {one.says}: {one.reason}"
        for one in rulings.holding
        if (one.kind, one.verdict) in gone
    }


def _refused_by_panel(path: Path, ids: Sequence[str]) -> dict[str, str]:
    """Return the items that the panel did not let in."""
    hard = {item.item_id for item in read_pool(path)}
    return {
        item: "the share of the panel that answers it wrongly is out of bounds"
        for item in ids
        if item not in hard
    }


def _refused(path: Path | None, ids: Sequence[str]) -> dict[str, str]:
    if path is None:  # nothing is reviewed: every item is eligible
        return {}
    told = {one.item_id: one for one in read_any_records(path, Decision)}
    reasons = {item: "not reviewed" for item in ids if item not in told}
    for one in told.values():
        if one.decision != ACCEPTED:
            reasons[one.item_id] = f"review: {one.decision}" + (f": {one.reason}" if one.reason else "")
    return reasons
