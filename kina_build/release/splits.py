"""The splits of a release: a share of every stratum by keyed hash, copies together; and their files' names.

A stream of random numbers would tie each item's draw to the items before it. A keyed hash does not:
dropping, adding or reordering items leaves every other draw as it was.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator

from kina_build.config import ReleaseRules
from kina_build.items.model import Item

TEST = "test"
DEV = "dev"
SPLITS = (TEST, DEV)
"""In the order in which they are written and listed."""


def assign_splits(
    items: Sequence[Item],
    clusters: Iterable[Sequence[str]] = (),
    *,
    seed: int,
    rules: ReleaseRules = ReleaseRules(),
    earlier: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Give every item a split: `dev_share` of each taxonomy path to dev, the rest to test.

    A path of n groups gives floor(dev_share * n + u) of them to dev, with u drawn once a
    path, so that the expected share is exact however small the paths are. Every path that
    has an item keeps at least one in test.

    Args:
        items: the items of the release, in any order.
        clusters: ids of near-copies; a cluster goes to one split whole.
        seed: of the draws.
        rules: dev_share.
        earlier: splits of the release before this one; they are kept.

    Returns:
        The split of each item_id.
    """
    group_of = group([item.item_id for item in items], clusters)
    members: dict[str, list[Item]] = defaultdict(list)
    for item in sorted(items, key=lambda item: natural(item.item_id)):
        members[group_of[item.item_id]].append(item)
    chosen = _kept(members, earlier or {})
    strata: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, group_items in members.items():
        if name not in chosen:
            strata[group_items[0].path].append(name)
    for path, names in strata.items():
        chosen |= _share_out(path, names, seed, rules.dev_share)
    _fill_test(members, chosen)
    return {item.item_id: chosen[name] for name, group_items in members.items() for item in group_items}


def group(ids: Iterable[str], clusters: Iterable[Sequence[str]]) -> dict[str, str]:
    """Name each id's group by its first id in natural order; clusters that share an id merge."""
    parent = {item_id: item_id for item_id in ids}

    def root(item_id: str) -> str:
        while parent[item_id] != item_id:
            parent[item_id] = parent[parent[item_id]]
            item_id = parent[item_id]
        return item_id

    for cluster in clusters:
        present = [item_id for item_id in cluster if item_id in parent]
        for one, other in pairwise(present):
            first, second = sorted((root(one), root(other)), key=natural)
            parent[second] = first
    return {item_id: root(item_id) for item_id in parent}


def _kept(members: Mapping[str, Sequence[Item]], earlier: Mapping[str, str]) -> dict[str, str]:
    kept: dict[str, str] = {}
    for name, items in members.items():
        past = {earlier[item.item_id] for item in items if item.item_id in earlier}
        if past:
            # what was once public practice can never become a fair test
            kept[name] = DEV if DEV in past else TEST
    return kept


def _share_out(path: tuple[str, ...], names: Sequence[str], seed: int, share: float) -> dict[str, str]:
    wanted = math.floor(share * len(names) + draw_unit(seed, "stratum", *path))
    drawn = sorted(names, key=lambda name: (draw(seed, "split", name), name))
    dev = set(drawn[: min(wanted, len(names) - 1)])
    return {name: DEV if name in dev else TEST for name in names}


def _fill_test(members: Mapping[str, Sequence[Item]], chosen: dict[str, str]) -> None:
    tested = {item.path for name, items in members.items() if chosen[name] == TEST for item in items}
    for name, items in members.items():
        if chosen[name] == DEV and any(item.path not in tested for item in items):
            chosen[name] = TEST
            tested |= {item.path for item in items}


def draw(seed: int, *names: str) -> int:
    """Draw an integer in [0, 2^64) for a seed and names; names are told apart, not joined.

    Args:
        seed: of the release.
        names: the purpose first, then the record, e.g. ("letters", item_id, "3").
    """
    body = "\0".join((str(seed), *names))
    return int.from_bytes(hashlib.sha256(body.encode()).digest()[:8], "big")


def draw_unit(seed: int, *names: str) -> float:
    """Draw a number in [0, 1) for a seed and names."""
    return (draw(seed, *names) >> 11) / (1 << 53)


def natural(item_id: str) -> tuple[int, int, str, str]:
    """Order ids so that whole numbers stand in counting order, before all other ids."""
    if item_id.isascii() and item_id.isdigit():
        digits = item_id.lstrip("0")  # int() refuses thousands of digits
        return 0, len(digits), digits, item_id
    return 1, 0, "", item_id


RECORD = "release.json"
CARD = "README.md"
CROISSANT = "croissant.json"
CHANGES = "changes.json"
ESTIMATOR = "estimator.json"
SUMS = "SHA256SUMS"


def rows_file(split: str) -> str:
    """Return the name of a split's JSON Lines."""
    return f"{split}.jsonl"


def parquet_file(split: str) -> str:
    """Return the name of a split's parquet file."""
    return f"data/{split}.parquet"


def kina_file(split: str) -> str:
    """Return the name of a split in KINA's own form."""
    return "KINA.json" if split == TEST else f"KINA.{split}.json"


def _check_name(name: str) -> str:
    if not (name.isascii() and name.isidentifier()):
        raise ValueError("use letters, digits and underscores")
    return name


def _check_split(name: str) -> str:
    if name not in SPLITS:
        raise ValueError(f"splits are {' and '.join(SPLITS)}")
    return name


Split = Annotated[str, AfterValidator(_check_split)]
"""Also the name of files."""


Name = Annotated[str, AfterValidator(_check_name)]
"""Also part of file names."""


TAKEN = frozenset(
    {
        *("Path", "Task", "Sample", "task", "choice", "multiple_choice", "json_dataset", "to_sample"),
        *("RELEASE", "TEMPLATE", "KEPT", "list", "str"),
    }
)
"""Names that the function of an inspect-ai task must not take: its file means something else by them."""
