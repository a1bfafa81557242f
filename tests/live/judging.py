"""Many judge calls by `kina support` against a scripted endpoint, while the driver is killed."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kina_build.items.model import Item, Option
from kina_build.items.pool import write_pool
from kina_build.support.anchors import Anchor, write_anchors

SERVER = Path(__file__).with_name("judge_server.py")
ANCHORS = 8
CALLS_AN_ITEM = 4
"""Two anchors a call."""
FAULTS = 0.05
LATENCY_S = 0.1
TIMEOUT_S = 20.0
"""Far above the latency: a busy machine makes no call late."""
SLOW_S = 25.0
"""What a slow call takes: longer than a call may; all attempts together outwait it."""
START_S = 300.0
LOG = "support.npz.calls.jsonl"
SETTINGS = """
[chat]
concurrency = {concurrency}
timeout_s = {timeout_s}
backoff_s = 0.2
drain_s = 300
attempts = 12
batch_calls = 100
max_calls = {max_calls}

[engine]
kind = "{engine}"
workers = 2

[support]
prefilter_anchors = 0
judge_batch = 2
judge_rounds = 6
"""


@contextmanager
def judge_endpoint(folder: Path, faults: float = FAULTS, latency_s: float = LATENCY_S) -> Iterator[str]:
    """Run the scripted endpoint in a process of its own; yield where it is."""
    ready = folder / "ready"
    ready.unlink(missing_ok=True)
    process = subprocess.Popen([sys.executable, SERVER, ready, str(faults), str(latency_s), str(SLOW_S)])
    try:
        deadline = time.monotonic() + START_S
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the scripted judge did not start")
            time.sleep(0.05)
        yield ready.read_text()
    finally:
        process.kill()
        process.wait(10)


def told(url: str) -> dict[str, Any]:
    """Return what the endpoint counted."""
    with urllib.request.urlopen(url + "/counts", timeout=600) as reply:
        counts: dict[str, Any] = json.load(reply)
    return counts


def lay_out(folder: Path, calls: int, *, engine: str = "local", concurrency: int = 200) -> None:
    """Lay a pool and anchors that take so many calls, and settings, in a folder."""
    options = tuple(Option(key=key, answer=f"answer {key}") for key in "ABCD")
    items = [
        Item(item_id=f"q{n:06}", question=f"q{n:06} which is right?", options=options, correct_answer="A")
        for n in range(calls // CALLS_AN_ITEM)
    ]
    write_pool(folder / "pool.jsonl", items)
    anchors = [
        Anchor(anchor_id=f"u{n}", kind="concept", statement=f"u{n} as a concept") for n in range(ANCHORS)
    ]
    write_anchors(folder / "anchors.jsonl", anchors)
    settings = SETTINGS.format(
        concurrency=concurrency, timeout_s=TIMEOUT_S, engine=engine, max_calls=2 * calls
    )
    (folder / "kina.toml").write_text(settings)


@dataclass(frozen=True)
class Judging:
    """What a run took, all its drivers together."""

    report: dict[str, Any]
    """What the last driver printed."""
    kills: int
    wall_s: float
    cpu_s: float
    """Of the drivers, without the endpoint."""
    peak_mb: float
    """Largest resident memory of a driver, in 10^6 bytes."""


def judge_through(folder: Path, url: str, calls: int, kills: int, limit_s: float) -> Judging:
    """Run `kina support` to its end, killing it where equal shares of the calls are answered."""
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    for kill in range(1, kills + 1):
        driver = begin(folder, url)
        wait_for_replies(folder, calls * kill // (kills + 1), driver, limit_s)
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
    driver = begin(folder, url)
    out, err = driver.communicate(timeout=limit_s)
    if driver.returncode != 0:
        raise RuntimeError(err)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = spent.ru_utime + spent.ru_stime - before.ru_utime - before.ru_stime
    return Judging(json.loads(out), kills, time.monotonic() - start, cpu_s, spent.ru_maxrss * 1024 / 1e6)


def begin(folder: Path, url: str) -> subprocess.Popen[str]:
    """Start `kina support` by a judge."""
    line = ("support", "pool.jsonl", "--anchors", "anchors.jsonl", "-o", "support.npz", "--method", "judge",
            "--judge", "scripted", "--save-ratings", "ratings.jsonl", "--json")  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-c", "from kina_build.cli.main import run; run()", *line],
        cwd=folder,
        env=os.environ | {"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": "sk-scripted"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_replies(folder: Path, count: int, driver: subprocess.Popen[str], limit_s: float) -> None:
    """Wait until so many replies are kept, in the log or in a batch's file."""
    deadline = time.monotonic() + limit_s
    while count_replies(folder) < count:
        if driver.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{count_replies(folder)} of {count} replies: {driver.communicate()[1]}")
        time.sleep(0.3)


def count_replies(folder: Path) -> int:
    """Count the lines of the log and of unfinished batches."""
    return sum(_lines(path) for path in (folder / LOG, *(folder / f"{LOG}.batches").glob("*.jsonl")))


def _lines(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0
