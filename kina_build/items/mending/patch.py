"""Patches of items: only the named fields, only on the text they were made for, one after the other.

A file of patches is only added to. It survives a re-import, since items keep their ids, and
refuses what was changed in the meantime, since each patch knows the digest of the text it was
made for and of the text it leaves.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from kina_build.items.checking.explaining import check_explaining, explains
from kina_build.items.importing.rawfile import Reject, RowRefused
from kina_build.items.model import Item
from kina_build.rows.jsonl import canonical, read_records

TEXTS = ("question", "question_material", "correct_answer", "explanation", "question_source")
"""Fields of an item that a patch may name, beside options.B, options.B.explanation, options.B.source."""
OF_OPTION = ("answer", "explanation", "source")
BY_RULE = "kina fix"
"""Who made a patch that a repair proposed, whose changes leave the meaning as it was."""
NEEDED = frozenset({"question", "correct_answer", "answer"})
"""Fields that always have a text."""


class Change(BaseModel):
    """One field's old and new text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    field: str
    """question, correct_answer, explanation, options.B, options.B.explanation, ..."""
    old: str | None = None
    """None, and left out in the file: there was no text."""
    new: str | None = None
    """The same as old: the field was looked at and stays, as an explanation under a new key may."""
    why: str = Field(min_length=1)
    """The rule that asked for it, or a reason in words."""


class Patch(BaseModel):
    """What changes in one item, and for which text of it that was decided."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item_id: str
    text_sha: str
    """Digest of the item's texts before."""
    result_sha: str
    """Digest of the item's texts after."""
    changes: tuple[Change, ...] = Field(min_length=1)
    by: str = Field(min_length=1)
    """Who decided: a person, or "kina fix"."""


Placed = tuple[str, int, Patch]
"""A patch with its file and row."""


@dataclass(frozen=True)
class Patched:
    """Items after their patches, the ones that could not be patched, and how many were."""

    items: tuple[Item, ...]
    rejects: tuple[Reject, ...]
    changed: int


def text_digest(item: Item) -> str:
    """Hash all texts of an item that a patch may change."""
    options = [[one.key, one.answer, one.explanation, one.source] for one in item.options]
    texts = [getattr(item, name) for name in TEXTS]
    return hashlib.sha256(canonical([*texts, options]).encode()).hexdigest()[:16]


def field_of(item: Item, field: str) -> str | None:
    """Return the text of a field that a patch may name.

    Raises:
        RowRefused: the item has no such field.
    """
    if field in TEXTS:
        found: str | None = getattr(item, field)
        return found
    option, part = _option_of(item, field)
    return getattr(option, part)  # type: ignore[no-any-return]


def change_item(item: Item, new: Mapping[str, str | None]) -> Item:
    """Return an item with the new texts of some fields.

    Raises:
        RowRefused: the item has no such field, or would be left without a text or with a key that names none.
    """
    fields = {name: text for name, text in new.items() if name in TEXTS}
    options = {option.key: option for option in item.options}
    for name, text in new.items():
        if name.rpartition(".")[2] in NEEDED - {"answer"} and not text:
            raise RowRefused("patch_unsound", f"{name} would be left without a text")
        if name not in TEXTS:
            option, part = _option_of(item, name)
            if part == "answer" and not text:
                raise RowRefused("patch_unsound", f"option {option.key} would be left without a text")
            options[option.key] = options[option.key].model_copy(update={part: text})
    changed = item.model_copy(update={**fields, "options": tuple(options.values())})
    if "correct_answer" in new and not changed.right_keys:
        raise RowRefused("patch_unsound", f"the new key {changed.correct_answer!r} names no option")
    return changed


def make_patch(item: Item, changes: Iterable[tuple[str, str | None, str]], by: str) -> Patch:
    """Make the patch of one item.

    Args:
        item: as it is now.
        changes: field, new text and reason of each.
        by: who decided.

    Raises:
        RowRefused: as change_item; or the key changes and the explanation is not kept in step.
    """
    made = tuple(
        Change(field=field, old=field_of(item, field), new=new, why=why) for field, new, why in changes
    )
    after = change_item(item, {change.field: change.new for change in made})
    if by != BY_RULE:
        check_step(item, after, made)
    return Patch(
        item_id=item.item_id, text_sha=text_digest(item), result_sha=text_digest(after), changes=made, by=by
    )


