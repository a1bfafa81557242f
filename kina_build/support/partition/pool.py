"""A pool larger than memory, cut into parts by id: only its ids are ever held all at once."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from zlib import crc32

from pydantic import ValidationError

from kina_build.errors import InputError, Refusal, RowErrors, RowFault
from kina_build.items.model import Item
from kina_build.items.pool import read_pool
from kina_build.rows.jsonl import describe
from kina_build.rows.source import STREAM
from kina_build.rows.workfolders import make_work
from kina_build.support.anchors import domain_of
from kina_build.support.partition.dealing import Dealer, iter_json

ID_BYTES = 100
"""Resident memory of one id of the pool."""
ITEM_BYTES = 4000
"""Resident memory of one item (3,200 measured, with its text) of the part that is being made."""
LEAST_ITEMS = 1000
"""Items of a part, if there are so many: smaller parts would be files beyond number."""


@dataclass(frozen=True)
class PartitionedPool:
    """The files of a pool's parts, and what must be known of all items."""

    paths: tuple[Path, ...]
    """Items of each part, in the order of the pool."""
    firsts: tuple[str, ...]
    """Least item_id of each part."""
    count: int
    """Items in all."""
    domains: tuple[Item, ...]
    """One item of each domain."""
    sample: tuple[Item, ...]
    """About as many items as were asked for, whatever the order of the pool."""

    def read_ids(self) -> Iterator[list[str]]:
        """Read the sorted ids of each part."""
        for path in self.paths:
            yield [item.item_id for item in read_partition(path)]


def partition_pool(pool: Path, folder: Path, *, size: Callable[[int], int], sample: int) -> PartitionedPool:
    """Cut a pool into parts, by id; each part becomes a file.

    Args:
        pool: pool.jsonl; "-" is copied into the folder first.
        folder: where the parts' files go.
        size: items in all to items of a part, such as `fit_partition`.
        sample: items wanted as a sample.

    Raises:
        InputError: missing, empty or malformed file, or an id used twice.
        UsageError: the folder holds something of others.
        Refusal: what `size` raises.
    """
    source = _spool(folder) if pool == STREAM else pool
    ids, domains, picked = _look_through(source, max(1, count_lines(source) // sample))
    ids.sort()
    repeated = next((one for one, two in pairwise(ids) if one == two), None)
    if repeated is not None:
        raise InputError(
            f"{pool}: item_id {repeated!r} stands on more than one row",
            hint="ids must be unique: `kina import` gives every row its own",
        )
    firsts = ids[:: size(len(ids))]
    make_work(folder)
    dealer = Dealer(folder, "items", firsts)
    for row in iter_json(source):
        # whatever a JSON escape can bring goes in as it came out
        dealer.deal(str(row.values["item_id"]), json.dumps(row.values), row.line)
    dealer.put_down()
    return PartitionedPool(dealer.paths, tuple(firsts), len(ids), tuple(domains), tuple(picked))


def fit_partition(count: int, *, most: int, memory_mb: int, base_bytes: int, item_bytes: int) -> int:
    """Return how many items a part may have in the memory that is left beside the ids of all.

    Args:
        count: items in all.
        most: items of a part at most.
        memory_mb: resident memory to keep to, in 10^6 bytes.
        base_bytes: resident memory of the program, its packages and models.
        item_bytes: what an item of the part takes while the part is made.

    Raises:
        Refusal: not even LEAST_ITEMS fit.
    """
    held = base_bytes + ID_BYTES * count
    fitting = (memory_mb * 1_000_000 - held) // item_bytes
    least = min(LEAST_ITEMS, most, count)
    if fitting < least:
        needed = -(-(held + least * item_bytes) // 1_000_000)
        raise Refusal(
            f"{memory_mb} MB of memory is too little for {count} items",
            hint=f"--memory {needed} is the least",
        )
    return int(min(most, fitting))


def read_partition(path: Path) -> list[Item]:
    """Read the items of one part, sorted by id."""
    return sorted(read_pool(path), key=lambda item: item.item_id)


def count_lines(path: Path) -> int:
    """Count the lines of a file.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", hint="check the path and the folder you are in") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _spool(folder: Path) -> Path:
    make_work(folder)
    copy = folder / "stdin.jsonl"
    with copy.open("wb") as out:
        shutil.copyfileobj(sys.stdin.buffer, out)
    return copy


def _look_through(source: Path, step: int) -> tuple[list[str], list[Item], list[Item]]:
    """Check every item; return all ids, an item of each domain, and one item in `step`."""
    ids: list[str] = []
    domains: dict[str, Item] = {}
    picked: list[Item] = []
    faults: list[RowFault] = []
    try:
        for row in iter_json(source):
            try:
                item = Item.model_validate(row.values)
            except ValidationError as error:
                faults.extend(RowFault(str(source), row.line, text) for text in describe(error))
                continue
            ids.append(item.item_id)
            domains.setdefault(domain_of(item), item)
            if crc32(item.item_id.encode("utf-8", "surrogatepass")) % step == 0:
                picked.append(item)
    except RowErrors as error:
        faults.extend(error.faults)
    if faults:
        faults.sort(key=lambda fault: fault.line)
        raise RowErrors(faults, hint="each line must be a JSON object of kind Item")
    if not ids:
        raise InputError(f"{source}: the file is empty")
    return ids, list(domains.values()), picked
