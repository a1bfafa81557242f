"""The flow on public corpora, as `make real` runs it; takes some minutes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.real import main

pytestmark = [pytest.mark.live, pytest.mark.real, pytest.mark.timeout(2400)]


def test_mmlu_redux_becomes_a_certified_split(shared: Path, tmp_path: Path) -> None:
    main(["--data", str(shared), "--into", str(tmp_path / "real"), "--only", "redux"])
    done = tmp_path / "real"
    assert len((done / "pool.jsonl").read_text(encoding="utf-8").splitlines()) == 5700
    selection = json.loads((done / "selection.json").read_text(encoding="utf-8"))
    assert len(set(selection["item_ids"])) == 300
    assert selection["certificate"]["ratio"] > 0.9
    duplicates = json.loads((done / "duplicates.json").read_text(encoding="utf-8"))
    held = {row["item_id"] for row in duplicates["dropped"]}
    assert held
    assert not held & set(selection["item_ids"])


def test_models_are_ranked_on_a_selected_split(shared: Path, tmp_path: Path) -> None:
    main(["--data", str(shared), "--into", str(tmp_path / "real"), "--only", "pro"])
    done = tmp_path / "real"
    board = json.loads((done / "pro-leaderboard.json").read_text(encoding="utf-8"))
    whole = json.loads((done / "pro-leaderboard-all.json").read_text(encoding="utf-8"))
    assert (len(board["standings"]), len(whole["standings"])) == (26, 26)
    assert len({s["tier"] for s in board["standings"]}) <= len({s["tier"] for s in whole["standings"]})
