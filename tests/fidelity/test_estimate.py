"""`kina score --estimate`: a score on a short form becomes one on the pool, with its interval."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kina_build.items.model import Item
from kina_build.items.pool import write_pool


@pytest.fixture
def form(kina: Any, tmp_path: Path) -> list[str]:
    """Eight models have answered forty questions; a form of ten is drawn."""
    rng = np.random.default_rng(0)
    rows = [
        {"item_id": f"q{b:02}", "model": f"m{a}", "score": int(rng.random() < 0.3 + 0.08 * a)}
        for a in range(8)
        for b in range(40)
    ]
    (tmp_path / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "kina.toml").write_text("[fidelity]\nseeds = 2\ndraws = 10\n")
    line = ("-k", 10, "--estimator", "linear", "-o", "short.json", "--write-estimator", "estimator.json")
    assert kina("shrink", "scores.jsonl", *line).exit_code == 0
    found: list[str] = json.loads((tmp_path / "short.json").read_text())["item_ids"]
    return found


def answer(folder: Path, items: list[Item]) -> None:
    rows = [
        {"item_id": item.item_id, "model": "new", "sample": 0, "response": "A", "letters_of": 1}
        for item in items
    ]
    keep = ("item_id", "model", "sample", "response")
    (folder / "responses.jsonl").write_text(
        "".join(json.dumps({key: row[key] for key in keep}) + "\n" for row in rows)
    )


def test_a_new_model_is_estimated(
    kina: Any, form: list[str], make_item: Callable[..., Item], tmp_path: Path
) -> None:
    items = [make_item(item_id, correct_answer="AB"[at % 2]) for at, item_id in enumerate(form)]
    write_pool(tmp_path / "form.jsonl", items)
    answer(tmp_path, items)
    line = ("score", "--task", "multiple-choice", "--items", "form.jsonl", "--letters-of", "form.jsonl")
    told = kina(*line, "--responses", "responses.jsonl", "--estimate", "estimator.json", "--json")
    assert told.exit_code == 0, told.output
    (found,) = json.loads(told.stdout)["estimates"]
    fitted = json.loads((tmp_path / "estimator.json").read_text())["line"]
    assert found["score"] == 0.5
    assert found["estimate"] == pytest.approx(fitted["intercept"] + fitted["slope"] * 0.5)
    assert found["low"] < found["estimate"] < found["high"]
    shown = kina(*line, "--responses", "responses.jsonl", "--estimate", "estimator.json")
    assert "estimated score on the whole pool" in shown.stdout


def test_other_items_than_those_of_the_form_are_refused(
    kina: Any, form: list[str], make_item: Callable[..., Item], tmp_path: Path
) -> None:
    items = [make_item(item_id) for item_id in form[1:]]
    write_pool(tmp_path / "form.jsonl", items)
    answer(tmp_path, items)
    line = ("score", "--task", "multiple-choice", "--items", "form.jsonl", "--letters-of", "form.jsonl")
    told = kina(*line, "--responses", "responses.jsonl", "--estimate", "estimator.json")
    assert told.exit_code == 1
    assert "the scores are on other items than the 10 of the estimator" in told.stderr
