"""Labels that people give for the reference bank: of items, and of pairs; and what to label."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from kina_build.config import SupportRules
from kina_build.errors import RowErrors
from kina_build.items.model import Item
from kina_build.rows.tables import Row, read_table, read_typed
from kina_build.support.anchors import domain_of, stratum_of

ITEM_COLUMNS = ("item_id", "aligned", "domain", "question", "answer")
PAIR_COLUMNS = ("item_id", "other_id", "support", "duplicate", "question", "other_question")


class ItemLabel(BaseModel):
    """Whether an item is a sound test of its domain."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    item_id: str = Field(min_length=1)
    aligned: bool


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


def read_item_labels(paths: Path | Sequence[Path], known: Container[str]) -> list[ItemLabel]:
    """Read item labels; columns besides item_id and aligned are ignored.

    Raises:
        InputError: missing or empty file.
        RowErrors: rows that are no labels (a blank one too), or about an unknown item.
    """
    labels = read_typed(paths, ItemLabel)
    _check_known(paths, [("item_id", label.item_id) for label in labels], 1, known)
    _check_single(paths, [label.item_id for label in labels])
    return labels


def read_pair_labels(paths: Path | Sequence[Path], known: Container[str]) -> list[PairLabel]:
    """Read pair labels; columns besides the ids, support and duplicate are ignored.

    Raises:
        InputError: missing or empty file.
        RowErrors: rows that are no labels (a blank one too), or about an unknown item or anchor.
    """
    labels = read_typed(paths, PairLabel)
    ids = [pair for row in labels for pair in (("item_id", row.item_id), ("other_id", row.other_id))]
    _check_known(paths, ids, 2, known)
    _check_single(paths, [" and ".join(sorted((row.item_id, row.other_id))) for row in labels])
    return labels


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


def _check_single(paths: Path | Sequence[Path], names: Sequence[str]) -> None:
    first: dict[str, Row] = {}
    faults = [
        row.fault(f"{name} was labelled before, on {first[name].seen_from(row)}")
        for row, name in zip(read_table(paths), names, strict=True)
        if first.setdefault(name, row) is not row
    ]
    if faults:
        raise RowErrors(faults)


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
