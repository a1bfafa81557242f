"""A real Ray cluster of several nodes on this machine, for tests that kill some of them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CPUS_A_NODE = 2
OURS = ("ray::_Kept", "ray::_run")
"""Titles of processes that do the engine's work; agents of Ray's own are called ray::... too."""


@contextmanager
def ray_cluster(nodes: int) -> Iterator[Any]:
    """Start a head without processors and some nodes; RAY_ADDRESS names it; all are stopped after."""
    import ray
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    before = os.environ.get("RAY_ADDRESS")
    try:
        for _ in range(nodes):
            cluster.add_node(num_cpus=CPUS_A_NODE)
        cluster.wait_for_nodes()
        os.environ["RAY_ADDRESS"] = cluster.address
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
        os.environ.pop("RAY_ADDRESS")
        if before is not None:
            os.environ["RAY_ADDRESS"] = before


def wait_for_work(limit_s: float = 600) -> None:
    """Wait until a worker on this machine has work: its process then bears the work's name.

    Raises:
        TimeoutError: none has.
    """
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        titles = [_title(process) for process in Path("/proc").glob("[0-9]*/cmdline")]
        if any(title.startswith(OURS) for title in titles):
            return
        time.sleep(0.02)
    raise TimeoutError(f"no worker of Ray had work within {limit_s} s")


def _title(process: Path) -> str:
    try:
        return process.read_bytes().decode("utf-8", "replace")
    except OSError:  # it has gone
        return ""


def kill_node(cluster: Any) -> None:
    """Kill one node, without notice, but never the head."""
    cluster.remove_node(cluster.worker_nodes and next(iter(cluster.worker_nodes)), allow_graceful=False)
