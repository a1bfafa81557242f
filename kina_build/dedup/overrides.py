"""What people decided about pairs and items: it wins, and it outlives re-runs."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kina_build.dedup.lexical import Reading
from kina_build.dedup.records import Record
from kina_build.errors import InputError

IdPair = tuple[str, str]
"""Two item ids, the smaller one first."""

HASH_DIGITS = 16


class Override(Record):
    """One row of the overrides file."""

    decision: Literal["keep", "same", "different"]
    """keep: this item stays, whatever its copies; same: one question; different: two questions."""
    item_id: str
    """An item's id, or the hash of its content (`--explain` prints it), which outlives new ids."""
    other_id: str | None = None
    """The second item of `same` and `different`."""
    note: str | None = None


@dataclass(frozen=True)
class Decided:
    """Overrides, told in ids of this pool."""

    kept: frozenset[str] = frozenset()
    same: frozenset[IdPair] = frozenset()
    different: frozenset[IdPair] = frozenset()
    unused: tuple[str, ...] = ()
    """Overrides that name no item of the pool, written out."""


def content_hash(reading: Reading) -> str:
    """Hash all that is shown of an item: question, options in order, key, passage."""
    return hashlib.sha256(reading.raw.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_DIGITS]


def resolve_overrides(overrides: Sequence[Override], readings: Sequence[Reading]) -> Decided:
    """Tell overrides in the ids of a pool.

    Raises:
        InputError: `same` or `different` without a second item, or both said of one pair.
    """
    named: dict[str, set[str]] = defaultdict(set)
    for reading in readings:
        named[content_hash(reading)].add(reading.item_id)
        named[reading.item_id].add(reading.item_id)
    kept: set[str] = set()
    pairs: dict[str, set[IdPair]] = {"same": set(), "different": set()}
    unused: list[str] = []
    for row in overrides:
        members = [named.get(name, set()) for name in _names(row)]
        if not all(members):
            unused.append(" ".join([row.decision, *_names(row)]))
        elif row.decision == "keep":
            # one of several byte-equal copies is enough
            kept.add(min(members[0]))
        else:
            pairs[row.decision] |= _pairs_between(*members)
    _check_agreement(pairs)
    return Decided(frozenset(kept), frozenset(pairs["same"]), frozenset(pairs["different"]), tuple(unused))


def _names(row: Override) -> list[str]:
    if row.decision == "keep":
        return [row.item_id]
    if not row.other_id:
        raise InputError(
            f"override {row.decision!r} of item {row.item_id!r} names no other_id",
            hint="`same` and `different` need item_id and other_id; `keep` needs item_id",
        )
    return [row.item_id, row.other_id]


def _pairs_between(ones: set[str], others: set[str]) -> set[IdPair]:
    return {(min(a, b), max(a, b)) for a in ones for b in others if a != b}


def _check_agreement(pairs: Mapping[str, set[IdPair]]) -> None:
    both = sorted(pairs["same"] & pairs["different"])
    if both:
        raise InputError(f"overrides call {both[0][0]!r} and {both[0][1]!r} both same and different")
