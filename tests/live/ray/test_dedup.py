"""All pairs of a pool on a real Ray cluster: the same pairs, whoever dies, and whoever is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kina_build.config import DedupRules, EngineRules
from kina_build.dedup.search.blocks import BlockPair, Scanned, pairs_in_files
from kina_build.dedup.search.scan import Pairs, pairs_above
from kina_build.encode.vectorfiles import VectorFiles
from kina_build.engine import open_engine
from kina_build.items.model import Item, Option
from kina_build.items.pool import write_pool
from tests.dedup.test_scan import skewed
from tests.dedup.test_vectorfiles import sharded
from tests.live.ray.cluster import kill_node

pytestmark = [pytest.mark.live, pytest.mark.timeout(1800)]

RULES = DedupRules(block_rows=3000)
THRESHOLD = 0.8
VECTORS = 30_000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> VectorFiles:
    vectors = skewed(VECTORS, 384, 5)
    return sharded(tmp_path_factory.mktemp("vectors"), vectors, [1000, 17_000])


@pytest.fixture(scope="module")
def expected(files: VectorFiles) -> Pairs:
    return pairs_above(files[:], THRESHOLD, RULES)


def check_same(found: Pairs, expected: Pairs) -> None:
    assert len(expected) > 1000
    for key in ("left", "right", "cosines"):
        assert np.array_equal(getattr(found, key), getattr(expected, key))


def test_workers_do_not_show(cluster: Any, files: VectorFiles, expected: Pairs, tmp_path: Path) -> None:
    for workers in (1, 2, 4):
        with open_engine(EngineRules(kind="ray", workers=workers)) as engine:
            place = tmp_path / str(workers)
            check_same(pairs_in_files(files, THRESHOLD, RULES, folder=place, run=engine.map), expected)


def test_a_killed_node_is_replaced_and_does_not_show(
    cluster: Any, files: VectorFiles, expected: Pairs, tmp_path: Path
) -> None:
    done: list[Scanned] = []

    def losing_a_node(
        run: Callable[..., Iterator[Scanned]],
        work: Callable[[BlockPair], Scanned],
        parts: Iterable[BlockPair],
    ) -> Iterator[Scanned]:
        for found in run(work, parts):
            done.append(found)
            if len(done) == 10:
                cluster.add_node(num_cpus=2)
                kill_node(cluster)
            yield found

    with open_engine(EngineRules(kind="ray", workers=4)) as engine:
        run = partial(losing_a_node, engine.map)
        found = pairs_in_files(files, THRESHOLD, RULES, folder=tmp_path, run=run)
    check_same(found, expected)
    assert len(done) == 55  # ten blocks, each with itself and with each later one


def test_the_command_goes_on_after_its_driver_was_killed(cluster: Any, tmp_path: Path) -> None:
    """The same bytes as in memory; parts that were finished before the kill are not done again."""
    names = ["amber", "basalt", "cobalt", "dolomite", "emerald", "feldspar", "garnet", "halite"]
    write_pool(
        tmp_path / "pool.jsonl",
        [
            Item(
                item_id=f"q{n:03}",
                question=f"In which valley did the miners of {names[n % 8]} find {names[n // 8 % 8]}?",
                options=(Option(key="A", answer=names[n // 16]), Option(key="B", answer="nowhere")),
                correct_answer="A",
            )
            for n in range(96)
        ],
    )
    (tmp_path / "kina.toml").write_text("[dedup]\nblock_rows = 4\nscan_rows = 4\n", encoding="utf-8")
    line = ["dedup", "pool.jsonl", "--cache", "v.sqlite", "-o"]
    finish(kina(tmp_path, *line, "memory.json"))
    driver = kina(tmp_path, *line, "ray.json", "--engine", "ray")
    kept = wait_for_parts(tmp_path / "ray.json.work", 3, driver)
    driver.kill()
    driver.communicate()  # ends when the process in which it talked to Ray has ended too
    assert not (tmp_path / "ray.json").exists()  # 300 parts take a while
    finished = {path: path.stat().st_mtime_ns for path in kept}
    again = kina(tmp_path, *line, "ray.json", "--engine", "ray")
    wait_for_parts(tmp_path / "ray.json.work", len(kept) + 1, again)
    assert {path: path.stat().st_mtime_ns for path in kept} == finished
    finish(again)
    assert (tmp_path / "ray.json").read_bytes() == (tmp_path / "memory.json").read_bytes()
    assert not (tmp_path / "ray.json.work").exists()


def kina(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from kina_build.cli.main import run; run()", *arguments]
    return subprocess.Popen(
        command,
        cwd=folder,
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ.copy(),
    )


def finish(process: subprocess.Popen[str]) -> None:
    _, said = process.communicate()
    assert process.returncode == 0, said


def wait_for_parts(work: Path, count: int, driver: subprocess.Popen[str]) -> list[Path]:
    """Wait until some parts are finished while the run still goes on."""
    while driver.poll() is None:
        found = list(work.glob("pairs-*/*.npz"))
        if len(found) >= count:
            return found
        time.sleep(0.02)
    pytest.fail("the run ended before it could be killed")
