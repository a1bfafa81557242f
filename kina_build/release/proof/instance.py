"""The instance that a release is measured by: the support of its items, and thresholds that bound it.

Any thresholds give a valid bound; a walk along subgradients, in whole numbers, makes the bound of what
was released low (Held, Wolfe and Crowder 1974).
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kina_build.errors import Refusal
from kina_build.release import standalone
from kina_build.release.options import Extent
from kina_build.rows.jsonl import write_document, writing
from kina_build.support.matrix import SPREAD

if TYPE_CHECKING:
    from kina_build.release.proof.evidence import Chosen, Naming
    from kina_build.selection.inputs import Inputs
    from kina_build.selection.records import DomainSelection


Whole = NDArray[np.int64]

LEVEL_BYTES = 8
"""Of one level and its anchor."""

SCORES = 4_000_000
"""Scores looked at in one go."""

LARGE_BYTES = 50_000_000
"""Size above which it must be said how much evidence shall travel."""


@dataclass(frozen=True)
class _Rows:
    """The items of the evidence, in the order of their names."""

    at: Whole
    """Position of each in the support."""
    names: list[str]
    domain: list[str]

    def place(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the row of each item."""
        return {ids[at]: row for row, at in enumerate(self.at.tolist())}


@dataclass(frozen=True)
class _Columns:
    """The anchors of the evidence; items that are anchors, too, are hidden in both places."""

    names: list[str]
    order: Whole
    """Place of each in the support: of a hidden anchor nothing but its name shall tell where it stood."""


def write_instance(folder: Path, chosen: Chosen, naming: Naming, extent: Extent | None) -> None:
    """Write what was asked, of which items, and their support, in whole numbers.

    Raises:
        Refusal: it is large, and nobody said how much of it shall travel.
    """
    matrix = chosen.inputs.matrix
    rows = _gather_rows(chosen, naming, full=extent != "released")
    columns = _gather_columns(chosen, naming)
    limit = LARGE_BYTES if extent is None else None
    indptr, indices, data = _sparse(chosen, rows, columns.order, limit=limit)
    place = rows.place(matrix.item_ids)
    strata = _labels(chosen.inputs.strata, [matrix.item_ids[at] for at in rows.at.tolist()])
    document = {
        "format": standalone.FORMAT,
        "full": extent != "released",
        "scale": matrix.scale,
        "weight_unit": matrix.weight_unit,
        **({"weight_step": matrix.weight_step} if matrix.weight_step > 1 else {}),
        "slack": matrix.slack,
        "anchors": {"ids": columns.names, "weights": matrix.weights[columns.order].tolist()},
        "items": {
            "ids": rows.names,
            "split": [naming.split_of.get(matrix.item_ids[at]) for at in rows.at.tolist()],
            "stratum": strata,
            "domain": rows.domain,
        },
        "domains": [_domain(one, chosen, place, naming, columns.order) for one in chosen.document.domains],
        "selection": {"seal": chosen.document.seal, "inputs": dict(chosen.document.inputs)},
    }
    write_document(folder / standalone.INSTANCE, document)
    with writing(folder / standalone.SUPPORT) as out:
        np.savez(out, indptr=indptr, indices=indices, data=data)


def _gather_rows(chosen: Chosen, naming: Naming, *, full: bool) -> _Rows:
    """Gather the items that could have been chosen: not excluded, in conflict with no must-include item."""
    inputs = chosen.inputs
    names, codes = inputs.domain_codes
    posed = {one.domain for one in chosen.document.domains}
    barred = inputs.exclude | (_rivals_of_must(inputs) - inputs.must)
    found = []
    for at, item_id in enumerate(inputs.matrix.item_ids):
        domain = names[codes[at]] if codes[at] >= 0 else None
        domain = "" if posed == {""} else domain
        kept = item_id in naming.split_of or (full and item_id not in barred)
        if kept and domain in posed and domain is not None:
            found.append((naming.name(item_id), at, domain))
    found.sort()
    places = np.array([at for _, at, _ in found], dtype=np.int64)
    return _Rows(places, [name for name, *_ in found], [domain for *_, domain in found])


