"""Work on the items of a large pool, batch by batch, in several processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from kina_build.config import ItemRules
from kina_build.engine import map_in_processes
from kina_build.items.model import Item

BATCH = 500
"""Items a batch: some .1 s of work, and the step between two reports of progress."""

Result = TypeVar("Result")
Work = Callable[[Sequence[Item]], Result]


def count_processes(items: int, rules: ItemRules = ItemRules()) -> int:
    """Return how many processes are worth their start for so many items; 1: none but this one."""
    return max(1, min(rules.processes or os.cpu_count() or 1, items // rules.process_items))


def map_batches(work: Work[Result], items: Sequence[Item], processes: int = 1) -> Iterator[Result]:
    """Apply a function to batches of items and yield the results in the items' order.

    Args:
        work: a pure function of items, in a module; it may look at anything but their metadata.
        items: in any number.
        processes: as `map_in_processes` has it.

    Raises:
        KinaError: a process was killed.
    """
    batches = (items[start : start + BATCH] for start in range(0, len(items), BATCH))
    if processes < 2:
        yield from map(work, batches)
        return
    yield from map_in_processes(
        partial(_work, work),
        map(_pack, batches),
        processes,
        hint="set processes = 1 under [items] in kina.toml",
    )


def _pack(items: Sequence[Item]) -> list[str]:
    """Write items as JSON, which is read several times as fast as pickled models."""
    return [item.model_dump_json(exclude={"metadata"}) for item in items]


def _work(work: Work[Result], packed: Sequence[str]) -> Result:
    return work([Item.model_validate_json(line) for line in packed])
