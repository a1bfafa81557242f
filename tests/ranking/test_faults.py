"""The public fault cases of the step `rank`, each by its id."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kina_build.ranking.intervals import cluster_standard_error, standard_error
from kina_build.ranking.itemanalysis import analyse_items
from kina_build.ranking.pairs import mcnemar_exact
from tests.conftest import fault_cases
from tests.ranking.boards import board_of, paired_board


def clustered(case, kina, folder):
    clusters = case["input"]["clusters"]
    labels = [name for name, scores in clusters.items() for _ in scores]
    row = np.array([[score for scores in clusters.values() for score in scores]], dtype=float)
    assert row.mean() == case["expected"]["mean"]
    assert standard_error(row)[0] == pytest.approx(case["expected"]["se_iid"], abs=1e-6)
    assert cluster_standard_error(row, labels)[0] == pytest.approx(case["expected"]["se_cluster_cr0"])


def filter_models(case, kina, folder):
    shares = case["input"]["kept_scores"]
    rows = [
        {"item_id": f"q{i}", "model": m, "score": float(i < s * 100)}
        for m, s in shares.items()
        for i in range(100)
    ]
    (folder / "scores.jsonl").write_text("\n".join(map(json.dumps, rows)))
    out = kina("rank", "--scores", "scores.jsonl", "--filter-model", "m1", "--filter-model", "m2", "--json")
    board = json.loads(out.stdout)
    assert [s["model"] for s in board["standings"]] == case["expected"]["ranked"]
    assert {m["model"]: m["reason"] for m in board["not_ranked"]} == case["expected"]["not_ranked"]
    assert board["filter_models"] == ["m1", "m2"]


def item_analysis(case, kina, folder):
    figures = analyse_items(board_of(case["input"]["responses"]))
    names = dict(zip([f.item_id for f in figures], case["input"]["items"], strict=True))
    assert [f.p for f in figures] == case["expected"]["p"]
    assert [f.discrimination and round(f.discrimination, 4) for f in figures] == case["expected"][
        "discrimination"
    ]
    assert [names[f.item_id] for f in figures if f.flag_key] == case["expected"]["flag_key"]
    assert [names[f.item_id] for f in figures if f.discrimination is None] == case["expected"]["undefined"]


def tie(case, kina, folder):
    given = case["input"]
    b, c = given["only_first_right"], given["only_second_right"]
    assert mcnemar_exact(b, c) == pytest.approx(case["expected"]["mcnemar_exact_p"], abs=1e-6)
    board = paired_board(b, c, given["n"])
    lines = [f"{q},,{x:.0f},{y:.0f}" for q, x, y in zip(board.item_ids, *board.scores, strict=True)]
    (folder / "scores.csv").write_text("\n".join(["item_id,discipline,first,second", *lines]))
    first, second = json.loads(kina("rank", "--scores", "scores.csv", "--json").stdout)["standings"]
    assert (first["rank"] == second["rank"]) is case["expected"]["same_rank"]
    assert first["tier"] == second["tier"]


STORIES = {
    "rank-clustered": clustered,
    "rank-filter-models": filter_models,
    "rank-item-analysis": item_analysis,
    "rank-tie": tie,
}


@pytest.mark.parametrize("case", fault_cases("rank"))
def test_fault_case(case, kina, tmp_path):
    STORIES[case["id"]](case, kina, tmp_path)
