"""The pool: its file, items as JSON Lines with unique ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

from kina_build.errors import InputError
from kina_build.items.importing.rawfile import Reject
from kina_build.items.model import Item
from kina_build.rows.jsonl import read_json, read_records, write_records
from kina_build.rows.tables import read_table


@dataclass(frozen=True)
class Pool(Sequence[Item]):
    """Items, what was refused and why, and how each file was read; a sequence of the items."""

    items: tuple[Item, ...]
    rejects: tuple[Reject, ...] = ()
    detected: Mapping[str, Any] = field(default_factory=dict)
    """format, encoding, delimiter, ...: one value where all files agree, else null; `files` has each."""
    patched: int | None = None
    """Items that patches changed; none: no patches were given."""

    @property
    def report(self) -> dict[str, Any]:
        """Return what `kina import --json` prints."""
        return {
            "items": len(self.items),
            "rejects": [reject.model_dump(exclude_none=True) for reject in self.rejects],
            "detected": dict(self.detected),
        } | ({} if self.patched is None else {"patched": self.patched})

    def write(self, path: Path | str) -> int:
        """Write the items as pool.jsonl; return how many."""
        return write_pool(path, self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, at: int) -> Item: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, at: int | slice) -> Item | tuple[Item, ...]:
        return self.items[at]

    def __str__(self) -> str:
        """Return the first line that `kina import` prints."""
        return f"{len(self.items)} items, {len(self.rejects)} rejects"


def read_pool(path: Path | str) -> list[Item]:
    """Read pool.jsonl in file order.

    Raises:
        InputError: missing, empty or malformed file, or an id used twice.
    """
    items = read_records(path, Item)
    repeated = [item_id for item_id, count in Counter(item.item_id for item in items).items() if count > 1]
    if repeated:
        raise InputError(
            f"{path}: item_id {repeated[0]!r} stands on more than one row ({len(repeated)} such ids)",
            hint="ids must be unique: `kina import` gives every row its own",
        )
    return items


def read_item_ids(path: Path) -> list[str]:
    """Read which items are meant: a selection.json (`item_ids`), or rows with an item_id.

    Raises:
        InputError: a file that is neither.
    """
    if path.suffix == ".json":
        document = read_json(path)
        ids = document.get("item_ids") if isinstance(document, dict) else document
        if isinstance(ids, list) and all(isinstance(i, str) for i in ids):
            return ids
        raise InputError(f"{path}: no list item_ids", hint="`kina select` writes it")
    rows = read_table(path)
    ids = [row.values.get("item_id", row.values.get("id")) for row in rows]
    if not all(isinstance(i, str) for i in ids):
        raise InputError(f"{path}: a row has no item_id")
    return ids


def write_pool(path: Path | str, items: Iterable[Item]) -> int:
    """Write items as pool.jsonl, sorted by id so that row order never matters; return how many."""
    ordered: list[Item] = sorted(items, key=lambda item: item.item_id)
    return write_records(path, ordered)
