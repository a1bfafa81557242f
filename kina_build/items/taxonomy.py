"""A taxonomy as a file that can be checked: leaves of three levels with codes, and the items that each needs.

A table with the columns code, discipline, field, subfield, and, where they are known, items (how
many a leaf needs), most (how many it may have) and uncovered (why a leaf has none).
"""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from kina_build.errors import Refusal
from kina_build.items.model import Item
from kina_build.items.options import TaxonomyOptions
from kina_build.items.questions import read_pool_or_import
from kina_build.items.text import fold_stem
from kina_build.rows.tables import read_typed, write_csv

Path3 = tuple[str, str, str]
"""Discipline, field and subfield."""

LEVELS = ("discipline", "field", "subfield")


class Leaf(BaseModel):
    """One leaf of a taxonomy: a row of its file."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    code: str = Field(min_length=1)
    discipline: str = Field(min_length=1)
    field: str = Field(min_length=1)
    subfield: str = Field(min_length=1)
    items: int | None = Field(None, ge=0)
    """Items that the leaf needs at least."""
    most: int | None = Field(None, ge=0)
    """Items that it may have at most; none: any number."""
    uncovered: str | None = None
    """Why no item covers it; none: some item must."""

    @model_validator(mode="after")
    def _ordered(self) -> Leaf:
        if self.items is not None and self.most is not None and self.items > self.most:
            raise ValueError(f"needs {self.items} items and may have {self.most}")
        if self.uncovered and self.items:
            raise ValueError(f"is listed as uncovered and needs {self.items} items")
        return self

    @property
    def path(self) -> Path3:
        """Return the levels, coarse to fine."""
        return self.discipline, self.field, self.subfield


@dataclass(frozen=True)
class TaxonomyFault:
    """What is wrong with a taxonomy, or with a pool by it."""

    rule: str
    place: str
    """A code, or an item's id."""
    message: str


@dataclass(frozen=True)
class Coverage:
    """A taxonomy beside a pool."""

    leaves: tuple[Leaf, ...]
    counts: Mapping[str, int]
    """Code to the items that stand in the leaf."""
    faults: tuple[TaxonomyFault, ...]
    has_pool: bool

    @property
    def report(self) -> dict[str, Any]:
        """Return what `kina taxonomy --json` prints."""
        by_discipline: defaultdict[str, dict[str, int]] = defaultdict(
            lambda: {"leaves": 0, "covered": 0, "items": 0}
        )
        for leaf in self.leaves:
            one = by_discipline[leaf.discipline]
            one["leaves"] += 1
            one["covered"] += self.counts[leaf.code] > 0
            one["items"] += self.counts[leaf.code]
        return {
            "leaves": len(self.leaves),
            "covered": sum(count > 0 for count in self.counts.values()) if self.has_pool else None,
            "listed_uncovered": sum(bool(leaf.uncovered) for leaf in self.leaves),
            "disciplines": dict(by_discipline),
            "faults": [vars(fault) for fault in self.faults],
        }

    def write_quotas(self, path: Path) -> int:
        """Write a quota file for `kina select`, one row a leaf by its subfield; return how many.

        Raises:
            Refusal: two leaves share a subfield's name, so that a stratum would mean both.
        """
        names = Counter(leaf.subfield for leaf in self.leaves)
        twice = next((name for name, count in names.items() if count > 1), None)
        if twice is not None:
            raise Refusal(
                f"subfield {twice!r} stands in {names[twice]} leaves: as a stratum it would mean all of them",
                hint="give each leaf a subfield name of its own",
            )
        rows = [
            {"stratum": one.subfield, "lower": one.items or 0, "upper": 0 if one.uncovered else one.most}
            for one in self.leaves
        ]
        return write_csv(path, ("stratum", "lower", "upper"), rows)


def read_taxonomy(path: Path) -> tuple[Leaf, ...]:
    """Read the leaves of a taxonomy, from CSV, JSON Lines or Parquet.

    Raises:
        InputError: missing or empty file.
        RowErrors: rows without three levels and a code, or with counts out of order.
    """
    return tuple(read_typed(path, Leaf))


def review_taxonomy(options: TaxonomyOptions) -> Coverage:
    """Check a taxonomy, and a pool by it, as `kina taxonomy` does.

    Raises:
        InputError: a file that cannot be read.
        RowErrors: faulty rows of the taxonomy.
    """
    leaves = read_taxonomy(options.taxonomy)
    items = read_pool_or_import(options.pool)[0] if options.pool is not None else None
    return cover(leaves, items)


