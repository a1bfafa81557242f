"""A run of 60 items against a real model server, killed in the middle and resumed."""

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

pytestmark = [pytest.mark.live, pytest.mark.timeout(1800)]

ITEMS = 60
WORDS = ("iron", "gold", "zinc", "lead")


def pool(folder: Path) -> Path:
    """Write 60 small questions."""
    path = folder / "pool.jsonl"
    items = [
        Item(
            item_id=f"q{number:02}",
            question=f"{number}: which metal is number {number % 4 + 1} of this list?",
            options=tuple(Option(key=key, answer=word) for key, word in zip(LETTERS, WORDS, strict=False)),
            correct_answer=LETTERS[number % 4],
        )
        for number in range(ITEMS)
    ]
    write_pool(path, items)
    return path


def kina(folder: Path, base_url: str, *arguments: Any) -> subprocess.Popen[str]:
    """Start `kina` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", "from kina_build.cli.main import run; run()", *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "sk-live-secret"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def logged(path: Path) -> list[str]:
    """Return the keys of all whole lines of a reply log."""
    if not path.exists():
        return []
    return [json.loads(line)["key"] for line in path.read_text().split("\n")[:-1]]


def test_a_killed_run_is_resumed_with_no_call_repeated(model_server: str, tmp_path: Path) -> None:
    pool(tmp_path)
    log = tmp_path / "responses.replies.jsonl"
    command = ("run", "--items", "pool.jsonl", "--model", "smollm2", "-o", "responses.jsonl", "--samples", 1)
    command += ("--temperature", 0, "--max-tokens", 4, "--concurrency", 2, "--json")

    process = kina(tmp_path, model_server, *command)
    deadline = time.monotonic() + 240
    while len(logged(log)) < 4 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    _, talk = process.communicate()
    before = logged(log)
    assert 4 <= len(before) < ITEMS, talk
    assert not (tmp_path / "responses.jsonl").exists()

    out, err = kina(tmp_path, model_server, *command).communicate()
    report = json.loads(out)
    assert report["answered"] == ITEMS, err
    after = logged(log)
    assert after[: len(before)] == before
    assert len(after) == len(set(after)) == ITEMS
    assert "sk-live-secret" not in log.read_text() + err + out

    done = kina(tmp_path, model_server, "score", "--task", "multiple-choice", "--items", "pool.jsonl",
                "--responses", "responses.jsonl", "--json")  # fmt: skip
    scored = json.loads(done.communicate()[0])
    assert scored["models"][0]["answered"] == ITEMS
    assert scored["models"][0]["coverage"] == 1


def test_temperature_zero_is_deterministic(model_server: str, tmp_path: Path) -> None:
    pool(tmp_path)
    texts = []
    for name in ("one", "two"):
        command = ("run", "--items", "pool.jsonl", "--model", "m", "-o", f"{name}.jsonl", "--samples", 1)
        command += ("--temperature", 0, "--max-tokens", 4, "--concurrency", 1, "--limit", 2)
        kina(tmp_path, model_server, *command).communicate()
        texts.append((tmp_path / f"{name}.jsonl").read_text())
    assert texts[0] == texts[1]
