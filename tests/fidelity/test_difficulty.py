"""Difficulty: parameters are found again, signs and gaps are told, few models are said to be few."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from kina_build.fidelity.difficulty import measure_difficulty
from kina_build.fidelity.irt import EASE_SD, GRID, SLOPE_MEAN, SLOPE_SD, fit
from kina_build.fidelity.responses import Responses


def world(models: int, items: int, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    slope, hardness, ability = rng.uniform(0.6, 1.8, items), rng.normal(0, 1, items), rng.normal(0, 1, models)
    chance = 1 / (1 + np.exp(-slope * (ability[:, None] - hardness)))
    return (rng.random(chance.shape) < chance).astype(float), slope, hardness


def test_parameters_are_found_again() -> None:
    scores, slope, hardness = world(400, 40)
    found = fit(scores, "2PL", fit(scores, "1PL"))
    assert found.settled
    assert np.corrcoef(found.difficulty, hardness)[0, 1] > 0.97
    assert np.corrcoef(found.slope, slope)[0, 1] > 0.8
    covered = np.abs(found.difficulty - hardness) <= 1.96 * found.difficulty_error
    assert covered.mean() >= 0.85


@pytest.mark.parametrize("form", ["1PL", "2PL"])
def test_the_fit_is_the_largest_posterior(form: Any) -> None:
    """EM must end where a plain optimiser of the marginal likelihood ends."""
    scores, _, _ = world(60, 5, seed=4)
    prior = np.exp(-(GRID**2) / 2) / np.exp(-(GRID**2) / 2).sum()

    def loss(values: Any) -> float:
        ease = values[:5]
        slope = values[5:] if form == "2PL" else np.repeat(values[5], 5)
        logits = slope[:, None] * GRID + ease[:, None]
        log = scores @ logits - np.logaddexp(0, logits).sum(axis=0)
        total = np.log(np.exp(log) @ prior).sum() - (ease**2).sum() / 2 / EASE_SD**2
        return float(-total + ((values[5:] - SLOPE_MEAN) ** 2).sum() / 2 / SLOPE_SD**2)

    best = minimize(loss, np.append(np.zeros(5), np.ones(5 if form == "2PL" else 1)))
    found = fit(scores, form)
    assert found.ease == pytest.approx(best.x[:5], abs=0.03)
    assert found.slope == pytest.approx(best.x[5:] if form == "2PL" else np.repeat(best.x[5], 5), abs=0.03)


def test_a_wrong_key_and_extremes_are_flagged() -> None:
    scores, _, _ = world(120, 30, seed=1)
    scores[:, 0] = 1 - (scores.mean(axis=1) > np.median(scores.mean(axis=1)))
    scores[:, 1], scores[:, 2] = 1.0, 0.0
    names = tuple(f"m{at:03}" for at in range(120)), tuple(f"q{at:02}" for at in range(30))
    found = measure_difficulty(Responses(*names, scores, ("",), np.zeros(30, dtype=np.int64)))
    assert "wrong sign" in found.items[0].flags
    assert found.items[1].flags[0] == "all right"
    assert found.items[2].flags[0] == "all wrong"
    assert found.items[1].difficulty < found.items[3].difficulty < found.items[2].difficulty
    assert not found.warnings
    assert sum(bool(item.flags) for item in found.items) <= 5


def test_the_command_says_that_few_models_are_few(kina: Any, tmp_path: Path) -> None:
    scores, _, _ = world(6, 12)
    rows = [
        {"item_id": f"q{b}", "model": f"m{a}", "score": scores[a, b]} for a in range(6) for b in range(12)
    ]
    (tmp_path / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = kina("difficulty", "scores.jsonl", "-o", "difficulty.jsonl")
    assert told.exit_code == 0, told.output
    assert "6 models are few for a difficulty" in told.stdout
    held = [json.loads(line) for line in (tmp_path / "difficulty.jsonl").read_text().splitlines()]
    assert len(held) == 12
    assert all(row["difficulty_low"] < row["difficulty"] < row["difficulty_high"] for row in held)
