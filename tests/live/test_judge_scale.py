"""Thousands of judge calls, 200 at once, 5 % of them failing, the driver killed twice.

Every pair gets the one rating that was sold for it, none is lost, none is paid twice.
The full 100,000: `python -m benchmarks.support --judge 100000`.
"""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from kina_build.support.judge.ratings import read_ratings
from kina_build.support.npz import read_support
from tests.live import judging
from tests.live.judge_server import rating_of

pytestmark = [pytest.mark.live, pytest.mark.timeout(1800)]

CALLS = 2000
RAY_CALLS = 1200
FEW_CALLS = 600
LIMIT_S = 1500.0
LATENCY_S = 2.0
"""So long that hundreds of calls are open at once, and that a kill comes while most are to be made."""


def check(folder: Path, counts: dict[str, Any], report: dict[str, Any], calls: int, unheard: int) -> None:
    """Compare what was sold with what was kept; at most `unheard` calls were open when killed."""
    items = calls // judging.CALLS_AN_ITEM
    ratings = {(r.item_id, r.anchor_id): r.rating for r in read_ratings(folder / "ratings.jsonl")}
    assert len(ratings) == items * judging.ANCHORS == report["pairs_judged"] == counts["pairs"]
    assert all(value == rating_of(f"{item} {anchor}") for (item, anchor), value in ratings.items())
    assert counts["pairs_sold_twice"] == 0
    assert read_support(folder / "support.npz").levels.shape == (items, judging.ANCHORS)

    happened = counts["counts"]
    assert happened["billed"] == counts["keys"] == report["calls"]["calls"]
    assert all(happened.get(fault) for fault in ("slow", "dropped", "malformed", "limited", "broken"))
    assert all(happened.get(fault) for fault in ("garbled", "cut", "missing"))
    # an endpoint without keys would have billed these twice: what never arrived, and what was
    # open when the driver was killed
    unheard += sum(happened[fault] for fault in ("slow", "dropped", "malformed"))
    assert happened["given again"] <= unheard

    kept = [json.loads(line) for line in (folder / judging.LOG).read_text().splitlines()]
    answered = [reply["key"] for reply in kept if reply["status"] in ("ok", "truncated")]
    assert len(answered) == len(set(answered)) == counts["keys"]
    assert not (folder / f"{judging.LOG}.batches").exists()


def test_a_driver_killed_twice_pays_for_nothing_twice(tmp_path: Path) -> None:
    judging.lay_out(tmp_path, CALLS, concurrency=200)
    with judging.judge_endpoint(tmp_path, latency_s=LATENCY_S) as url:
        done = judging.judge_through(tmp_path, url, CALLS, kills=2, limit_s=LIMIT_S)
        counts = judging.told(url)
    check(tmp_path, counts, done.report, CALLS, unheard=2 * 200)
    assert 100 < counts["counts"]["most open"] <= 400  # of a killed driver and of its follower


def test_a_driver_told_to_go_takes_every_reply_along(tmp_path: Path) -> None:
    judging.lay_out(tmp_path, FEW_CALLS, concurrency=50)
    with judging.judge_endpoint(tmp_path, faults=0.0, latency_s=LATENCY_S) as url:
        driver = judging.begin(tmp_path, url)
        judging.wait_for_replies(tmp_path, FEW_CALLS // 3, driver, LIMIT_S)
        driver.send_signal(signal.SIGTERM)
        _, said = driver.communicate()
        assert (driver.returncode, "error: interrupted" in said) == (130, True)
        assert judging.count_replies(tmp_path) == judging.told(url)["counts"]["billed"] < FEW_CALLS
        judging.judge_through(tmp_path, url, FEW_CALLS, kills=0, limit_s=LIMIT_S)
        counts = judging.told(url)
    assert counts["counts"]["calls"] == counts["counts"]["billed"] == counts["keys"] == FEW_CALLS


def test_workers_and_a_driver_lost_on_ray_pay_for_nothing_twice(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    judging.lay_out(tmp_path, RAY_CALLS, engine="ray", concurrency=50)
    with judging.judge_endpoint(tmp_path, latency_s=LATENCY_S) as url:
        driver = judging.begin(tmp_path, url)
        judging.wait_for_replies(tmp_path, RAY_CALLS // 5, driver, LIMIT_S)
        assert kill_a_worker(driver.pid)
        judging.wait_for_replies(tmp_path, RAY_CALLS // 2, driver, LIMIT_S)
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
        done = judging.judge_through(tmp_path, url, RAY_CALLS, kills=0, limit_s=LIMIT_S)
        counts = judging.told(url)
    check(tmp_path, counts, done.report, RAY_CALLS, unheard=2 * 50)


def kill_a_worker(driver: int) -> bool:
    """Kill one process below a driver in which Ray runs a task."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        for pid, (name, above) in _processes().items():
            if name.startswith("ray::_run") and driver in above:
                os.kill(pid, signal.SIGKILL)
                return True
        time.sleep(0.1)
    return False


def _processes() -> dict[int, tuple[str, set[int]]]:
    """Return every process's command line and the processes above it."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            pid = int(folder.name)
            names[pid] = (folder / "cmdline").read_text(errors="replace")
            parents[pid] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
    found: dict[int, tuple[str, set[int]]] = {}
    for pid, name in names.items():
        above: set[int] = set()
        at = parents.get(pid, 0)
        while at and at not in above:
            above.add(at)
            at = parents.get(at, 0)
        found[pid] = name, above
    return found
