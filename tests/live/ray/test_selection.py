"""Selection on a real Ray cluster: the same file, whatever the workers, and whoever dies."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kina_build.config import EngineRules
from kina_build.engine import open_engine
from kina_build.rows.jsonl import dump_document
from kina_build.selection.domains import select
from kina_build.selection.inputs import Inputs
from kina_build.selection.solver.shards import Pursuit, Shards
from kina_build.support.matrix import build_matrix
from tests.live.ray.cluster import kill_node, ray_cluster, wait_for_work
from tests.selection.test_shards import write_parts

pytestmark = [pytest.mark.live, pytest.mark.timeout(1800)]

ITEMS = 40_000
SIZE = 60


@pytest.fixture(scope="module")
def world() -> Inputs:
    rng = np.random.default_rng(11)
    scores = np.rint(rng.random((ITEMS, 30)) * 100) / 100 * (rng.random((ITEMS, 30)) < 0.15)
    ids = [f"q{number:06}" for number in range(ITEMS)]
    matrix = build_matrix(ids, [f"u{at:02}" for at in range(30)], scores, np.arange(1.0, 31.0), scale=100)
    return Inputs(
        matrix,
        strata={item_id: f"s{at % 5}" for at, item_id in enumerate(ids)},
        conflicts=tuple((ids[at], ids[at + 7]) for at in range(0, 2000, 20)),
        exclude=frozenset(ids[:100]),
    )


@pytest.fixture(scope="module")
def wanted(world: Inputs) -> str:
    return dump_document(select(world, SIZE))


@pytest.mark.parametrize(("workers", "parts"), [(1, 3), (2, 8), (4, 5)])
def test_workers_and_parts_do_not_show(
    world: Inputs, wanted: str, cluster: Any, tmp_path: Path, workers: int, parts: int
) -> None:
    random = np.random.default_rng(parts)
    parted = replace(
        world, matrix=write_parts(tmp_path, world.matrix, random.integers(0, parts, ITEMS).tolist())
    )
    with open_engine(EngineRules(kind="ray", workers=workers)) as engine:
        assert dump_document(select(parted, SIZE, engine=engine)) == wanted


def test_a_killed_node_is_replaced_and_does_not_show(
    world: Inputs, wanted: str, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parted = replace(world, matrix=write_parts(tmp_path, world.matrix, [at % 6 for at in range(ITEMS)]))
    asked = {"picks": 0, "passes": 0}
    pick, price = Pursuit.best, Shards.sum_gains

    def next_pick(self: Pursuit, cover: Any, room: Any) -> int:
        asked["picks"] += 1
        if asked["picks"] == 20:
            kill_node(cluster)
        return pick(self, cover, room)

    def sum_gains(self: Shards, *given: Any) -> Any:
        asked["passes"] += 1
        if asked["passes"] == 2:
            kill_node(cluster)
        return price(self, *given)

    monkeypatch.setattr(Pursuit, "best", next_pick)
    monkeypatch.setattr(Shards, "sum_gains", sum_gains)
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    with open_engine(EngineRules(kind="ray", workers=4)) as engine:
        assert dump_document(select(parted, SIZE, engine=engine)) == wanted
    assert asked["picks"] > 20
    assert asked["passes"] > 2


def kina(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from kina_build.cli.main import run; run()", *arguments]
    return subprocess.Popen(
        command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ.copy()
    )


def test_the_command_writes_the_same_file_on_ray(world: Inputs, cluster: Any, tmp_path: Path) -> None:
    write_parts(tmp_path / "support", world.matrix, [at % 6 for at in range(ITEMS)])
    (tmp_path / "kina.toml").write_text("[engine]\nspread_scores = 0\n")
    for engine in ("local", "ray"):
        options = ["--support", "support", "-k", "40", "-o", f"{engine}.json", "--engine", engine]
        done = kina(tmp_path, "select", *options)
        _, err = done.communicate()
        assert done.returncode == 0, err
        assert "Traceback" not in err
    assert (tmp_path / "local.json").read_bytes() == (tmp_path / "ray.json").read_bytes()


def test_a_small_pool_stays_in_this_process_and_the_command_says_so(
    world: Inputs, cluster: Any, tmp_path: Path
) -> None:
    write_parts(tmp_path / "support", world.matrix, [at % 2 for at in range(ITEMS)])
    done = kina(tmp_path, "select", "--support", "support", "-k", "5", "-o", "s.json", "--engine", "ray")
    _, err = done.communicate()
    assert done.returncode == 0, err
    assert "no domain is large enough for Ray" in err


def test_a_lost_cluster_is_one_line(world: Inputs, tmp_path: Path) -> None:
    write_parts(tmp_path / "support", world.matrix, [at % 6 for at in range(ITEMS)])
    (tmp_path / "kina.toml").write_text("[engine]\nspread_scores = 0\n")
    with ray_cluster(1) as own:
        lost = kina(
            tmp_path, "select", "--support", "support", "-k", "40000", "-o", "s.json", "--engine", "ray"
        )
        wait_for_work()
        own.shutdown()
        _, err = lost.communicate()
    assert lost.returncode == 2, err
    assert "Traceback" not in err
    assert "error: the Ray cluster " in err, err
    assert not (tmp_path / "s.json").exists()
