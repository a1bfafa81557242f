"""Clusters as one self-contained HTML page: the items side by side, the evidence below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kina_build.dedup.records import Cluster, DuplicatePair, Duplicates
from kina_build.items.model import Item

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
    """Return the clusters as people should look at them: last those of which only the encoder speaks.

    On MMLU-Pro 1 of 17 such pairs was a copy, of those with other evidence 8 of 8.
    """
    told = {
        name
        for pair in result.pairs
        if pair.status == "review" and pair.rule != "cosine"
        for name in (pair.item_id, pair.other_id)
    }
    return sorted(result.clusters, key=lambda one: one.status == "review" and told.isdisjoint(one.item_ids))


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
