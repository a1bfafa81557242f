"""Which items of the pool go into the release, and why the others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from kina_build.errors import InputError, Refusal
from kina_build.items.model import Item
from kina_build.release.draw import natural
from kina_build.release.record import Withheld

ACCEPTED = "accept"
SHOWN_IDS = 5
"""Ids named in a message before the rest is only counted."""


class Decision(BaseModel):
    """One row of decisions.jsonl, as far as export reads it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str
    decision: str
    """accept, revise, reject or escalate."""
    reason: str = ""
    corrected_answer: str | None = None
    """The right key, where reviewers accepted the item with another one."""


@dataclass(frozen=True)
class Admission:
    """The items of a release and what was held back."""

    items: tuple[Item, ...]
    """In natural order of their ids."""
    withheld: tuple[Withheld, ...]
    corrected: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Items whose key review corrected: old, new."""


def admit(
    pool: Sequence[Item],
    *,
    selected: Sequence[str] | None = None,
    decisions: Iterable[Decision] | None = None,
    dropped: Mapping[str, str] | None = None,
    taken_down: Mapping[str, str] | None = None,
) -> Admission:
    """Decide item by item what is released.

    Args:
        pool: all items.
        selected: ids that selection chose; None takes the whole pool.
        decisions: of the reviewers; where given, an item needs an "accept".
        dropped: ids that dedup dropped, with the reason.
        taken_down: ids withdrawn now or in earlier versions, with the reason.

    Raises:
        InputError: an id that the pool does not have, or an item decided twice.
        Refusal: nothing is left to release.
    """
    by_id = {item.item_id: item for item in pool}
    wanted = list(by_id) if selected is None else list(dict.fromkeys(selected))
    _check_known("the selection", wanted, by_id)
    verdicts = None if decisions is None else _by_item(decisions)
    reasons = {
        item_id: _why_withheld(item_id, verdicts, dropped or {}, taken_down or {}) for item_id in wanted
    }
    kept = sorted((item_id for item_id in wanted if not reasons[item_id]), key=natural)
    if not kept:
        raise Refusal(_nothing_left(wanted, reasons), hint="see the decisions and duplicates files")
    corrected = _corrections((by_id[item_id] for item_id in kept), verdicts or {})
    return Admission(
        items=tuple(_correct(by_id[item_id], corrected) for item_id in kept),
        withheld=tuple(
            Withheld(item_id=item_id, reason=reasons[item_id])
            for item_id in sorted(wanted, key=natural)
            if reasons[item_id]
        ),
        corrected=corrected,
    )


def _why_withheld(
    item_id: str,
    verdicts: Mapping[str, Decision] | None,
    dropped: Mapping[str, str],
    taken_down: Mapping[str, str],
) -> str:
    if item_id in taken_down:
        return f"taken down: {taken_down[item_id] or 'no reason given'}"
    if item_id in dropped:
        return dropped[item_id]
    if verdicts is None:
        return ""
    if item_id not in verdicts:
        return "not reviewed"
    verdict = verdicts[item_id]
    return "" if verdict.decision == ACCEPTED else verdict.reason or f"review: {verdict.decision}"


def _by_item(decisions: Iterable[Decision]) -> dict[str, Decision]:
    found: dict[str, Decision] = {}
    for decision in decisions:
        if found.setdefault(decision.item_id, decision) != decision:
            raise InputError(f"the decisions name item {decision.item_id!r} twice, differently")
    return found


def _corrections(items: Iterable[Item], verdicts: Mapping[str, Decision]) -> dict[str, tuple[str, str]]:
    corrected = {}
    for item in items:
        verdict = verdicts.get(item.item_id)
        right = verdict.corrected_answer if verdict else None
        if right and right != item.correct_answer:
            corrected[item.item_id] = (item.correct_answer, right)
    return corrected


def _correct(item: Item, corrected: Mapping[str, tuple[str, str]]) -> Item:
    if item.item_id not in corrected:
        return item
    return item.model_copy(update={"correct_answer": corrected[item.item_id][1]})


def _check_known(source: str, ids: Iterable[str], by_id: Mapping[str, Any]) -> None:
    unknown = [item_id for item_id in ids if item_id not in by_id]
    if unknown:
        raise InputError(
            f"{source} names {len(unknown)} items that the pool does not have: {', '.join(unknown[:SHOWN_IDS])}",
            hint="give the pool that the selection was made from",
        )


def _nothing_left(wanted: Sequence[str], reasons: Mapping[str, str]) -> str:
    counts = Counter(reasons[item_id] for item_id in wanted).most_common(SHOWN_IDS)
    told = "; ".join(f"{count} {reason}" for reason, count in counts) or "the selection is empty"
    return f"no item is left to release ({told})"
