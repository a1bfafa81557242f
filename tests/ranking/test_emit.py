"""kina rank --emit: the forms of Every Eval Ever and of the Hub."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import yaml
from typer.testing import Result

Kina = Callable[..., Result]
STATED = ("--samples", "200", "--organization", "Us", "--as-of", "2026-12-01")


def board(folder: Path) -> Path:
    rows = [f"q{i:03d},{'law' if i % 2 else 'art'},{int(i % 4 > 0)},{int(i % 3 > 1)}" for i in range(60)]
    path = folder / "scores.csv"
    path.write_text("\n".join(["item_id,discipline,org/good,poor", *rows]) + "\n")
    return path


def test_one_file_a_model_in_both_forms(kina: Kina, tmp_path: Path) -> None:
    out = kina("rank", "--scores", board(tmp_path), *STATED, "--emit", "out", "--dataset", "org/bench")
    assert out.exit_code == 0, out.stderr
    record = json.loads((tmp_path / "out" / "every_eval_ever" / "org_good.json").read_text())
    assert record["evaluation_id"] == "benchmark/org/good/1796083200"
    assert (record["schema_version"], record["retrieved_timestamp"]) == ("0.2.1", "1796083200")
    overall, art, law = record["evaluation_results"]
    assert overall["score_details"]["score"] == 0.75
    assert overall["source_data"]["hf_repo"] == "org/bench"
    assert overall["metric_config"]["max_score"] == 1.0
    assert (art["evaluation_name"], law["evaluation_name"]) == ("benchmark: art", "benchmark: law")
    [entry] = yaml.safe_load((tmp_path / "out" / "eval_results" / "org_good.yaml").read_text())
    assert entry["dataset"] == {"id": "org/bench", "task_id": "default"}
    assert (entry["value"], entry["date"]) == (0.75, "2026-12-01")


def test_our_own_reader_finds_the_score_again(kina: Kina, tmp_path: Path) -> None:
    """The aggregate says nothing by item: as a log it is known, and has no trials."""
    kina("rank", "--scores", board(tmp_path), *STATED, "--emit", "out")
    assert not (tmp_path / "out" / "eval_results").exists()
    told = kina("results", tmp_path / "out" / "every_eval_ever", "-o", "s.jsonl")
    assert (told.exit_code, "no log with scores by item" in told.stderr) == (2, True)


def test_who_and_when_must_be_stated(kina: Kina, tmp_path: Path) -> None:
    bare = kina("rank", "--scores", board(tmp_path), "--emit", "out")
    assert (bare.exit_code, "--emit needs --organization" in bare.stderr) == (2, True)
    odd = kina("rank", "--scores", board(tmp_path), *STATED[:-1], "yesterday", "--emit", "out")
    assert (odd.exit_code, "--as-of yesterday: no date" in odd.stderr) == (2, True)
