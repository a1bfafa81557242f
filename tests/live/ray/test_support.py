"""Support in parts on a real Ray cluster: byte for byte what this process writes, a node lost or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kina_build.config import DedupRules, EngineRules, SupportRules
from kina_build.encode.loading import load_encoder
from kina_build.engine import Engine, open_engine
from kina_build.items.model import Item, Option
from kina_build.items.pool import write_pool
from kina_build.support.anchors import Anchor
from kina_build.support.embedding import make_embedding_partition_anew, plan_embedding
from kina_build.support.partition.files import make_partitions, work_folder
from kina_build.support.partition.pool import partition_pool
from kina_build.support.partition.ratings import make_rating_partition, plan_ratings
from tests.live.ray.cluster import kill_node

pytestmark = [pytest.mark.live, pytest.mark.timeout(1800)]

WORDS = ["inertia", "friction", "torque", "lens", "mirror", "prism", "current", "heat", "entropy", "pressure"]
ANCHORS = [Anchor(anchor_id=f"u{n}", kind="concept", statement=word) for n, word in enumerate(WORDS)]
ITEMS, PARTS = 120, 8


@pytest.fixture
def engine(cluster: Any) -> Iterator[Engine]:
    with open_engine(EngineRules(kind="ray", workers=2)) as opened:
        yield opened


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    options = (Option(key="A", answer="more"), Option(key="B", answer="less"))
    items = [
        Item(
            item_id=f"q{n:03}",
            question=f"Case {n}: is {WORDS[n % 10]} or {WORDS[n % 7]} more?",
            options=options,
            correct_answer="A",
        )
        for n in range(ITEMS)
    ]
    write_pool(tmp_path / "pool.jsonl", items)
    return tmp_path / "pool.jsonl"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def embed_into(target: Path, pool: Path, run: Callable[..., Iterable[object]]) -> dict[str, bytes]:
    dealt = partition_pool(pool, work_folder(target), size=lambda count: count // PARTS, sample=10)
    encoder = load_encoder("all-MiniLM-L6-v2")
    plan = plan_embedding(
        dealt,
        ANCHORS,
        encoder,
        name=encoder.name,
        encoding=DedupRules(),
        cache=target.with_name(f"{target.name}.sqlite"),
        rules=SupportRules(scale=100),
    )
    assert make_partitions(plan, make_embedding_partition_anew, target, run=run) == (PARTS, PARTS)
    return contents(target)


def test_a_cluster_writes_what_this_process_writes_though_a_node_is_killed(
    cluster: Any, engine: Engine, pool: Path, tmp_path: Path
) -> None:
    def lose_a_node(work: Callable[[Any], object], parts: Iterable[Any]) -> Iterator[object]:
        for number, done in enumerate(engine.map(work, parts)):
            if number == 0:
                cluster.add_node(num_cpus=2)
                kill_node(cluster)
            yield done

    here = embed_into(tmp_path / "here", pool, map)
    there = embed_into(tmp_path / "there", pool, lose_a_node)
    assert there == here
    assert len(here) == 2 * PARTS


def test_ratings_are_laid_out_by_workers_and_their_errors_come_back_whole(
    engine: Engine, pool: Path, tmp_path: Path
) -> None:
    rows = tmp_path / "scores.csv"
    lines = [f"q{n:03},u{n % 10},.{n % 9}" for n in range(ITEMS)]
    rows.write_text("\n".join(["item_id,anchor_id,score", *lines]) + "\n")

    def lay(target: Path, run: Callable[..., Iterable[object]]) -> dict[str, bytes]:
        dealt = partition_pool(pool, work_folder(target), size=lambda count: count // PARTS, sample=10)
        make_partitions(plan_ratings(dealt, ANCHORS, rows), make_rating_partition, target, run=run)
        return contents(target)

    assert lay(tmp_path / "there", engine.map) == lay(tmp_path / "here", map)
    rows.write_text("item_id,anchor_id,score\nq001,u1,.5\nq099,u1,7\n")
    with pytest.raises(Exception, match=r"scores\.csv:3: score: 7 is outside"):
        lay(tmp_path / "faulty", engine.map)
