"""The pool file: items as JSON Lines, ids unique."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from kina_build.errors import InputError
from kina_build.items.model import Item
from kina_build.jsonl import read_records, write_records


def read_pool(path: Path) -> list[Item]:
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


def write_pool(path: Path, items: Iterable[Item]) -> int:
    """Write items as pool.jsonl, sorted by id so that row order never matters; return how many."""
    ordered: list[Item] = sorted(items, key=lambda item: item.item_id)
    return write_records(path, ordered)
