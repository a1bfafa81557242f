"""A real Ray cluster of several nodes on this machine, for tests that kill some of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CPUS_A_NODE = 2


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


def kill_node(cluster: Any) -> None:
    """Kill one node, without notice, but never the head."""
    cluster.remove_node(cluster.worker_nodes and next(iter(cluster.worker_nodes)), allow_graceful=False)
