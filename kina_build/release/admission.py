"""Which items of the pool go into the release, and why the others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from kina_build.errors import InputError, Refusal
from kina_build.items.importing.keycolumns import VERDICTS
from kina_build.items.model import Item
from kina_build.items.text import fold_stem
from kina_build.release.record import Withheld
from kina_build.release.splits import natural

ACCEPTED = "accept"
VERDICT = "verdict"
"""Metadata of an item: what its source's annotators say of it, in the words of items.verdicts."""
CORRECTED = "corrected_answer"
"""Metadata of an item: the key its source's annotators hold for right."""
WRONG_KEY = "wrong_groundtruth"
SHOWN_IDS = 5
"""Ids named in a message before the rest is only counted."""


Opinion = Literal["accept", "revise", "reject", "escalate"]


class Decision(BaseModel):
    """One row of decisions.jsonl, as far as export reads it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str
    decision: Opinion
    """Another word is refused: "Accepted" taken for no acceptance would withhold the item in silence."""
    reason: str = ""
    opinions: Annotated[
        dict[str, Opinion], BeforeValidator(lambda told: told if isinstance(told, Mapping) else {})
    ] = {}
    """Reviewer to opinion; only how many hold which is published."""
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
        decisions: of the reviewers; where given, an item needs an "accept". Where not, the
            verdict that its source gives (metadata.verdict) must be "ok", or name the right key.
        dropped: ids that dedup dropped, with the reason.
        taken_down: ids withdrawn now or in earlier versions, with the reason.

    Raises:
        InputError: an id that the pool does not have or spells otherwise, or an item decided twice.
        Refusal: nothing is left to release.
    """
    by_id = {item.item_id: item for item in pool}
    wanted = list(by_id) if selected is None else list(dict.fromkeys(selected))
    _check_known("the selection", wanted, by_id)
    verdicts = None if decisions is None else _by_item(decisions)
    for source, ids in (
        ("the decisions", verdicts),
        ("the duplicates", dropped),
        ("--take-down", taken_down),
    ):
        _check_spelled(source, ids or (), by_id)
    reasons = {
        item_id: _why_withheld(by_id[item_id], verdicts, dropped or {}, taken_down or {})
        for item_id in wanted
    }
    kept = sorted((item_id for item_id in wanted if not reasons[item_id]), key=natural)
    if not kept:
        raise Refusal(_nothing_left(wanted, reasons), hint="see the decisions and duplicates files")
    corrected = _corrections((by_id[item_id] for item_id in kept), verdicts)
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
    item: Item,
    verdicts: Mapping[str, Decision] | None,
    dropped: Mapping[str, str],
    taken_down: Mapping[str, str],
) -> str:
    if item.item_id in taken_down:
        return f"taken down: {taken_down[item.item_id] or 'no reason given'}"
    if item.item_id in dropped:
        return dropped[item.item_id]
    if verdicts is None:
        return own_fault(item)
    if item.item_id not in verdicts:
        return "not reviewed"
    verdict = verdicts[item.item_id]
    return "" if verdict.decision == ACCEPTED else _told(verdict)


def _told(verdict: Decision) -> str:
    return f"review: {verdict.decision}" + (f": {verdict.reason}" if verdict.reason else "")


def own_fault(item: Item) -> str:
    """Return what the item's source says is wrong with it, unless it also says how to right it."""
    verdict = str(item.metadata.get(VERDICT) or "")
    if verdict in ("", VERDICTS[0]) or (verdict == WRONG_KEY and _own_correction(item)):
        return ""
    return verdict


def _own_correction(item: Item) -> str | None:
    """Return the key that the item's source says is right; None where it says no letter of it."""
    if item.metadata.get(VERDICT) != WRONG_KEY:
        return None
    right = item.metadata.get(CORRECTED)
    return right if right in {option.key for option in item.options} else None


def _by_item(decisions: Iterable[Decision]) -> dict[str, Decision]:
    found: dict[str, Decision] = {}
    for decision in decisions:
        if found.setdefault(decision.item_id, decision) != decision:
            raise InputError(f"the decisions name item {decision.item_id!r} twice, differently")
    return found


def _corrections(
    items: Iterable[Item], verdicts: Mapping[str, Decision] | None
) -> dict[str, tuple[str, str]]:
    corrected = {}
    for item in items:
        right = _own_correction(item) if verdicts is None else verdicts[item.item_id].corrected_answer
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
        told = ", ".join(unknown[:SHOWN_IDS])
        raise InputError(
            f"{source} names {len(unknown)} items that the pool does not have: {told}",
            hint="give the pool that the selection was made from",
        )


def _check_spelled(source: str, ids: Iterable[str], by_id: Mapping[str, Any]) -> None:
    """Refuse an id that no item has and that differs from an item's by its spelling alone."""
    strangers = [item_id for item_id in ids if item_id not in by_id]
    known = {fold_stem(item_id): item_id for item_id in by_id} if strangers else {}
    for item_id in strangers:
        if (own := known.get(fold_stem(item_id))) is not None:
            raise InputError(
                f"{source} name item {item_id!r}, and the pool has {own!r}: they differ by case, blanks or "
                "Unicode form alone",
                hint="spell the id as the pool does; else the item would be released as if nothing were said",
            )


def count_reasons(reasons: Iterable[str]) -> str:
    """Write how many items fell for which kind of reason: what stands before a colon."""
    kinds = Counter(reason.partition(":")[0] for reason in reasons)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


def _nothing_left(wanted: Sequence[str], reasons: Mapping[str, str]) -> str:
    counts = Counter(reasons[item_id] for item_id in wanted).most_common(SHOWN_IDS)
    told = "; ".join(f"{count} {reason}" for reason, count in counts) or "the selection is empty"
    return f"no item is left to release ({told})"