def check_step(before: Item, after: Item, changes: Sequence[Change]) -> None:
    """Refuse a change of the right answer that leaves an explanation behind.

    Raises:
        RowRefused: the right answer changes and an explanation is not named among the changes, or it
            calls another option right than the new key.
    """
    if before.correct_text == after.correct_text:
        return
    named = {change.field for change in changes}
    for key in (None, *sorted({*before.right_keys} ^ {*after.right_keys})):
        field = "explanation" if key is None else f"options.{key}.explanation"
        if key is not None and key not in {option.key for option in before.options}:
            continue
        if explains(field_of(before, field) or "") and (field_of(before, field) or "") and field not in named:
            raise RowRefused(
                "patch_out_of_step",
                f"the right answer changes and {field} does not: name it too, as it is if it still fits",
            )
    for fault in check_explaining(after):
        if fault.rule == "explanation_contradicts_key" and fault.field == "explanation":
            raise RowRefused("patch_out_of_step", fault.message)


def read_patches(paths: Sequence[Path]) -> list[Placed]:
    """Read files of patches, in their order, each with its place.

    Raises:
        InputError: missing or malformed file.
    """
    return [
        (path.name, row, patch)
        for path in paths
        for row, patch in enumerate(read_records(path, Patch), start=1)
    ]


def apply_patches(items: Sequence[Item], patches: Sequence[Placed]) -> Patched:
    """Apply each item's patches, from the one that was made for its present text on.

    Args:
        items: a pool.
        patches: in the order they were made.

    Returns:
        Items in their order, without those whose patches do not fit; the latter among the rejects, as
        are patches for items that are not there. What a patch did already is not done again.
    """
    waiting: defaultdict[str, list[Placed]] = defaultdict(list)
    for placed in patches:
        waiting[placed[2].item_id].append(placed)
    kept: list[Item] = []
    rejects: list[Reject] = []
    changed = 0
    for item in items:
        own = waiting.pop(item.item_id, [])
        try:
            after = _apply_all(item, own)
        except RowRefused as fault:
            rejects.append(fault.at(*own[-1][:2], item.item_id))
            continue
        changed += after is not item
        kept.append(after)
    for item_id, own in waiting.items():
        lost = RowRefused("patch_without_item", f"no item {item_id!r} is here")
        rejects.append(lost.at(*own[0][:2], item_id))
    return Patched(tuple(kept), tuple(rejects), changed)


def _apply_all(item: Item, own: Sequence[Placed]) -> Item:
    if not own:
        return item
    state = text_digest(item)
    first = next((n for n, (_, _, patch) in enumerate(own) if patch.text_sha == state), None)
    if first is None:
        if own[-1][2].result_sha == state:
            return item
        raise RowRefused(
            "patch_stale", "its text is not the one that the patches were made for: make them anew"
        )
    for _, _, patch in own[first:]:
        if text_digest(item) != patch.text_sha:
            raise RowRefused(
                "patch_stale", "its patches do not follow each other: one was taken out or added"
            )
        item = _apply(item, patch)
    return item


def _apply(item: Item, patch: Patch) -> Item:
    for change in patch.changes:
        if field_of(item, change.field) != change.old:
            raise RowRefused(
                "patch_stale", f"{change.field} does not hold the text that the patch names as old"
            )
    after = change_item(item, {change.field: change.new for change in patch.changes})
    if patch.by != BY_RULE:
        check_step(item, after, patch.changes)
    if text_digest(after) != patch.result_sha:
        raise RowRefused("patch_stale", "the patch was edited by hand: its digest is of another text")
    return after


def _option_of(item: Item, field: str) -> tuple[Any, str]:
    head, _, rest = field.partition(".")
    key, _, part = rest.partition(".")
    option = next((one for one in item.options if one.key == key), None)
    part = part or "answer"
    if head != "options" or option is None or part not in OF_OPTION:
        raise RowRefused("patch_unknown_field", f"a patch cannot change {field!r}")
    return option, part
