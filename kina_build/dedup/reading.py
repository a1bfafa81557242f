"""A duplicates.json as other rooms read it: loosely, whatever version or tool wrote it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import combinations, product
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from kina_build.rows.jsonl import read_document

Edge = tuple[str, str]


class _Known(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class KnownDrop(_Known):
    """What others need of a dropped item."""

    item_id: str
    kept_id: str = ""
    rule: str = ""
    reason: str = ""


class KnownHeld(_Known):
    """What others need of a held item."""

    item_id: str
    other_ids: tuple[str, ...] = ()


class KnownCluster(_Known):
    """What others need of a cluster."""

    item_ids: tuple[str, ...]
    status: str = ""


class KnownDuplicates(_Known):
    """What others need of a duplicates.json, whatever version or tool wrote it."""

    kept: tuple[str, ...] = ()
    dropped: tuple[KnownDrop, ...] = ()
    held: tuple[KnownHeld, ...] = ()
    clusters: tuple[KnownCluster, ...] = ()
    conflict_edges: tuple[Edge, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    encoder: str = ""
    revision: str = ""
    threshold: float | None = None


def spread_edges(
    edges: Iterable[Edge], groups: Iterable[Sequence[str]], gone: Set[str] = frozenset()
) -> Iterator[Edge]:
    """Yield every pair that edges and groups of equal items speak of.

    Args:
        edges: pairs that name of each group its first item only, or it with another of the group.
        groups: items of which at most one is taken.
        gone: items that are not taken anyway; no pair of a group names them.
    """
    groups = [tuple(group) for group in groups]
    members = {group[0]: [name for name in group if name not in gone] for group in groups}
    first_of = {name: group[0] for group in groups for name in group}
    for one, other in edges:
        if first_of.get(one, one) != first_of.get(other, other):
            yield from product(members.get(one, [one]), members.get(other, [other]))
    for names in members.values():
        yield from combinations(names, 2)


def read_duplicates(path: Path) -> KnownDuplicates:
    """Read a duplicates.json loosely: what is there of what others need.

    Raises:
        InputError: missing, or no such document.
    """
    return read_document(path, KnownDuplicates)
