"""What people decided about pairs and items: it wins, and it outlives re-runs."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal

from kina_build.dedup.compare.lexical import Reading
from kina_build.dedup.records import Record
from kina_build.errors import InputError
from kina_build.items.model import Item

IdPair = tuple[str, str]
"""Two item ids, the smaller one first."""

HASH_DIGITS = 16


class Override(Record):
    """One row of the overrides file."""

    decision: Literal["keep", "drop", "wrong_key", "same", "different"]
    """keep: this item stays, whatever its copies; drop: it goes; wrong_key: it goes, because its key is not
    the right one; same: one question; different: two questions."""
    item_id: str
    """An item's id, or the hash of its content (`--explain` prints it), which outlives new ids."""
    other_id: str | None = None
    """The second item of `same` and `different`."""
    letter: str | None = None
    """The right key of `wrong_key`, as the person sees it."""
    note: str | None = None
    """Why; it stands in the reason."""


@dataclass(frozen=True)
class Decided:
    """Overrides, told in ids of this pool."""

    kept: frozenset[str] = frozenset()
    same: frozenset[IdPair] = frozenset()
    different: frozenset[IdPair] = frozenset()
    dropped: Mapping[str, str] = field(default_factory=dict)
    """Items that go, and why."""
    unused: tuple[str, ...] = ()
    """Overrides that name no item of the pool, written out."""


def content_hash(reading: Reading) -> str:
    """Hash all that is shown of an item: question, options in order, key, passage."""
    return hashlib.sha256(reading.raw.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_DIGITS]


def resolve_overrides(
    overrides: Sequence[Override], readings: Sequence[Reading], items: Sequence[Item]
) -> Decided:
    """Tell overrides in the ids of a pool.

    Args:
        overrides: what people decided.
        readings: of the pool's items.
        items: the same, as they are.

    Raises:
        InputError: `same` or `different` without a second item, or both said of one pair; an item both
            kept and dropped; a right letter that no option has, or that is the key already.
    """
    by_id = {item.item_id: item for item in items}
    named: dict[str, set[str]] = defaultdict(set)
    for reading in readings:
        named[content_hash(reading)].add(reading.item_id)
        named[reading.item_id].add(reading.item_id)
    kept: set[str] = set()
    dropped: dict[str, str] = {}
    pairs: dict[str, set[IdPair]] = {"same": set(), "different": set()}
    unused: list[str] = []
    for row in overrides:
        members = [named.get(name, set()) for name in _names(row)]
        if not all(members):
            unused.append(" ".join([row.decision, *_names(row)]))
        elif row.decision == "keep":
            # one of several byte-equal copies is enough
            kept.add(min(members[0]))
        elif row.decision in {"drop", "wrong_key"}:
            for name in members[0]:
                _check_letter(row, by_id[name])
            dropped |= dict.fromkeys(members[0], _reason(row))
        elif not (named_pairs := _pairs_between(*members)):
            raise InputError(f"override {row.decision!r} names {row.item_id!r} twice: it needs two items")
        else:
            pairs[row.decision] |= named_pairs
    _check_agreement(pairs, kept & dropped.keys())
    same, different = (frozenset(pairs[name]) for name in ("same", "different"))
    return Decided(frozenset(kept), same, different, dict(sorted(dropped.items())), tuple(unused))


def _reason(row: Override) -> str:
    reason = "a person dropped it"
    if row.decision == "wrong_key":
        reason = f"a person said: its key is wrong, {row.letter or 'no option'} is right"
    return f"{reason} ({row.note})" if row.note else reason


def _check_letter(row: Override, item: Item) -> None:
    if row.decision != "wrong_key" or not row.letter:
        return
    keys = [option.key for option in item.options]
    if keys and row.letter not in keys:
        raise InputError(
            f"override wrong_key of {item.item_id!r}: no option {row.letter!r}",
            hint=f"its options are {', '.join(keys)}",
        )
    if row.letter == item.correct_answer:
        raise InputError(
            f"override wrong_key of {item.item_id!r}: {row.letter} is its key already",
            hint="give the letter that is right, or none",
        )


def _names(row: Override) -> list[str]:
    if row.decision in {"keep", "drop", "wrong_key"}:
        return [row.item_id]
    if not row.other_id:
        raise InputError(
            f"override {row.decision!r} of item {row.item_id!r} names no other_id",
            hint="`same` and `different` need item_id and other_id; `keep`, `drop` and `wrong_key` item_id",
        )
    return [row.item_id, row.other_id]


def _pairs_between(ones: set[str], others: set[str]) -> set[IdPair]:
    return {(min(a, b), max(a, b)) for a in ones for b in others if a != b}


def _check_agreement(pairs: Mapping[str, set[IdPair]], torn: Set[str]) -> None:
    if torn:
        raise InputError(f"overrides both keep and drop {min(torn)!r}")
    both = sorted(pairs["same"] & pairs["different"])
    if both:
        raise InputError(f"overrides call {both[0][0]!r} and {both[0][1]!r} both same and different")
