"""A pilot in which efforts were assigned: its rows, its pairs, its halves, the cost of effort."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BeforeValidator

from kina_build.errors import InputError, Refusal
from kina_review.records import Id, Record, Score
from kina_review.rubric import REVIEWS_PER_ITEM, ReviewRules
from kina_review.words import read_word

Effort = Literal["H", "L"]
EFFORT_WORDS = {"h": "H", "high": "H", "l": "L", "low": "L"}


class PilotRow(Record):
    """One review of the pilot, with the effort that was asked for."""

    item_id: Id
    reviewer_id: Id
    effort: Annotated[Effort, BeforeValidator(lambda word: read_word(str(word), ("H", "L"), EFFORT_WORDS))]
    review_score: Score
    cost: Decimal | None = None
    """What the review cost the reviewer (time at their wage), major units."""


def pair_up(rows: Sequence[PilotRow]) -> list[tuple[PilotRow, PilotRow]]:
    """Return the two rows of each item, items in order of their ids.

    Raises:
        InputError: an item without exactly two reviewers.
    """
    by_item: dict[str, list[PilotRow]] = defaultdict(list)
    for row in rows:
        by_item[row.item_id].append(row)
    pairs = []
    for item_id, pair in sorted(by_item.items()):
        if len({row.reviewer_id for row in pair}) != REVIEWS_PER_ITEM or len(pair) != REVIEWS_PER_ITEM:
            raise InputError(f"pilot item {item_id!r} has {len(pair)} rows, not two by two reviewers")
        first, second = sorted(pair, key=lambda row: row.reviewer_id)
        pairs.append((first, second))
    return pairs


def extra_cost(rows: Sequence[PilotRow], rules: ReviewRules = ReviewRules()) -> Fraction:
    """Return an upper quantile of kappa over reviewers who worked both ways: mean cost high less low.

    Raises:
        Refusal: no reviewer has costs of both efforts.
    """
    costs: dict[str, dict[str, list[Fraction]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.cost is not None:
            costs[row.reviewer_id][row.effort].append(Fraction(row.cost))
    kappas = sorted(
        _mean(both["H"]) - _mean(both["L"]) for both in costs.values() if both.get("H") and both.get("L")
    )
    if not kappas:
        raise Refusal(
            "no reviewer of the pilot has a cost at both efforts: Delta C cannot be estimated",
            hint="add a cost column, or give --cost",
        )
    return kappas[math.ceil(rules.cost_quantile * len(kappas)) - 1]


def split_pilot(rows: Sequence[PilotRow], seed: int = 0) -> tuple[list[PilotRow], list[PilotRow]]:
    """Split a pilot by item: one half to choose the bar, one to estimate with it.

    Both on the same items is optimistic. Items of each pair of efforts are dealt out
    alternately, in an order that the seed shuffles.
    """
    cells: dict[str, list[tuple[PilotRow, PilotRow]]] = defaultdict(list)
    for pair in pair_up(rows):
        cells["".join(sorted(row.effort for row in pair))].append(pair)
    halves: tuple[list[PilotRow], list[PilotRow]] = ([], [])
    for _, pairs in sorted(cells.items()):
        pairs.sort(key=lambda pair: hashlib.sha256(f"seed{seed}|{pair[0].item_id}|half".encode()).digest())
        for index, pair in enumerate(pairs):
            halves[index % 2].extend(pair)
    return halves


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)
