"""Pictures of a flow, as plain data: each also tells its numbers, for the table beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate

import numpy as np

from kina_build.report.artefacts import Artefacts
from kina_build.report.plots import Bar, BarPlot, Dot, DotPlot, LinePlot, Tile, tile
from kina_build.support.matrix import SPREAD

UNFILED = "(not filed)"


def funnel(artefacts: Artefacts) -> BarPlot | None:
    """Show how many items of the pool are left behind each stage of the flow; of a project its own steps."""
    if artefacts.funnel:
        bars = tuple(
            Bar(one.step, one.count, "fell here" if one.lost else "", lost=one.lost)
            for one in artefacts.funnel
        )
        most = max(bar.value for bar in bars) or 1
        return BarPlot("From import to release", "items; kina status --items STEP lists them", bars, most)
    steps = tuple(Bar(label, len(ids), note) for label, ids, note in _steps(artefacts))
    if not steps:
        return None
    return BarPlot("What is left of the pool", "items", steps, steps[0].value or 1)


def _steps(a: Artefacts) -> Iterator[tuple[str, frozenset[str], str]]:
    """Yield each stage with the items that passed it and all stages before."""
    if a.pool is None:
        return
    left = frozenset(item.item_id for item in a.pool)
    yield "in the pool", left, ""
    if a.findings is not None:
        left -= {one.item_id for one in a.findings if one.severity == "error"}
        yield "without an error", left, "of the rules of kina check"
    if a.duplicates is not None:
        left &= frozenset(a.duplicates.kept)
        yield "one of a kind", left, "copies dropped, disputed keys held"
    if a.selection is not None:
        left = frozenset(a.selection.item_ids)
        yield "selected", left, ""
    if a.decisions is not None:
        left &= {one.item_id for one in a.decisions if one.decision == "accept"}
        yield "accepted by reviewers", left, ""
    if a.release is not None:
        yield "released", frozenset(a.released), ""


def coverage(artefacts: Artefacts) -> BarPlot | None:
    """Show how well the selection covers each anchor, with its statement and its best item."""
    selection, matrix = artefacts.selection, artefacts.support
    if selection is None or matrix is None:
        return None
    said = {one.anchor_id: one.statement for one in artefacts.anchors or ()}
    rows = matrix.rows(selection.item_ids)
    if not rows:
        return None
    levels = np.asarray([matrix.levels[row] for row in rows])
    best = levels.argmax(axis=0)  # of equal ones the first pick
    found = []
    for column, (anchor, row) in enumerate(zip(matrix.anchor_ids, best.tolist(), strict=True)):
        if anchor.startswith(SPREAD):
            continue  # an item of the pool, which no expert named
        label = f"{anchor}: {said[anchor]}" if anchor in said else anchor
        level = int(levels[row, column])
        found.append(Bar(label, level / matrix.scale, note=matrix.item_ids[rows[row]] if level else ""))
    found.sort(key=lambda bar: (bar.value, bar.label))
    return BarPlot(
        "Coverage of anchors", "best support, 0 to 1, and the item that gives it", tuple(found), 1, 3
    )


def gain_curves(artefacts: Artefacts) -> list[LinePlot]:
    """Show how the objective of each domain grows with each pick, under its bound."""
    selection = artefacts.selection
    return [
        LinePlot(
            title=f"Objective after each pick: {part.domain or 'all domains'}",
            across="items picked",
            up="objective",
            values=tuple(accumulate(part.gains)),
            level=part.certificate.tightest.upper_bound,
            level_name="upper bound on any set",
        )
        for part in (selection.domains if selection else ())
        if part.gains
    ]


def item_scatter(artefacts: Artefacts) -> DotPlot | None:
    """Show how hard each item is, and how well it tells better models from worse ones."""
    dots = tuple(
        Dot(one.item_id, one.p, one.discrimination, flagged=one.flag_key)
        for one in artefacts.item_figures or ()
        if one.discrimination is not None
    )
    if not dots:
        return None
    return DotPlot(
        "Difficulty and discrimination of items",
        "share of models that answer right",
        "discrimination",
        "better models miss it",
        dots,
    )


def taxonomy(artefacts: Artefacts) -> tuple[Tile, ...]:
    """Lay out the items by field and subfield, or by discipline and field where no subfields are."""
    pool = artefacts.pool or ()
    fine = any(item.subfield for item in pool)
    counts = Counter(
        (item.field or item.discipline, item.subfield) if fine else (item.discipline, item.field)
        for item in pool
    )
    ordered = sorted(counts.items())
    return tile([(whole or UNFILED, part or UNFILED, count) for (whole, part), count in ordered])


def reviewer_load(artefacts: Artefacts, *, named: bool = False) -> BarPlot | None:
    """Show how many reviews each reviewer wrote, and how often with the decision that was made.

    Args:
        artefacts: with reviews.
        named: show ids of reviewers: on the manager's own screen only.
    """
    if not artefacts.reviews:
        return None
    decided = {one.item_id: one.decision for one in artefacts.decisions or ()}
    wrote = Counter(one.reviewer_id for one in artefacts.reviews)
    agreed = Counter(
        r.reviewer_id for r in artefacts.reviews if r.verdict and decided.get(r.item_id) == r.verdict
    )
    ordered = sorted(wrote.items(), key=lambda one: (-one[1], -agreed[one[0]], one[0] if named else ""))
    found = [
        Bar(
            reviewer if named else f"reviewer {place}",
            count,
            f"{agreed[reviewer]} as decided" if decided else "",
        )
        for place, (reviewer, count) in enumerate(ordered, start=1)
    ]
    return BarPlot("Reviewers' load", "reviews", tuple(found), found[0].value)
