"""`kina difficulty` beside girth, an independent implementation, on the same answers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.live.conftest import ROOT, ensure_venv

pytestmark = [pytest.mark.live, pytest.mark.timeout(1800)]

MODELS, ITEMS = 400, 60
VENV = ROOT / ".venv-live" / "girth"
FIT = """
import json, sys
import numpy as np
from girth import onepl_mml, twopl_mml
answers = np.load(sys.argv[1]).T
found = {}
for name, fit in (("1PL", onepl_mml), ("2PL", twopl_mml)):
    got = fit(answers)
    slopes = np.broadcast_to(np.asarray(got["Discrimination"]), answers.shape[:1])
    found[name] = {"slope": slopes.tolist(), "difficulty": np.asarray(got["Difficulty"]).tolist()}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def answers() -> NDArray[np.int64]:
    """Answers of models of standard normal ability to items of known slope and difficulty."""
    rng = np.random.default_rng(11)
    slope, difficulty = rng.uniform(0.6, 2.0, ITEMS), rng.normal(0, 1, ITEMS)
    chance = 1 / (1 + np.exp(-slope * (rng.normal(size=(MODELS, 1)) - difficulty)))
    return (rng.random(chance.shape) < chance).astype(np.int64)


def by_girth(answers: NDArray[np.int64], folder: Path) -> dict[str, dict[str, NDArray[np.float64]]]:
    try:
        python = ensure_venv(VENV, ("girth",))
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"girth cannot be installed: {error}")
    np.save(folder / "answers.npy", answers)
    line = [python, "-c", FIT, folder / "answers.npy"]
    done = subprocess.run(line, check=True, capture_output=True, text=True, timeout=1200)
    found = json.loads(done.stdout)
    return {name: {key: np.array(values) for key, values in fit.items()} for name, fit in found.items()}


def test_difficulties_and_slopes_are_those_of_girth(
    answers: NDArray[np.int64], kina: Callable[..., Any], tmp_path: Path
) -> None:
    rows = (
        {"model": f"m{model:03}", "item_id": f"q{item:02}", "score": int(answers[model, item])}
        for model in range(MODELS)
        for item in range(ITEMS)
    )
    (tmp_path / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = kina("difficulty", "scores.jsonl", "-o", "difficulty.jsonl")
    assert done.exit_code == 0, done.stderr
    lines = sorted(
        (json.loads(line) for line in (tmp_path / "difficulty.jsonl").read_text().splitlines()),
        key=lambda row: row["item_id"],
    )
    ours = {
        name: np.array([row[name] for row in lines]) for name in lines[0] if name not in ("item_id", "flags")
    }
    theirs = by_girth(answers, tmp_path)

    assert np.abs(ours["difficulty"] - theirs["1PL"]["difficulty"]).max() < 0.05
    # the prior of slopes draws steep ones towards 1: girth has none
    assert np.median(np.abs(ours["discrimination"] - theirs["2PL"]["slope"])) < 0.05
    assert np.corrcoef(ours["discrimination"], theirs["2PL"]["slope"])[0, 1] > 0.99
    for name, reference in (
        ("difficulty", theirs["1PL"]["difficulty"]),
        ("discrimination", theirs["2PL"]["slope"]),
    ):
        within = (ours[f"{name}_low"] <= reference) & (reference <= ours[f"{name}_high"])
        assert within.all(), name
