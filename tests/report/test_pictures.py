"""Pictures tell the numbers of the flow, and name nobody."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kina_build.ranking.itemanalysis import ItemFigures
from kina_build.report import pictures
from kina_build.report.artefacts import Artefacts
from kina_build.report.plots import tile
from kina_build.report.rows import AnchorRow, DecisionRow, FindingRow, ReviewRow
from kina_build.support.matrix import build_matrix
from tests.report.flow import item


def selected(*ids: str) -> Any:
    return SimpleNamespace(item_ids=ids, domains=())


def test_the_funnel_counts_what_passed_every_stage() -> None:
    pool = tuple(item(f"q{n}", f"Question {n}?") for n in range(5))
    flow = Artefacts(
        pool=pool,
        findings=(FindingRow(item_id="q0", rule="x", severity="error", message="bad"),),
        selection=selected("q1", "q2", "q3"),
        decisions=(
            DecisionRow(item_id="q1", decision="accept"),
            DecisionRow(item_id="q2", decision="reject"),
        ),
    )
    found = pictures.funnel(flow)
    assert found is not None
    assert [(bar.label, bar.value) for bar in found.bars] == [
        ("in the pool", 5),
        ("without an error", 4),
        ("selected", 3),
        ("accepted by reviewers", 1),
    ]
    assert pictures.funnel(Artefacts()) is None


def test_each_anchor_names_its_best_selected_item() -> None:
    scores = np.array([[0.2, 0.0], [0.9, 0.0], [1.0, 1.0]])
    matrix = build_matrix(["q1", "q2", "q3"], ["force", "light"], scores, np.array([0.5, 0.5]))
    flow = Artefacts(
        support=matrix,
        selection=selected("q1", "q2"),
        anchors=(AnchorRow(anchor_id="force", statement="Force is mass times acceleration"),),
    )
    found = pictures.coverage(flow)
    assert found is not None
    assert [(bar.label, bar.value, bar.note) for bar in found.bars] == [
        ("light", 0.0, ""),
        ("force: Force is mass times acceleration", 0.9, "q2"),
    ]


def test_reviewers_are_counted_and_not_named() -> None:
    reviews = tuple(
        ReviewRow(item_id=i, reviewer_id=who, verdict="accept")
        for i, who in (("q1", "ann"), ("q2", "ann"), ("q1", "bob"))
    )
    flow = Artefacts(reviews=reviews, decisions=(DecisionRow(item_id="q1", decision="accept"),))
    found = pictures.reviewer_load(flow)
    assert found is not None
    assert [(bar.label, bar.value, bar.note) for bar in found.bars] == [
        ("reviewer 1", 2, "1 as decided"),
        ("reviewer 2", 1, "1 as decided"),
    ]
    told = pictures.reviewer_load(flow, named=True)
    assert told is not None
    assert [bar.label for bar in told.bars] == ["ann", "bob"]


def test_tiles_fill_the_box_and_are_as_large_as_their_counts() -> None:
    tiles = tile([("law", "tort", 1), ("law", "tax", 3), ("art", "", 4)])
    assert sum(t.width * t.height for t in tiles) == pytest.approx(100 * 100)
    assert [round(t.width * t.height) for t in tiles] == [1250, 3750, 5000]


def test_items_that_better_models_miss_are_flagged() -> None:
    rows = [
        ItemFigures(item_id="q1", discipline="", p=0.5, discrimination=-0.2, flag_key=True),
        ItemFigures(item_id="q2", discipline="", p=1.0),
    ]
    found = pictures.item_scatter(Artefacts(item_figures=tuple(rows)))
    assert found is not None
    assert [(dot.label, dot.flagged) for dot in found.dots] == [("q1", True)]
    assert pictures.item_scatter(Artefacts(item_figures=())) is None
