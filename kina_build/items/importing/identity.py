"""Which row is which item: ids that are unique whatever the order of rows, versions in several languages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from kina_build.errors import UsageError
from kina_build.items.importing.assemble import Draft
from kina_build.items.importing.rawfile import RawFile, Reject, RowRefused
from kina_build.items.model import PARALLEL, Item
from kina_build.rows.jsonl import canonical


def name_versions(raw: RawFile, drafts: Sequence[Draft]) -> list[Draft]:
    """Note in each item what its versions in other files share: its own id, else the number of its row.

    Raises:
        UsageError: rows without ids in a file with rows that could not be read: their numbers are not known.
    """
    rows = {row.line: number for number, row in enumerate(raw.rows, start=1)}
    if raw.rejects and not all(draft.own_id for draft in drafts):
        raise UsageError(
            f"{raw.name}: {len(raw.rejects)} rows cannot be read, so the numbers of the others are not known",
            hint="mend them first, or give the rows ids",
        )
    return [
        _noting(draft, draft.item.item_id if draft.own_id else f"row {rows[draft.line]}") for draft in drafts
    ]


def _noting(draft: Draft, name: str) -> Draft:
    metadata = {**draft.item.metadata, PARALLEL: name}
    return replace(draft, item=draft.item.model_copy(update={"metadata": metadata}))


def assign_ids(drafts: Sequence[Draft]) -> tuple[list[Item], list[Reject]]:
    """Make ids unique, whatever the order of rows.

    Rows without an id of their own that say the same get their content hash with a
    counter. A source id that stands on different rows is refused on all of them; rows
    that are equal throughout are kept once.
    """
    groups: defaultdict[str, list[Draft]] = defaultdict(list)
    for draft in drafts:
        groups[draft.item.item_id].append(draft)
    items: list[Item] = []
    rejects: list[Reject] = []
    for item_id, group in groups.items():
        if len(group) == 1:
            items.append(group[0].item)
        elif not any(draft.own_id for draft in group):
            items += _count_up(item_id, group)
        else:
            kept, refused = _refuse_repeats(item_id, group)
            items += kept
            rejects += refused
    return items, rejects


def _count_up(item_id: str, group: Sequence[Draft]) -> list[Item]:
    ordered = sorted(
        (draft.item for draft in group), key=lambda item: canonical(item.model_dump(mode="json"))
    )
    again = [
        item.model_copy(update={"item_id": f"{item_id}-{n}"}) for n, item in enumerate(ordered[1:], start=2)
    ]
    return [ordered[0], *again]


def _refuse_repeats(item_id: str, group: Sequence[Draft]) -> tuple[list[Item], list[Reject]]:
    places = sorted((draft.file, draft.line) for draft in group)
    first = f"{places[0][0]}:{places[0][1]}"
    if all(draft.item == group[0].item for draft in group):
        fault = RowRefused("row_repeated", f"the same row as {first}")
        return [group[0].item], [fault.at(file, line, item_id) for file, line in places[1:]]
    fault = RowRefused(
        "id_repeated", f"id {item_id!r} stands on {len(group)} different rows, first at {first}"
    )
    return [], [fault.at(file, line, item_id) for file, line in places]


def prefixed(draft: Draft, stem: str) -> Draft:
    """Put the file's name before an item's own id."""
    if not draft.own_id:
        return draft
    item = draft.item.model_copy(update={"item_id": f"{stem}:{draft.item.item_id}"})
    return replace(draft, item=item)
