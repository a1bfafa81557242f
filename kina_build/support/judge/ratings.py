"""Ratings of item-anchor pairs, by models or by people, and the scores they make."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from kina_build.config import SupportRules
from kina_build.errors import RowErrors
from kina_build.items.model import Item
from kina_build.items.text import fold_stem
from kina_build.rows.jsonl import write_records
from kina_build.rows.tables import Row, need_rows, read_table, read_typed
from kina_build.support.anchors import Anchor, weigh_anchors
from kina_build.support.judge.prompts import TOP_RATING
from kina_build.support.matrix import SupportMatrix, build_matrix
from kina_build.support.rows import read_scores

Pair = tuple[str, str]
"""item_id and anchor_id."""


class Rating(BaseModel):
    """How far one judge finds that an item needs an anchor."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item_id: str = Field(min_length=1)
    anchor_id: str = Field(min_length=1)
    judge: str = Field(min_length=1)
    """Who rated: a model, or a person."""
    rating: int = Field(ge=0, le=TOP_RATING)
    """0 unrelated, 1 mentioned, 2 needed in part, 3 needed to answer, 4 the crux."""
    evidence: str = ""
    """Words of the item that show it."""
    model: str | None = None
    """The model behind the judge; none for people."""


def read_ratings(paths: Path | Sequence[Path]) -> list[Rating]:
    """Read ratings from tables.

    Raises:
        InputError: missing or empty file.
        RowErrors: rows that are not ratings, or two ratings of one pair by one judge.
    """
    ratings = read_typed(paths, Rating)
    first: dict[tuple[str, str, str], Row] = {}
    faults = []
    for row, rating in zip(read_table(paths), ratings, strict=True):
        seen = first.setdefault((rating.item_id, rating.anchor_id, rating.judge), row)
        if seen is not row:
            pair = f"{rating.item_id!r} for {rating.anchor_id!r}"
            faults.append(row.fault(f"{rating.judge!r} rated {pair} on {seen.seen_from(row)} too"))
    if faults:
        raise RowErrors(faults, hint="one row a pair and judge")
    return ratings


def write_ratings(path: Path, ratings: Sequence[Rating]) -> int:
    """Write ratings as JSON Lines, sorted by item, anchor and judge; return how many."""
    ordered: list[Rating] = sorted(ratings, key=lambda r: (r.item_id, r.anchor_id, r.judge))
    return write_records(path, ordered)


def median_ratings(ratings: Sequence[Rating]) -> dict[Pair, float]:
    """Return the median rating of each pair's judges; with two judges, halves occur."""
    values: dict[Pair, list[int]] = defaultdict(list)
    for rating in ratings:
        values[rating.item_id, rating.anchor_id].append(rating.rating)
    return {pair: float(median(values[pair])) for pair in sorted(values)}


def holds_scores(paths: Path | Sequence[Path]) -> bool:
    """Tell whether any row brings a score, so that none is a judge's rating."""
    return any("score" in row.values for row in need_rows(paths))


def read_pair_scores(
    paths: Path | Sequence[Path], items: Sequence[Item], anchors: Sequence[Anchor]
) -> dict[Pair, float]:
    """Read scores made elsewhere: rows with a `score` from 0 to 1, or with a `rating` from 0 to 4.

    Several judges' ratings of a pair become their median. A pair that is not listed has
    support 0; a listed pair without a usable value is an error.

    Raises:
        InputError: missing or empty file.
        RowErrors: faulty rows, or rows about an item or anchor that is not given.
    """
    rows = need_rows(paths)
    if holds_scores(paths):
        scores = {(row.item_id, row.anchor_id): row.score for row in read_scores(paths)}
    else:
        scores = {pair: value / TOP_RATING for pair, value in median_ratings(read_ratings(paths)).items()}
    known_items = {item.item_id for item in items}
    known_anchors = {anchor.anchor_id for anchor in anchors}
    faults = [
        row.fault(f"{name}: {row.values[name]!r} is not in the file of {kind}")
        for row in rows
        for name, kind, known in (
            ("item_id", "items", known_items),
            ("anchor_id", "anchors", known_anchors),
        )
        if str(row.values[name]) not in known
    ]
    if faults:
        raise RowErrors(faults, hint="the ids must be those of the pool and of the anchors")
    return scores


def matrix_of_pairs(
    items: Sequence[Item],
    anchors: Sequence[Anchor],
    scores: Mapping[Pair, float],
    rules: SupportRules = SupportRules(),
) -> SupportMatrix:
    """Lay pair scores out as a matrix over all items and anchors; pairs not listed are 0.

    Raises:
        InputError: repeated ids or unusable weights.
    """
    row = {item.item_id: index for index, item in enumerate(items)}
    column = {anchor.anchor_id: index for index, anchor in enumerate(anchors)}
    table = np.zeros((len(items), len(anchors)), dtype=np.float64)
    for (item_id, anchor_id), score in scores.items():
        table[row[item_id], column[anchor_id]] = score
    return build_matrix(list(row), list(column), table, weigh_anchors(anchors, rules), scale=rules.scale)


def is_quoted(evidence: str, item: Item) -> bool:
    """Tell whether the evidence stands in the item, letter case and blanks aside.

    Parts joined by an ellipsis are looked up one by one.
    """
    parts = [fold_stem(part).strip(" \"'.“”‘’") for part in evidence.replace("…", "...").split("...")]
    parts = [part for part in parts if part]
    body = fold_stem(
        "\n".join([item.question, *(o.answer for o in item.options), item.question_material or ""])
    )
    return bool(parts) and all(part in body for part in parts)


def quote_checker(items: Sequence[Item]) -> Callable[[Rating], bool]:
    """Return a check of whether a rating above 0 quotes its item; ratings of 0 need no quote."""
    by_id = {item.item_id: item for item in items}
    return lambda rating: rating.rating == 0 or is_quoted(rating.evidence, by_id[rating.item_id])


def rating_counts(ratings: Sequence[Rating]) -> dict[str, list[int]]:
    """Count each judge's ratings 0 to 4."""
    counts: dict[str, NDArray[np.int64]] = {}
    for rating in ratings:
        counts.setdefault(rating.judge, np.zeros(TOP_RATING + 1, dtype=np.int64))[rating.rating] += 1
    return {judge: counts[judge].tolist() for judge in sorted(counts)}
