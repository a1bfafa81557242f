"""Labels that people give for the reference bank: of items, and of pairs; and what to label."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from kina_build.config import SupportRules
from kina_build.errors import RowErrors
from kina_build.items.model import Item
from kina_build.rows.tables import Row, read_table, read_typed
from kina_build.support.anchors import domain_of, stratum_of
from kina_build.support.judge.agreement import Mark, compare_or_refuse

ITEM_COLUMNS = ("item_id", "aligned", "domain", "question", "answer")
PAIR_COLUMNS = ("item_id", "other_id", "support", "duplicate", "question", "other_question")


class ItemLabel(BaseModel):
    """Whether an item is a sound test of its domain."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str = Field(min_length=1)
    aligned: bool
    judge: str = ""
    """Who says so; where a file does not say it, its name."""


class PairLabel(BaseModel):
    """Whether two items (or an item and an anchor) test the same knowledge, or are copies."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str = Field(min_length=1)
    other_id: str = Field(min_length=1)
    """An item, or an anchor."""
    support: bool
    """Answering the one shows the knowledge that the other asks for."""
    duplicate: bool
    """Both would not be kept in one test."""
    judge: str = ""
    """Who says so; where a file does not say it, its name."""

    @property
    def pair(self) -> tuple[str, str]:
        """Return the two ids in order: a pair has no direction."""
        return min(self.item_id, self.other_id), max(self.item_id, self.other_id)


def read_item_labels(paths: Path | Sequence[Path], known: Container[str]) -> list[ItemLabel]:
    """Read item labels; columns besides item_id, aligned and judge are ignored.

    Raises:
        InputError: missing or empty file.
        RowErrors: rows that are no labels (a blank one too), about an unknown item, or given twice.
    """
    labels = _signed(paths, read_typed(paths, ItemLabel))
    _check_known(paths, [("item_id", label.item_id) for label in labels], 1, known)
    _check_single(paths, [(label.judge, label.item_id) for label in labels])
    return labels


def read_pair_labels(paths: Path | Sequence[Path], known: Container[str]) -> list[PairLabel]:
    """Read pair labels; columns besides the ids, support, duplicate and judge are ignored.

    Raises:
        InputError: missing or empty file.
        RowErrors: rows that are no labels (a blank one too), about an unknown item or anchor, of an item
            with itself, or given twice.
    """
    labels = _signed(paths, read_typed(paths, PairLabel))
    ids = [pair for row in labels for pair in (("item_id", row.item_id), ("other_id", row.other_id))]
    _check_known(paths, ids, 2, known)
    alone = [
        row.fault(f"other_id: {label.item_id!r} is paired with itself")
        for row, label in zip(read_table(paths), labels, strict=True)
        if label.item_id == label.other_id
    ]
    if alone:
        raise RowErrors(alone)
    _check_single(paths, [(row.judge, " and ".join(row.pair)) for row in labels])
    return labels


Label = TypeVar("Label", ItemLabel, PairLabel)


@dataclass(frozen=True)
class Settled(Generic[Label]):
    """One label an item or pair, and how far those who gave several agree."""

    labels: list[Label]
    overlap: int
    """Items or pairs that more than one expert labelled."""
    disputed: tuple[str, ...]
    """Those without a majority, which are left out."""
    agreement: Mapping[str, list[dict[str, Any]]]
    """By column: every two experts, as `compare_judges` has it."""

    def describe(self) -> dict[str, Any]:
        """Return what is told of them."""
        return {"overlap": self.overlap, "disputed": list(self.disputed), "agreement": dict(self.agreement)}


def settle_labels(labels: Sequence[Label], rules: SupportRules = SupportRules()) -> Settled[Label]:
    """Take the majority of what experts say of an item or pair, column by column; a tie leaves it out.

    Raises:
        Refusal: an expert agrees with no other better than by chance in a column.
    """
    columns = ("aligned",) if isinstance(next(iter(labels), None), ItemLabel) else ("support", "duplicate")
    groups: dict[tuple[str, str], list[Label]] = {}
    for label in labels:
        groups.setdefault(_subject(label), []).append(label)
    agreement = {
        column: compare_or_refuse(_marks(labels, column), rules, f"{column}: expert") for column in columns
    }
    settled, disputed = [], []
    for subject, group in sorted(groups.items()):
        votes = {column: sum(getattr(label, column) for label in group) for column in columns}
        if any(2 * count == len(group) for count in votes.values()):
            disputed.append(" and ".join(filter(None, subject)))
        else:
            said = {column: 2 * count > len(group) for column, count in votes.items()}
            settled.append(group[0].model_copy(update=said | {"judge": ""}))
    overlap = sum(len(group) > 1 for group in groups.values())
    return Settled(settled, overlap, tuple(disputed), agreement)


def _subject(label: ItemLabel | PairLabel) -> tuple[str, str]:
    return label.pair if isinstance(label, PairLabel) else (label.item_id, "")


def _marks(labels: Sequence[ItemLabel | PairLabel], column: str) -> Iterator[Mark]:
    for label in labels:
        yield _subject(label), label.judge, int(getattr(label, column))


def _signed(paths: Path | Sequence[Path], labels: Sequence[Label]) -> list[Label]:
    """Put the name of the file where a label does not say whose it is."""
    rows = read_table(paths)
    return [
        label if label.judge else label.model_copy(update={"judge": Path(row.file).stem})
        for row, label in zip(rows, labels, strict=True)
    ]


def deal_sheet(
    rows: Sequence[dict[str, Any]], experts: int, rules: SupportRules, rng: np.random.Generator
) -> list[list[dict[str, Any]]]:
    """Deal drawn rows out to experts: `rules.label_overlap` of them to all, each of the rest to one."""
    order = rng.permutation(len(rows))
    shared, rest = order[: rules.label_overlap], order[rules.label_overlap :]
    return [[rows[at] for at in sorted({*shared, *rest[n::experts]})] for n in range(experts)]


def draw_item_sheet(
    items: Sequence[Item], rules: SupportRules, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Draw items to label, spread over the strata as evenly as they allow."""
    order = rng.permutation(len(items))
    turn: dict[tuple[str, str], int] = {}
    ranked: list[tuple[int, int, Item]] = []
    for index in order:
        place = (domain_of(items[index]), stratum_of(items[index]))
        turn[place] = turn.get(place, 0) + 1
        ranked.append((turn[place], len(ranked), items[index]))
    picked = [item for _, _, item in sorted(ranked, key=lambda row: row[:2])[: rules.draw_items]]
    return [
        {
            "item_id": item.item_id,
            "domain": domain_of(item),
            "question": item.question,
            "answer": item.correct_text,
        }
        for item in sorted(picked, key=lambda item: item.item_id)
    ]