def cover(leaves: Sequence[Leaf], items: Sequence[Item] | None = None) -> Coverage:
    """Check a taxonomy by itself, and count a pool's items in its leaves.

    Args:
        leaves: of the taxonomy.
        items: a pool; none: only the taxonomy is looked at.
    """
    faults = [*_check_codes(leaves), *_check_names(leaves)]
    counts: Counter[Path3] = Counter()
    if items is not None:
        counts.update((item.discipline, item.field, item.subfield) for item in items)
        faults += [*_check_paths(leaves, items), *_check_counts(leaves, counts)]
    return Coverage(
        tuple(leaves), {leaf.code: counts[leaf.path] for leaf in leaves}, tuple(faults), items is not None
    )


def _check_codes(leaves: Sequence[Leaf]) -> Iterator[TaxonomyFault]:
    """Find codes and leaves that stand twice, and dotted codes that do not follow the levels."""
    for code, count in Counter(leaf.code for leaf in leaves).items():
        if count > 1:
            yield TaxonomyFault("code_repeated", code, f"stands on {count} leaves")
    first: dict[Path3, str] = {}
    for leaf in leaves:
        if first.setdefault(leaf.path, leaf.code) != leaf.code:
            yield TaxonomyFault("leaf_repeated", leaf.code, f"the same leaf as {first[leaf.path]}")
    if all(len(leaf.code.split(".")) == len(LEVELS) for leaf in leaves):
        yield from _check_parts(leaves, 1)
        yield from _check_parts(leaves, 2)


def _check_parts(leaves: Sequence[Leaf], depth: int) -> Iterator[TaxonomyFault]:
    """Find beginnings of dotted codes that stand for two names, and names with two of them."""
    names: dict[str, tuple[str, ...]] = {}
    codes: dict[tuple[str, ...], str] = {}
    for leaf in leaves:
        head, levels = ".".join(leaf.code.split(".")[:depth]), leaf.path[:depth]
        if names.setdefault(head, levels) != levels:
            message = f"{head} is {' > '.join(names[head])} elsewhere, here {' > '.join(levels)}"
            yield TaxonomyFault("code_out_of_step", leaf.code, message)
        elif codes.setdefault(levels, head) != head:
            message = f"{' > '.join(levels)} has the code {codes[levels]} elsewhere, here {head}"
            yield TaxonomyFault("code_out_of_step", leaf.code, message)


def _check_names(leaves: Sequence[Leaf]) -> Iterator[TaxonomyFault]:
    """Find levels that are spelled in two ways."""
    for depth, level in enumerate(LEVELS, start=1):
        spelled: dict[tuple[str, ...], tuple[str, ...]] = {}
        for leaf in leaves:
            path = leaf.path[:depth]
            known = spelled.setdefault(tuple(map(fold_stem, path)), path)
            if known[-1] != path[-1]:
                yield TaxonomyFault(
                    "spelled_twice", leaf.code, f"{level} {path[-1]!r} is {known[-1]!r} elsewhere"
                )


def _check_paths(leaves: Sequence[Leaf], items: Sequence[Item]) -> Iterator[TaxonomyFault]:
    """Find items that stand in no leaf."""
    known = {leaf.path for leaf in leaves}
    shown = {" > ".join(path): path for path in known}
    for item in items:
        path = (item.discipline, item.field, item.subfield)
        if path not in known:
            written = " > ".join(level or "(none)" for level in path)
            near = difflib.get_close_matches(written, shown, n=1, cutoff=0.8)
            message = f"{written} is no leaf" + (f"; perhaps {near[0]}" if near else "")
            yield TaxonomyFault("unknown_path", item.item_id, message)


def _check_counts(leaves: Sequence[Leaf], counts: Mapping[Path3, int]) -> Iterator[TaxonomyFault]:
    """Find leaves with too few items, with too many, or with some although they are listed as uncovered."""
    for leaf in leaves:
        count = counts.get(leaf.path, 0)
        where = " > ".join(leaf.path)
        if leaf.uncovered:
            if count:
                yield TaxonomyFault(
                    "covered_after_all", leaf.code, f"{where}: {count} items, listed as uncovered"
                )
        elif not count:
            yield TaxonomyFault("leaf_uncovered", leaf.code, f"{where}: no item, and no reason is given")
        elif count < (leaf.items or 0):
            yield TaxonomyFault("leaf_short", leaf.code, f"{where}: {count} of {leaf.items} items")
