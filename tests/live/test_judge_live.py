"""50 items x 20 anchors rated by a real model server: killed in the middle, resumed, nothing repeated.

The model is too small to judge well; what is tested is the way there and back.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kina_build.items.model import LETTERS, Item, Option
from kina_build.items.pool import write_pool
from kina_build.support.anchors import Anchor, write_anchors
from kina_build.support.judge.ratings import read_ratings
from kina_build.support.npz import read_support

pytestmark = [pytest.mark.live, pytest.mark.timeout(2400)]

TOPICS = (
    *("inertia", "friction", "momentum", "gravity", "torque", "lenses", "mirrors", "prisms", "sound"),
    *("pendulums", "current", "resistance", "magnetism", "induction", "capacitors", "heat", "entropy"),
    *("pressure", "buoyancy", "radioactivity"),
)
ITEMS = 50
SETTINGS = """
[chat]
concurrency = 2
timeout_s = 300

[support]
prefilter_anchors = 2
prefilter_items = 2
judge_batch = 3
judge_tokens = 40
judge_quote = 30
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Lay 50 questions on 20 topics, an anchor for each topic, and settings in a folder."""
    items = [
        Item(
            item_id=f"q{n:02}",
            field="physics",
            question=f"Case {n}: which quantity is central to {TOPICS[n % 20]}?",
            options=tuple(Option(key=key, answer=TOPICS[(n + i) % 20]) for i, key in enumerate(LETTERS[:4])),
            correct_answer="A",
        )
        for n in range(ITEMS)
    ]
    write_pool(tmp_path / "pool.jsonl", items)
    anchors = [
        Anchor(anchor_id=f"u{n:02}", domain="physics", kind="concept", statement=f"the concept of {topic}")
        for n, topic in enumerate(TOPICS)
    ]
    write_anchors(tmp_path / "anchors.jsonl", anchors)
    (tmp_path / "kina.toml").write_text(SETTINGS)
    return tmp_path


def support(folder: Path, base_url: str, *more: str) -> subprocess.Popen[str]:
    """Start `kina support` by a judge in a process of its own."""
    files = (
        "support",
        "pool.jsonl",
        "--anchors",
        "anchors.jsonl",
        "-o",
        "support.npz",
        "--cache",
        "v.sqlite",
    )
    command = (*files, "--method", "judge", "--judge", "smollm2", "--save-ratings", "ratings.jsonl", "--json")
    return subprocess.Popen(
        [sys.executable, "-c", "from kina_build.cli.main import run; run()", *command, *more],
        cwd=folder,
        env=os.environ | {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "sk-live-secret"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def logged(path: Path) -> list[dict[str, Any]]:
    """Return the whole lines of a reply log."""
    return [json.loads(line) for line in path.read_text().split("\n")[:-1]] if path.exists() else []


def test_a_killed_judge_is_resumed_without_repeating_a_call(model_server: str, folder: Path) -> None:
    log = folder / "support.npz.calls.jsonl"
    plan = json.loads(support(folder, model_server, "--dry-run").communicate()[0])
    assert ITEMS <= plan["calls"] <= 2 * ITEMS
    assert plan["pairs"] < ITEMS * len(TOPICS) / 4

    process = support(folder, model_server)
    deadline = time.monotonic() + 600
    while len(logged(log)) < 12 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = logged(log)
    assert 12 <= len(before) < plan["calls"]
    assert not (folder / "support.npz").exists()
    assert not (folder / "ratings.jsonl").exists()

    out, err = support(folder, model_server).communicate()
    after = logged(log)
    assert after[: len(before)] == before
    keys = [reply["key"] for reply in after if reply["status"] in ("ok", "truncated")]
    assert len(keys) == len(set(keys)) == len(after) >= plan["calls"]
    report = json.loads(out)
    assert report["calls"]["calls"] == len(after), err
    assert report["left_out"] == []
    assert "sk-live-secret" not in log.read_text() + out + err

    ratings = read_ratings(folder / "ratings.jsonl")
    assert len(ratings) == plan["pairs"] == sum(report["ratings"]["smollm2"])
    matrix = read_support(folder / "support.npz")
    assert matrix.levels.shape == (ITEMS, len(TOPICS))

    (folder / "support.npz.manifest.json").unlink()
    again, said = support(folder, model_server, "--overwrite").communicate()
    assert json.loads(again) | {"reused": {}} == report | {"reused": {}}
    assert "0 calls made now" in said
    assert logged(log) == after