def draw_pair_sheet(
    items: Sequence[Item], vectors: NDArray[np.float32], rules: SupportRules, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Draw pairs of one domain to label: half each item's nearest, half at random.

    Args:
        items: the pool.
        vectors: their unit vectors, shape (items, dimension).
        rules: `draw_pairs`.
        rng: draws.
    """
    names = np.array([domain_of(item) for item in items])
    found: dict[tuple[int, int], None] = {}
    for index in rng.permutation(len(items)):
        mates = np.flatnonzero(names == names[index])
        mates = mates[mates != index]
        if len(mates) and len(found) < rules.draw_pairs:
            near = len(found) < rules.draw_pairs / 2
            other = mates[np.argmax(vectors[mates] @ vectors[index])] if near else rng.choice(mates)
            found[min(index, other), max(index, other)] = None
    return [
        {
            "item_id": items[one].item_id,
            "other_id": items[two].item_id,
            "question": items[one].question,
            "other_question": items[two].question,
        }
        for one, two in sorted(found)
    ]


def _check_single(paths: Path | Sequence[Path], names: Sequence[tuple[str, str]]) -> None:
    first: dict[tuple[str, str], Row] = {}
    faults = [
        row.fault(f"{name[1]} was labelled before, on {first[name].seen_from(row)}")
        for row, name in zip(read_table(paths), names, strict=True)
        if first.setdefault(name, row) is not row
    ]
    if faults:
        raise RowErrors(faults, hint="labels of several experts: a file an expert, or a column judge")


def _check_known(
    paths: Path | Sequence[Path], ids: list[tuple[str, str]], ids_a_row: int, known: Container[str]
) -> None:
    if all(name in known for _, name in ids):
        return
    rows = read_table(paths)
    faults = [
        rows[index // ids_a_row].fault(f"{column}: {name!r} is not in the pool or the anchors")
        for index, (column, name) in enumerate(ids)
        if name not in known
    ]
    raise RowErrors(faults)
