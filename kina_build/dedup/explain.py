"""One item explained: its nearest neighbours, the evidence, what was decided and why."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.find import Corpus, compare_rows
from kina_build.dedup.overrides import content_hash
from kina_build.dedup.records import DuplicatePair, Duplicates, Record
from kina_build.dedup.scan import DECIMALS, row_cosines
from kina_build.dedup.vectorfiles import VectorSet
from kina_build.errors import InputError

ROWS_AT_ONCE = 4096


class Explanation(Record):
    """What is known of one item."""

    item_id: str
    content: str
    """Hash of all that is shown of it; names it in an overrides file."""
    decision: Literal["kept", "dropped", "held"]
    reason: str
    nearest: tuple[DuplicatePair, ...]
    """Nearest items first, those below the threshold included."""


def explain_item(
    item_id: str, corpus: Corpus, result: Duplicates, rules: DedupRules = DedupRules()
) -> Explanation:
    """Explain what was decided about an item.

    Raises:
        InputError: there is no such item.
    """
    rows = {item.item_id: row for row, item in enumerate(corpus.items)}
    if item_id not in rows:
        raise InputError(f"no item {item_id!r} in the pool")
    decision, reason = _decision(item_id, result)
    return Explanation(
        item_id=item_id,
        content=content_hash(corpus.readings[rows[item_id]]),
        decision=decision,
        reason=reason,
        nearest=tuple(_nearest(rows[item_id], corpus, result, rules)),
    )


def _decision(item_id: str, result: Duplicates) -> tuple[Literal["kept", "dropped", "held"], str]:
    for dropped in result.dropped:
        if dropped.item_id == item_id:
            return "dropped", dropped.reason
    for held in result.held:
        if held.item_id == item_id:
            return "held", f"{held.reason} (with {', '.join(held.other_ids)})"
    stands = [dropped.item_id for dropped in result.dropped if dropped.kept_id == item_id]
    return "kept", f"stands for {', '.join(stands)}" if stands else "no other item is a copy of it"


def _nearest(row: int, corpus: Corpus, result: Duplicates, rules: DedupRules) -> list[DuplicatePair]:
    item_id = corpus.items[row].item_id
    known = {
        pair.other_id if pair.item_id == item_id else pair.item_id: pair
        for pair in result.pairs
        if item_id in {pair.item_id, pair.other_id}
    }
    if corpus.vectors is None:
        return sorted(known.values(), key=lambda pair: (-pair.stem_overlap, pair.item_id, pair.other_id))
    cosines = _cosines_to(corpus.vectors, row)
    order = np.lexsort((np.arange(len(cosines)), -cosines)).tolist()
    nearest = [other for other in order if other != row][: rules.nearest_shown]
    nearest += [
        other for other, item in enumerate(corpus.items) if item.item_id in known and other not in nearest
    ]
    return [
        known.get(corpus.items[other].item_id)
        or compare_rows(
            corpus, (min(row, other), max(row, other)), round(float(cosines[other]), DECIMALS), rules
        )
        for other in nearest
    ]


def _cosines_to(vectors: VectorSet, row: int) -> NDArray[np.float64]:
    own = vectors[[row]]
    starts = range(0, len(vectors), ROWS_AT_ONCE)
    return np.concatenate([row_cosines(vectors[start : start + ROWS_AT_ONCE], own) for start in starts])