def _gather_columns(chosen: Chosen, naming: Naming) -> _Columns:
    """Name the anchors; those that are items as the items are named, and then all in order of their names."""
    ids = chosen.inputs.matrix.anchor_ids
    items = frozenset(chosen.inputs.matrix.item_ids)
    names = [_anchor(one, items, naming) for one in ids]
    order = range(len(ids)) if names == list(ids) else sorted(range(len(ids)), key=names.__getitem__)
    places = np.array(order, dtype=np.int64)
    return _Columns([names[at] for at in places], places)


def _rivals_of_must(inputs: Inputs) -> frozenset[str]:
    from kina_build.selection.verifier.evidence import rivals_of

    if not inputs.must:
        return frozenset()
    rivals = rivals_of(inputs)
    return frozenset(other for item_id in inputs.must for other in rivals.get(item_id, ()))


def _sparse(
    chosen: Chosen, rows: _Rows, order: Whole, *, limit: int | None
) -> tuple[Whole, NDArray[np.int32], NDArray[np.int32]]:
    """Cut the levels above 0 out of the support, item by item."""
    matrix = chosen.inputs.matrix
    levels, step = matrix.levels, max(1, SCORES // max(1, len(matrix.anchor_ids)))
    counts, columns, values, held = [], [], [], 0
    for start in range(0, len(rows.at), step):
        part = np.asarray(levels[rows.at[start : start + step]])[:, order]
        at, column = np.nonzero(part)
        counts.append(np.bincount(at, minlength=len(part)))
        columns.append(column.astype(np.int32))
        values.append(part[at, column].astype(np.int32))
        held += len(column)
        if limit is not None and held * LEVEL_BYTES > limit:
            raise Refusal(
                f"the evidence of this release takes more than {limit // 1_000_000} MB",
                hint="say how much of it shall travel: --evidence full, released or none",
            )
    starts = np.concatenate([[0], *counts]).astype(np.int64).cumsum()
    return (
        starts,
        np.concatenate([[], *columns]).astype(np.int32),
        np.concatenate([[], *values]).astype(np.int32),
    )


def _anchor(anchor_id: str, items: Container[str], naming: Naming) -> str:
    """Name an anchor; one that is an item of the pool goes by the item's name here."""
    if anchor_id.startswith(SPREAD):
        return SPREAD + naming.name(anchor_id.removeprefix(SPREAD))
    return naming.name(anchor_id) if anchor_id in items else anchor_id


def _labels(labels: Mapping[str, str] | None, ids: Sequence[str]) -> list[str]:
    return [(labels or {}).get(item_id, "") for item_id in ids]


def _domain(
    record: DomainSelection, chosen: Chosen, place: Mapping[str, int], naming: Naming, order: Whole
) -> dict[str, Any]:
    """Write what was asked of a domain, with thresholds that bound it."""
    inputs = chosen.inputs
    anchors = [inputs.matrix.anchor_ids[at] for at in order]
    quotas = [quota for quota in inputs.quotas if quota.k is None or quota.domain == record.domain]
    cliques = [[place[one] for one in group if one in place] for group in record.cliques]
    asked = _cover(chosen, record.item_ids, order, record.folds)
    if record.thresholds:
        own_levels = record.thresholds.get(record.domain, {})
        asked = [own_levels.get(name, 0) for name in anchors]
    own = set(inputs.must)
    if record.domain:
        own = {one for one in own if (inputs.domains or {}).get(one) == record.domain}
    return {
        "name": record.domain,
        "k": record.k,
        "short": record.shortfall > 0 or any(row.shortfall for row in record.strata),
        "quotas": [[quota.stratum, quota.lower, quota.upper] for quota in quotas],
        "must": sorted(place[one] for one in own if one in place),
        "cliques": [sorted(group) for group in cliques if len(group) > 1],
        "thresholds": {
            "asked": asked,
            "released": _cover(
                chosen, [one for one in record.item_ids if one in naming.split_of], order, record.folds
            ),
        },
    } | ({"folds": record.folds} if record.folds > 1 else {})


def _cover(chosen: Chosen, ids: Sequence[str], order: Whole, folds: int) -> list[int]:
    """Return the level of each anchor that an item must exceed to count: the best, or the r-th best."""
    matrix = chosen.inputs.matrix
    best = np.zeros((folds, len(matrix.anchor_ids)), dtype=np.int64)
    for row in matrix.rows(ids):
        best[0] = np.maximum(best[0], matrix.levels[row])
        best.sort(axis=0)
    cover: list[int] = best[0][order].tolist()
    return cover
