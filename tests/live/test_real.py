"""The flow on a public corpus, as `make real` runs it: five minutes, nearly all of them embedding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.real import main
from kina_build.items.pool import read_pool

pytestmark = [pytest.mark.live, pytest.mark.real, pytest.mark.timeout(2400)]


def test_mmlu_redux_becomes_a_certified_split(shared: Path, tmp_path: Path) -> None:
    main(["--data", str(shared), "--into", str(tmp_path / "real"), "--only", "redux", "--no-near"])
    done = tmp_path / "real" / "redux"
    assert len(read_pool(done / "pool.jsonl")) == 5700
    contamination = json.loads((done / "contamination.json").read_text(encoding="utf-8"))
    assert "hits" in contamination
    selection = json.loads((done / "selection.json").read_text(encoding="utf-8"))
    assert len(set(selection["item_ids"])) == 300
    assert selection["certificate"]["tightest"]["ratio"] > 0.9
    duplicates = json.loads((done / "duplicates.json").read_text(encoding="utf-8"))
    held = {row["item_id"] for row in duplicates["dropped"]}
    assert held
    assert not held & set(selection["item_ids"])
