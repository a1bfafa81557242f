"""One item explained: its nearest neighbours, the evidence, what was decided and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kina_build.config import DedupRules
from kina_build.dedup.encoded import EncodedPool
from kina_build.dedup.find import compare_readings
from kina_build.dedup.overrides import content_hash
from kina_build.dedup.records import Cluster, DuplicatePair, Duplicates, Record, chance_of
from kina_build.dedup.search.scan import DECIMALS, row_cosines
from kina_build.encode.vectorfiles import VectorSet
from kina_build.errors import InputError
from kina_build.items.model import Item

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
    item_id: str, corpus: EncodedPool, result: Duplicates, rules: DedupRules = DedupRules()
) -> Explanation:
    """Explain what was decided about an item.

    Raises:
        InputError: there is no such item.
    """
    check_item(item_id, corpus.all_items)
    decision, reason = _decision(item_id, result)
    return Explanation(
        item_id=item_id,
        content=content_hash(corpus.reading_of(item_id)),
        decision=decision,
        reason=reason,
        nearest=tuple(_nearest(item_id, corpus, result, rules)),
    )


def check_item(item_id: str, items: Iterable[Item]) -> None:
    """Check that there is such an item: before anything is encoded for it.

    Raises:
        InputError: there is none.
    """
    if all(item.item_id != item_id for item in items):
        raise InputError(f"no item {item_id!r} in the pool")


def _decision(item_id: str, result: Duplicates) -> tuple[Literal["kept", "dropped", "held"], str]:
    for dropped in result.dropped:
        if dropped.item_id == item_id:
            return "dropped", dropped.reason
    for held in result.held:
        if held.item_id == item_id:
            return "held", f"{held.reason} (with {', '.join(held.other_ids)})"
    stands = [dropped.item_id for dropped in result.dropped if dropped.kept_id == item_id]
    return "kept", f"stands for {', '.join(stands)}" if stands else "no other item is a copy of it"


def _nearest(item_id: str, corpus: EncodedPool, result: Duplicates, rules: DedupRules) -> list[DuplicatePair]:
    row, own = corpus.rows[item_id], corpus.reading_of(item_id)
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
    nearest += sorted({corpus.rows[name] for name in known} - {row, *nearest})
    found = [known[name] for name in sorted(known) if corpus.rows[name] == row][: rules.nearest_shown]
    for other in nearest:
        reading, cosine = corpus.readings[other], round(float(cosines[other]), DECIMALS)
        left, right = sorted((own, reading), key=lambda one: one.item_id)
        pair = known.get(reading.item_id)
        found.append(pair or compare_readings(corpus, (left, right), cosine, rules))
    return found


def _cosines_to(vectors: VectorSet, row: int) -> NDArray[np.float64]:
    own = vectors[[row]]
    starts = range(0, len(vectors), ROWS_AT_ONCE)
    return np.concatenate([row_cosines(vectors[start : start + ROWS_AT_ONCE], own) for start in starts])


SHOWN_CLUSTERS = 500
SHOWN_MEMBERS = 12
SHOWN_PAIRS = 30
TITLES = {"conflict": "Same question, other key", "duplicate": "Copies", "review": "To be reviewed"}


def render_clusters(result: Duplicates, items: Sequence[Item]) -> str:
    """Write the page; all that comes from items is escaped, nothing is loaded from elsewhere."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("kina_build.dedup"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    by_id = {item.item_id: item for item in items}
    fates = dict.fromkeys(result.kept, "kept")
    fates |= {dropped.item_id: f"dropped for {dropped.kept_id}" for dropped in result.dropped}
    fates |= {held.item_id: "held" for held in result.held}
    clusters = [
        _view(number, cluster, result.pairs, by_id, fates)
        for number, cluster in enumerate(in_order(result)[:SHOWN_CLUSTERS], start=1)
    ]
    return environment.get_template("clusters.html.jinja").render(
        result=result, clusters=clusters, omitted=max(0, len(result.clusters) - SHOWN_CLUSTERS)
    )


def in_order(result: Duplicates) -> list[Cluster]:
    """Return the clusters as people should look at them: of those to be reviewed, the likeliest first."""
    chances: dict[str, float] = {}
    for pair in result.pairs:
        if pair.status == "review":
            for name in (pair.item_id, pair.other_id):
                chances[name] = max(chances.get(name, 0.0), chance_of(pair))

    def place(cluster: Cluster) -> tuple[bool, float]:
        review = cluster.status == "review"
        return review, -max(chances.get(name, 0.0) for name in cluster.item_ids) if review else 0.0

    return sorted(result.clusters, key=place)


def _view(
    number: int,
    cluster: Cluster,
    pairs: Sequence[DuplicatePair],
    by_id: dict[str, Item],
    fates: dict[str, str],
) -> dict[str, Any]:
    names = set(cluster.item_ids)
    inside = [pair for pair in pairs if pair.item_id in names and pair.other_id in names]
    return {
        "title": f"{number}. {TITLES[cluster.status]}: {len(names)} items",
        "notes": _notes(cluster, len(inside)),
        "members": [{"item": by_id[name], "fate": fates[name]} for name in cluster.item_ids[:SHOWN_MEMBERS]],
        "pairs": inside[:SHOWN_PAIRS],
    }


def _notes(cluster: Cluster, pairs: int) -> list[str]:
    notes = []
    if cluster.needs_decision:
        notes.append("A person must decide.")
    if cluster.cross_discipline:
        notes.append(f"Filed under {len(cluster.paths)} paths: {'; '.join(cluster.paths)}.")
    if cluster.chain:
        notes.append(f"Not all are alike; the longest chain is {' – '.join(cluster.chain)}.")
    if cluster.lowest_cosine is not None:
        notes.append(f"Lowest cosine of any two: {cluster.lowest_cosine:.4f}.")
    if len(cluster.item_ids) > SHOWN_MEMBERS or pairs > SHOWN_PAIRS:
        notes.append(f"{SHOWN_MEMBERS} items and {SHOWN_PAIRS} pairs at most are shown.")
    return notes
