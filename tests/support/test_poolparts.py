"""A pool cut into parts: by id, whatever its order, with the errors that reading it whole gives."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina_build.errors import InputError, Refusal
from kina_build.items.model import Item, Option
from kina_build.items.pool import read_pool
from kina_build.rows.jsonl import write_records
from kina_build.rows.source import STREAM
from kina_build.support.partition.pool import PartitionedPool, fit_partition, partition_pool, read_partition


def deal(items: list[Item], folder: Path, size: int, sample: int = 10) -> PartitionedPool:
    write_records(folder / "pool.jsonl", items)
    return partition_pool(folder / "pool.jsonl", folder / "work", size=lambda _: size, sample=sample)


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)


@given(ids=st.lists(texts, min_size=1, max_size=9, unique=True), size=st.integers(1, 4))
def test_parts_hold_all_items_in_order(
    ids: list[str], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    options = (Option(key="A", answer="x\u2028y"), Option(key="B", answer="z"))
    items = [Item(item_id=one, question=f"q {one}", options=options, correct_answer="A") for one in ids]
    dealt = deal(items, tmp_path_factory.mktemp("d"), size)
    parts = [read_partition(path) for path in dealt.paths]
    assert [item for part in parts for item in part] == sorted(items, key=lambda item: item.item_id)
    assert all(len(part) == size for part in parts[:-1])
    assert (dealt.count, dealt.firsts) == (len(ids), tuple(part[0].item_id for part in parts))
    assert list(dealt.read_ids()) == [[item.item_id for item in part] for part in parts]


def test_what_must_be_known_of_all_items_is(tmp_path: Path, make_item: Callable[..., Item]) -> None:
    items = [make_item(f"q{n:03}", field=("law", "art")[n % 2]) for n in range(400)]
    dealt = deal(items, tmp_path, 100, sample=40)
    assert sorted(item.field for item in dealt.domains) == ["art", "law"]
    assert 20 < len(dealt.sample) < 80
    backwards = deal(items[::-1], tmp_path, 100, sample=40)
    assert sorted(item.item_id for item in backwards.sample) == sorted(item.item_id for item in dealt.sample)


@pytest.mark.parametrize(
    "rows",
    [
        '{"item_id": "q1"}\n{"item_id": \n',
        '[]\n{"item_id": "q1", "question": "?", "options": [], "correct_answer": "A", "odd": 1}\n',
        "\n",
    ],
)
def test_faulty_pools_are_refused_as_when_read_whole(tmp_path: Path, rows: str) -> None:
    (tmp_path / "pool.jsonl").write_text(rows)
    with pytest.raises(InputError) as whole:
        read_pool(tmp_path / "pool.jsonl")
    with pytest.raises(InputError) as parts:
        partition_pool(tmp_path / "pool.jsonl", tmp_path / "work", size=lambda _: 5, sample=5)
    assert str(parts.value) == str(whole.value)
    assert not (tmp_path / "work").exists()


def test_an_id_on_two_rows_is_refused(tmp_path: Path, make_item: Callable[..., Item]) -> None:
    with pytest.raises(InputError, match="item_id 'q1' stands on more than one row"):
        deal([make_item("q1"), make_item("q2"), make_item("q1")], tmp_path, 5)
    with pytest.raises(InputError, match="no such file"):
        partition_pool(tmp_path / "none.jsonl", tmp_path / "work", size=lambda _: 5, sample=5)
    (tmp_path / "folder" / "pool.jsonl").mkdir(parents=True)
    with pytest.raises(InputError, match=r"pool.jsonl: Is a directory"):
        partition_pool(tmp_path / "folder" / "pool.jsonl", tmp_path / "work", size=lambda _: 5, sample=5)


def test_a_pool_can_come_by_a_pipe(
    tmp_path: Path, make_item: Callable[..., Item], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_records(tmp_path / "pool.jsonl", [make_item("q2"), make_item("q1")])
    raw = io.BytesIO((tmp_path / "pool.jsonl").read_bytes())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw))
    dealt = partition_pool(STREAM, tmp_path / "work", size=lambda _: 1, sample=5)
    assert [[item.item_id for item in read_partition(path)] for path in dealt.paths] == [["q1"], ["q2"]]


def test_parts_are_as_large_as_memory_allows() -> None:
    fit = {"base_bytes": 100_000_000, "item_bytes": 10_000}
    assert fit_partition(1_000_000, most=5000, memory_mb=4000, **fit) == 5000
    # 400 MB less the program and a million ids leave 200 MB
    assert fit_partition(1_000_000, most=100_000, memory_mb=400, **fit) == 20_000
    with pytest.raises(Refusal, match="205 MB of memory is too little for 1000000 items") as refused:
        fit_partition(1_000_000, most=100_000, memory_mb=205, **fit)
    assert refused.value.hint == "--memory 210 is the least"
    assert fit_partition(1_000_000, most=100_000, memory_mb=210, **fit) == 1000
    assert fit_partition(10, most=100_000, memory_mb=101, **fit) >= 10
