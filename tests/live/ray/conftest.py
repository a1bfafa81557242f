"""One Ray cluster for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.live.ray.cluster import ray_cluster


@pytest.fixture(scope="package")
def cluster() -> Iterator[Any]:
    """Run a Ray cluster of two nodes and a head; who kills a node adds one first."""
    with ray_cluster(2) as started:
        yield started
