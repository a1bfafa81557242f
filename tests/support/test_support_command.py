from __future__ import annotations

import json
from pathlib import Path

import pytest

from kina_build.items.pool import write_pool
from kina_build.support.anchors import write_anchors
from kina_build.support.matrix import read_support


@pytest.fixture
def files(kina, tmp_path: Path, make_item, make_anchor, monkeypatch, words):
    """Lay a pool and anchors in the folder, and put the word encoder in the place of the real one."""
    monkeypatch.setattr("kina_build.dedup.embedding.load_encoder", lambda name, rules: words)
    items = [
        make_item("q1", "What is entropy?", ("disorder", "heat"), "A", field="physics"),
        make_item("q2", "Who painted Guernica?", ("Dali", "Picasso"), "B", field="art"),
        make_item("q3", "Which pope?", ("Leo", "Pius"), "B", field="history"),
    ]
    write_pool(tmp_path / "pool.jsonl", items)
    anchors = [
        make_anchor("u1", "entropy and disorder", domain="physics"),
        make_anchor("u2", "Picasso Guernica", domain="art"),
    ]
    write_anchors(tmp_path / "anchors.jsonl", anchors)
    return tmp_path


def test_a_pool_is_scored_and_what_is_missing_is_said(kina, files):
    line = ("support", "pool.jsonl", "--anchors", "anchors.jsonl", "-o", "s.npz", "--cache", "v.sqlite")
    result = kina(*line, "--json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["items"], report["anchors"], report["idle_items"]) == (3, 2, ["q3"])
    assert [(f["rule"], f["subject"]) for f in report["findings"]] == [("no_anchors", "history")]
    assert read_support(files / "s.npz").item_ids == ("q1", "q2", "q3")
    again = kina(*line)
    assert "up to date" in again.stderr
    assert "items that support nothing: 1 (q3)" in again.stdout


def test_two_runs_are_compared(kina, files):
    line = ("support", "pool.jsonl", "--anchors", "anchors.jsonl", "--cache", "v.sqlite")
    kina(*line, "-o", "one.npz")
    result = kina(*line, "-o", "two.npz", "--all-domains", "--compare", "one.npz", "--json")
    assert json.loads(result.stdout)["compared"]["pairs"] == 6


def test_errors_name_the_file_and_leave_nothing(kina, files):
    (files / "bad.jsonl").write_text('{"anchor_id": "a"}\n')
    result = kina("support", "pool.jsonl", "--anchors", "bad.jsonl", "-o", "s.npz")
    assert (result.exit_code, result.stderr.split("\n")[0]) == (2, "error: bad.jsonl:1: kind: Field required")
    missing = kina("support", "none.jsonl", "--anchors", "anchors.jsonl", "-o", "s.npz")
    assert missing.stderr.startswith("error: none.jsonl: no such file")
    (files / "kina.toml").write_text("[support]\ncosine_flor = 0.1\n")
    unknown = kina("support", "pool.jsonl", "--anchors", "anchors.jsonl", "-o", "s.npz")
    assert "cosine_flor" in unknown.stderr
    assert not list(files.glob("s.npz*"))
