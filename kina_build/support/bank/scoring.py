"""The reference bank behind `kina support --method bank`, and the sheets people label for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kina_build.errors import UsageError
from kina_build.items.model import Item
from kina_build.rows.jsonl import write_records
from kina_build.rows.outputs import make_folder
from kina_build.rows.tables import write_csv
from kina_build.support.anchors import Anchor
from kina_build.support.bank.labels import (
    ITEM_COLUMNS,
    PAIR_COLUMNS,
    draw_item_sheet,
    draw_pair_sheet,
    read_item_labels,
    read_pair_labels,
)
from kina_build.support.bank.reference import support_by_bank
from kina_build.support.bank.signatures import Signature, ask_signatures, read_signatures
from kina_build.support.embedding import item_text
from kina_build.support.judging import asking
from kina_build.support.setup import Outcome, Setup, load_embedder


def score_by_bank(setup: Setup, items: Sequence[Item], anchors: Sequence[Anchor]) -> Outcome:
    """Score the shortlist of each domain against its reference bank.

    Raises:
        UsageError: no labels are given.
    """
    if not setup.options.item_labels or not setup.options.pair_labels:
        raise UsageError("--method bank needs --item-labels FILE and --pair-labels FILE")
    ids = {item.item_id for item in items}
    known = ids | {anchor.anchor_id for anchor in anchors}
    item_labels = read_item_labels(setup.options.item_labels, ids)
    pair_labels = read_pair_labels(setup.options.pair_labels, known)
    embed, revision = load_embedder(setup)
    found = support_by_bank(
        items,
        anchors,
        item_labels=item_labels,
        pair_labels=pair_labels,
        embed=embed,
        signatures=find_signatures(setup, items),
        rules=setup.rules,
        seed=setup.options.seed,
    )
    details = setup.options.details
    return Outcome(
        found.matrix,
        found.report | {"seed": setup.options.seed},
        models={setup.encoder: revision},
        write_more=lambda: details and write_records(details, found.rows),
    )


def find_signatures(setup: Setup, items: Sequence[Item]) -> Mapping[str, Signature]:
    """Read signatures from a file, or ask a model for them; without either they are derived later.

    Raises:
        UsageError: a file and a model, or more than one model.
    """
    if len(setup.options.judge) + bool(setup.options.signatures) > 1:
        raise UsageError("signatures come from one --judge or from --signatures, not both")
    if setup.options.signatures:
        return read_signatures(setup.options.signatures)
    if not setup.options.judge:
        return {}
    with asking(setup, "signatures") as ask:
        found = ask_signatures(items, setup.options.judge[0], ask, setup.rules)
    return {signature.item_id: signature for signature in found}


def draw_sheets(setup: Setup, items: Sequence[Item], folder: Path) -> dict[str, Any]:
    """Write items.csv and pairs.csv for people to label; return what was drawn."""
    ordered = sorted(items, key=lambda item: item.item_id)
    rng = np.random.default_rng(setup.options.seed)
    embed, _ = load_embedder(setup)
    vectors = embed([item_text(item) for item in ordered])
    singles = draw_item_sheet(ordered, setup.rules, rng)
    pairs = draw_pair_sheet(ordered, vectors, setup.rules, rng)
    make_folder(folder)
    write_csv(folder / "items.csv", ITEM_COLUMNS, singles)
    write_csv(folder / "pairs.csv", PAIR_COLUMNS, pairs)
    return {"items": len(singles), "pairs": len(pairs), "files": ["items.csv", "pairs.csv"]}
