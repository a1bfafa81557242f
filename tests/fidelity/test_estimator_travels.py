"""estimator.json from `kina shrink` through `kina export` and `kina verify` to `kina rank`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kina_build.items.pool import write_pool
from kina_build.rows.jsonl import read_json
from tests.release.pools import spread

FEW = ("--samples", "200", "--seed", "0")
QUIET = "[fidelity]\nseeds = 2\ndraws = 10\n[release]\ndev_share = 0\n"


@pytest.fixture
def released(kina: Any, tmp_path: Path) -> Path:
    """Eight models have answered forty items; twelve of these are released, with their estimator."""
    rng = np.random.default_rng(0)
    rows = [
        {"item_id": f"i{b}", "model": f"m{a}", "score": int(rng.random() < 0.2 + 0.09 * a)}
        for a in range(8)
        for b in range(40)
    ]
    write_pool(tmp_path / "pool.jsonl", spread(40))
    (tmp_path / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "kina.toml").write_text(QUIET)
    line = ("-k", 12, "--estimator", "linear", "-o", "short.json", "--write-estimator", "estimator.json")
    assert kina("shrink", "scores.jsonl", *line).exit_code == 0
    told = kina(
        *("export", "pool.jsonl", "--selection", "short.json", "--estimator", "estimator.json"),
        *("-o", "release", "--name", "short"),
    )
    assert told.exit_code == 0, told.output
    assert "estimates of the score on the pool are off by" in told.stdout
    return tmp_path / "release"


def test_the_release_carries_the_estimator_and_the_card_states_its_error(kina: Any, released: Path) -> None:
    made = released.parent / "estimator.json"
    assert (released / "estimator.json").read_bytes() == made.read_bytes()
    assert "  estimator.json\n" in (released / "SHA256SUMS").read_text()
    estimator, record = read_json(made), read_json(released / "release.json")
    error = estimator["left_out"][0]
    assert record["pool_error"] == {
        "splits": ["test"],
        "items": 12,
        "pool_items": 40,
        "estimator": "linear",
        "models": 8,
        "level": 0.95,
        **{name: error[name] for name in ("error", "low", "high")},
        **{name: estimator[name] for name in ("raw_bias", "raw_most")},
    }
    card = (released / "README.md").read_text()
    assert f"off by {error['error']:.2f} points on average for a model that taught nothing" in card
    assert f"(95 % interval {error['low']:.2f} to {error['high']:.2f}; 8 models" in card
    assert f"raw ones lie {estimator['raw_bias']:+.2f} points off on average over 8 models" in card
    assert kina("verify", "release").exit_code == 0


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("estimator.json", '"raw_most": ', '"raw_most": 1', "estimator.json says"),
        ("estimator.json", '"items": 12', '"items": 13', "of other items"),
        ("estimator.json", '"left_out": [', '"left_out": [], "was": [', "left_out"),
        ("release.json", '"pool_items": 40,\n    "estimator"', '"pool_items": 41,\n    "estimator"', "says"),
    ],
)
def test_a_changed_estimator_is_found(
    kina: Any, released: Path, file: str, old: str, new: str, told: str
) -> None:
    text = (released / file).read_text()
    assert old in text
    (released / file).write_text(text.replace(old, new, 1))
    found = json.loads(kina("verify", "release", "--json").stdout)
    said = [fault["message"] for fault in found["faults"] if fault["check"] == "figures"]
    assert len(said) == 1
    assert told in said[0]


def test_a_lost_estimator_is_missed(kina: Any, released: Path) -> None:
    (released / "estimator.json").unlink()
    found = json.loads(kina("verify", "release", "--json").stdout)
    assert {"files", "figures"} <= {fault["check"] for fault in found["faults"]}


def test_an_estimator_of_other_items_is_not_released(kina: Any, released: Path) -> None:
    told = kina("export", "pool.jsonl", "--estimator", "estimator.json", "-o", "whole")
    assert told.exit_code == 1
    assert "the estimator is of 12 other items than those of the release" in told.stderr
    assert not (released.parent / "whole").exists()


def test_the_way_that_the_refusal_names_leads_to_a_release(kina: Any, released: Path) -> None:
    (released.parent / "kina.toml").write_text(QUIET.replace("dev_share = 0", "dev_share = 0.3"))
    base = ("export", "pool.jsonl")
    assert kina(*base, "-o", "split").exit_code == 0
    line = ("--given", "split/test.jsonl", "--write-estimator", "test.json")
    assert kina("shrink", "scores.jsonl", *line).exit_code == 0
    assert kina(*base, "-o", "split", "--estimator", "test.json", "--overwrite").exit_code == 0
    record = read_json(released.parent / "split" / "release.json")
    assert record["pool_error"]["splits"] == ["test"]
    assert record["pool_error"]["items"] == record["counts"]["test"]["items"] < 40
    assert kina("verify", "split").exit_code == 0


def test_rank_prints_the_calibrated_figures_beside_the_raw_ones(kina: Any, released: Path) -> None:
    line = ("rank", "--scores", "scores.jsonl", "--only", "short.json", *FEW)
    named = json.loads(kina(*line, "--estimate", "estimator.json", "--json").stdout)
    found = json.loads(kina(*line, "--release", "release", "--json").stdout)
    assert found["on_pool"] == named["on_pool"]
    fitted = read_json(released / "estimator.json")
    for standing, one in zip(named["standings"], named["on_pool"]["estimates"], strict=True):
        assert (one["model"], one["score"]) == (standing["model"], standing["accuracy"])
        wanted = fitted["line"]["intercept"] + fitted["line"]["slope"] * standing["accuracy"]
        assert one["estimate"] == pytest.approx(min(1, max(0, wanted)), abs=2e-6)
        assert one["low"] < one["estimate"] < one["high"]
    shown = kina(*line, "--release", "release").stdout
    assert "on the pool" in shown
    assert f"raw scores of these items lie {fitted['raw_bias']:+.2f} points off" in shown


def test_a_ranking_on_other_items_says_nothing_of_the_pool(kina: Any, released: Path) -> None:
    short = read_json(released.parent / "short.json")["item_ids"]
    (released.parent / "few.json").write_text(json.dumps({"item_ids": short[1:]}))
    line = ("rank", "--scores", "scores.jsonl", "--only", "few.json", *FEW)
    plain = json.loads(kina(*line, "--json").stdout)
    assert "on_pool" not in plain
    noted = kina(*line, "--release", "release", "--json")
    assert noted.exit_code == 0, noted.output
    assert "on_pool" not in json.loads(noted.stdout)
    assert "is of other items than those ranked" in kina(*line, "--release", "release").stdout
    refused = kina(*line, "--estimate", "estimator.json")
    assert refused.exit_code == 1
    assert "the scores are on other items than the 12 of the estimator" in refused.stderr
    published = ("rank", "--published", "p.csv", "--item-count", 12, "--estimate", "estimator.json")
    assert kina(*published).exit_code == 2


def test_a_model_with_gaps_gets_no_estimate(kina: Any, released: Path) -> None:
    short = read_json(released.parent / "short.json")["item_ids"]
    rows = [json.loads(line) for line in (released.parent / "scores.jsonl").read_text().splitlines()]
    kept = [row for row in rows if (row["model"], row["item_id"]) != ("m3", short[0])]
    (released.parent / "gaps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept))
    line = ("rank", "--scores", "gaps.jsonl", "--release", "release", "--only", "short.json", *FEW)
    board = json.loads(kina(*line, "--missing", "wrong", "--json").stdout)
    assert len(board["standings"]) == 8
    assert "m3" not in {one["model"] for one in board["on_pool"]["estimates"]}
    assert len(board["on_pool"]["estimates"]) == 7


def test_an_estimator_that_does_not_hold_together_is_refused_in_one_line(kina: Any, released: Path) -> None:
    found = read_json(released / "estimator.json") | {"estimator": "post-stratified"}
    (released.parent / "estimator.json").write_text(json.dumps(found))
    line = ("rank", "--scores", "scores.jsonl", "--only", "short.json", "--estimate", "estimator.json")
    told = kina(*line)
    assert told.exit_code == 2
    assert "strata: of other items than the form's" in told.stderr
    assert "fault in kina" not in told.stderr
