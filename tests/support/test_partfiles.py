"""Support in a folder of parts: the same scores as in one file, and nothing is made twice."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from kina_build.config import DedupRules, SupportRules
from kina_build.encode.embedding import embed
from kina_build.errors import UsageError
from kina_build.items.model import Item
from kina_build.rows import outputs
from kina_build.rows.jsonl import write_records
from kina_build.support.anchors import Anchor
from kina_build.support.diagnose import describe_partitions, describe_support
from kina_build.support.embedding import (
    EmbeddingPartition,
    make_embedding_partition,
    make_embedding_partition_anew,
    plan_embedding,
    support_by_embedding,
)
from kina_build.support.matrix import SupportMatrix
from kina_build.support.npz import read_support
from kina_build.support.partition.files import make_partitions, read_partitions, work_folder
from kina_build.support.partition.pool import PartitionedPool, partition_pool
from kina_build.support.storage import open_support

RULES = SupportRules(part_items=3)
WORDS = ["entropy", "disorder", "heat", "pope", "picasso", "guernica", "torque", "prism"]


class Power(Exception):
    """The power went off."""


@pytest.fixture
def pool(make_item: Callable[..., Item]) -> list[Item]:
    rng = random.Random(7)
    items = [
        make_item(f"q{n:02}", " ".join(rng.choices(WORDS, k=4)), ("heat", "pope"), "A", field="physics")
        for n in range(10)
    ]
    rng.shuffle(items)
    return items


@pytest.fixture
def anchors(make_anchor: Callable[..., Anchor]) -> list[Anchor]:
    return [
        make_anchor("u2", "entropy and disorder", domain="physics"),
        make_anchor("u1", "guernica", domain="art"),
        make_anchor("u3", "heat"),
    ]


def deal(items: Iterable[Item], folder: Path, size: int) -> PartitionedPool:
    pool = folder.parent / "pool.jsonl"
    write_records(pool, items)
    return partition_pool(pool, folder, size=lambda _: size, sample=10)


class Writer:
    """Write parts by embedding, count them, and stop after some."""

    def __init__(self, encoder: object, anchors: Sequence[Anchor], target: Path) -> None:
        self.encoder, self.anchors, self.target = encoder, anchors, target
        self.made: list[str] = []

    def write(
        self, items: Iterable[Item], stop_after: int | None = None, rules: SupportRules = RULES
    ) -> tuple[int, int]:
        self.made = []

        def make(part: EmbeddingPartition) -> None:
            if len(self.made) == stop_after:
                raise Power
            make_embedding_partition(part, lambda texts: embed(texts, self.encoder))
            self.made.append(part.path.name)

        return make_partitions(self.plan(items, rules), make, self.target)

    def plan(
        self, items: Iterable[Item], rules: SupportRules = RULES, cache: Path | None = None
    ) -> Iterator[EmbeddingPartition]:
        dealt = deal(items, work_folder(self.target), rules.part_items)
        return plan_embedding(
            dealt, self.anchors, self.encoder, name="words", encoding=DedupRules(), cache=cache, rules=rules
        )


@pytest.fixture
def writer(words: object, anchors: list[Anchor], tmp_path: Path) -> Writer:
    return Writer(words, anchors, tmp_path / "support")


def same(one: SupportMatrix, two: SupportMatrix) -> bool:
    return (
        tuple(one.item_ids) == tuple(two.item_ids)
        and one.anchor_ids == two.anchor_ids
        and (one.weights == two.weights).all()
        and (one.levels[:] == two.levels[:]).all()
        and (one.scale, one.weight_unit) == (two.scale, two.weight_unit)
    )


def test_a_folder_holds_what_one_file_would(
    writer: Writer, pool: list[Item], words: object, anchors: list[Anchor]
) -> None:
    assert writer.write(pool) == (4, 4)
    whole = support_by_embedding(pool, anchors, lambda texts: embed(texts, words))
    assert same(open_support(writer.target, memory_mb=4000), whole)
    assert [len(part.item_ids) for part in read_partitions(writer.target)] == [3, 3, 3, 1]
    assert describe_partitions(read_partitions(writer.target)) == describe_support(whole)
    assert not work_folder(writer.target).exists()


def test_a_stopped_run_goes_on_from_the_parts_it_finished(writer: Writer, pool: list[Item]) -> None:
    with pytest.raises(Power):
        writer.write(pool, stop_after=2)
    assert not writer.target.exists()
    torn = work_folder(writer.target) / "part-00001.npz"
    torn.with_suffix(".digest").unlink()  # as if the power had gone off before it was written
    assert writer.write(pool) == (4, 3)
    assert writer.made == ["part-00001.npz", "part-00002.npz", "part-00003.npz"]


def test_only_parts_whose_items_changed_are_made_again(writer: Writer, pool: list[Item]) -> None:
    writer.write(pool)
    changed = [
        item.model_copy(update={"question": "torque"}) if item.item_id == "q04" else item for item in pool
    ]
    assert writer.write(changed) == (4, 1)
    assert writer.made == ["part-00001.npz"]
    assert writer.write(changed) == (4, 0)
    assert writer.write(item for item in changed if item.item_id < "q06") == (2, 0)
    assert sorted(path.name for path in writer.target.iterdir()) == [
        "part-00000.digest", "part-00000.npz", "part-00001.digest", "part-00001.npz",
    ]  # fmt: skip


@pytest.mark.parametrize("change", [{"scale": 100}, {"cosine_floor": 0.0}, {"stratum_mass": {"x": 2.0}}])
def test_other_settings_make_all_parts_again(writer: Writer, pool: list[Item], change: dict) -> None:
    writer.write(pool)
    assert writer.write(pool, rules=RULES.model_copy(update=change)) == (4, 4)


def test_another_encoder_makes_all_parts_again(writer: Writer, pool: list[Item]) -> None:
    writer.write(pool)
    writer.encoder.revision = "2"
    assert writer.write(pool) == (4, 4)


def test_the_earlier_result_stays_until_the_new_one_is_whole(writer: Writer, pool: list[Item]) -> None:
    writer.write(pool)
    before = {path.name: path.read_bytes() for path in writer.target.iterdir()}
    with pytest.raises(Power):
        writer.write(pool, stop_after=1, rules=RULES.model_copy(update={"scale": 100}))
    assert {path.name: path.read_bytes() for path in writer.target.iterdir()} == before


def test_a_folder_of_something_else_is_left_alone(writer: Writer, pool: list[Item]) -> None:
    writer.target.mkdir()
    (writer.target / "thesis.tex").touch()
    with pytest.raises(UsageError, match=r"holds something else than parts \(thesis.tex\)"):
        writer.write(pool)
    (writer.target / "thesis.tex").unlink()
    writer.target.rmdir()
    writer.target.touch()
    with pytest.raises(UsageError, match="is a file"):
        writer.write(pool)


def test_a_run_stopped_while_it_removes_the_earlier_result_goes_on(
    writer: Writer, pool: list[Item], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(folder: Path) -> None:
        raise Power

    finer = RULES.model_copy(update={"scale": 100})
    writer.write(pool)
    with monkeypatch.context() as patch:
        patch.setattr(outputs, "_remove", stop)
        with pytest.raises(Power):
            writer.write(pool, rules=finer)
    assert (work_folder(writer.target) / "part-00000.npz").is_file()
    assert writer.write(pool, rules=finer) == (4, 0)
    assert not work_folder(writer.target).exists()
    assert len(list(writer.target.iterdir())) == 8


def test_a_folder_of_others_in_the_place_of_the_work_is_left_alone(writer: Writer, pool: list[Item]) -> None:
    writer.write(pool)
    work = work_folder(writer.target)
    work.mkdir()
    (work / "thesis.tex").touch()
    with pytest.raises(UsageError, match=r"support.work: holds something of yours \(thesis.tex\)"):
        make_partitions([], make_embedding_partition_anew, writer.target)
    assert [path.name for path in work.iterdir()] == ["thesis.tex"]


def test_a_small_scale_takes_a_byte_a_score(writer: Writer, pool: list[Item]) -> None:
    writer.write(pool, rules=RULES.model_copy(update={"scale": 255}))
    parts = list(read_partitions(writer.target))
    assert {part.levels.dtype.itemsize for part in parts} == {1}
    assert max(part.levels.max() for part in parts) > 100


def test_a_worker_loads_its_encoder_once(
    monkeypatch: pytest.MonkeyPatch,
    writer: Writer,
    pool: list[Item],
    words: object,
    anchors: list[Anchor],
    tmp_path: Path,
) -> None:
    from functools import lru_cache

    from kina_build.support import embedding as embeddingparts

    loads: list[str] = []
    monkeypatch.setattr(embeddingparts, "_load_once", lru_cache(lambda name, *_: loads.append(name) or words))
    writer.write(pool)
    there = Writer(words, anchors, tmp_path / "there")
    plan = there.plan(pool, cache=tmp_path / "v.sqlite")
    assert make_partitions(plan, make_embedding_partition_anew, there.target) == (4, 4)
    assert loads == ["words"]
    for one, two in zip(read_partitions(writer.target), read_partitions(there.target), strict=True):
        assert same(one, two)


def test_workers_are_told_where_files_lie_whatever_folder_they_start_from(
    words: object, anchors: list[Anchor], pool: list[Item], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model").mkdir()
    dealt = deal(pool, Path("support.work"), 5)
    plan = plan_embedding(
        dealt, anchors, words, name="model", encoding=DedupRules(), cache=Path("v.sqlite"), rules=RULES
    )
    part = next(plan)
    assert (part.encoder, part.cache) == (str(tmp_path / "model"), tmp_path / "v.sqlite")
    assert {part.path.parent, part.pool.parent} == {tmp_path / "support.work"}


def test_progress_counts_parts_made(writer: Writer, pool: list[Item], tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def make(part: EmbeddingPartition) -> None:
        make_embedding_partition(part, lambda texts: embed(texts, writer.encoder))

    make_partitions(
        writer.plan(pool), make, writer.target, on_progress=lambda done, total: seen.append((done, total))
    )
    assert [done for done, _ in seen] == [1, 2, 3, 4]
    assert read_support(writer.target / "part-00003.npz").item_ids == ("q09",)


def test_equal_inputs_give_equal_bytes(writer: Writer, pool: list[Item], tmp_path: Path) -> None:
    writer.write(pool)
    first = _contents(writer.target)
    writer.target = tmp_path / "again"
    writer.write(sorted(pool, key=lambda item: item.item_id))
    assert dict(first) == dict(_contents(writer.target))


def _contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    return iter([(path.name, path.read_bytes()) for path in sorted(folder.iterdir())])
