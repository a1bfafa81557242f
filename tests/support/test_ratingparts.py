"""Scores and ratings made elsewhere, laid out in parts as in one file, with errors on their own lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kina_build.errors import InputError, RowErrors
from kina_build.items.model import Item
from kina_build.rows.jsonl import write_records
from kina_build.rows.tables import read_table, write_csv
from kina_build.support.anchors import Anchor
from kina_build.support.judge.ratings import matrix_of_pairs, read_pair_scores
from kina_build.support.partition.dealing import iter_table
from kina_build.support.partition.files import make_partitions, work_folder
from kina_build.support.partition.pool import partition_pool
from kina_build.support.partition.ratings import make_rating_partition, plan_ratings
from kina_build.support.storage import open_support


@pytest.fixture
def pool(make_item: Callable[..., Item]) -> list[Item]:
    return [make_item(f"q{n}") for n in (3, 1, 4, 0, 2)]


@pytest.fixture
def anchors(make_anchor: Callable[..., Anchor]) -> list[Anchor]:
    return [make_anchor("u1"), make_anchor("u2", "heat")]


def lay(source: Path, pool: list[Item], anchors: list[Anchor]) -> tuple[int, int]:
    target = source.parent / "support"
    write_records(source.parent / "pool.jsonl", pool)
    dealt = partition_pool(source.parent / "pool.jsonl", work_folder(target), size=lambda _: 2, sample=10)
    return make_partitions(plan_ratings(dealt, anchors, source), make_rating_partition, target)


@pytest.mark.parametrize("rows_at_once", [1, 1000])
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_parts_hold_what_one_file_would(
    tmp_path: Path,
    pool: list[Item],
    anchors: list[Anchor],
    suffix: str,
    rows_at_once: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kina_build.support.partition.dealing.ROWS_AT_ONCE", rows_at_once)
    rows = [
        {"item_id": item, "anchor_id": anchor, "judge": judge, "rating": rating}
        for item, anchor, judge, rating in [
            ("q4", "u1", "ann", 4), ("q0", "u2", "ann", 1), ("q4", "u1", "bo", 1), ("q1", "u1", "ann", 3),
        ]
    ]  # fmt: skip
    source = tmp_path / f"r.{suffix}"
    if suffix == "csv":
        write_csv(source, ["item_id", "anchor_id", "judge", "rating"], rows)
    else:
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert lay(source, pool, anchors) == (3, 3)
    whole = matrix_of_pairs(pool, anchors, read_pair_scores(source, pool, anchors))
    found = open_support(tmp_path / "support", memory_mb=4000)
    assert tuple(found.item_ids) == whole.item_ids
    assert (found.levels[:] == whole.levels).all()
    assert whole.levels.any()
    assert sorted(path.suffix for path in (tmp_path / "support").iterdir()) == [".digest"] * 3 + [".npz"] * 3


def test_only_parts_whose_rows_changed_are_made_again(
    tmp_path: Path, pool: list[Item], anchors: list[Anchor]
) -> None:
    source = tmp_path / "s.csv"
    source.write_text("item_id,anchor_id,score\nq0,u1,.5\nq4,u2,1\n")
    assert lay(source, pool, anchors) == (3, 3)
    source.write_text("item_id,anchor_id,score\nq0,u1,.5\nq4,u2,.9\n")
    assert lay(source, pool, anchors) == (3, 1)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("q0,u1,.5\nq9,u1,1\n", "s.csv:3: item_id: 'q9' is not in the file of items"),
        ("q0,u1,.5\n\nq4,u9,1\n", "s.csv:4: anchor_id: 'u9' is not in the file of anchors"),
        ("q4,u2,.5\nq0,u1,7\nq4,u1,\n", "s.csv:4: no score, but line 2 has one"),
        ("q4,u2,.5\nq0,u1,7\n", "s.csv:3: score: 7 is outside"),
        ("q4,u2,.5\nq0,u1,x\n", "s.csv:3: score: 'x' is not a number"),
        ("q0,u2,.5\nq4,u1,0\nq0,u2,.5\n", "s.csv:4: 'q0' and 'u2' were scored before, on line 2"),
        ("q0,u2,.5\n,u1,0\n", "s.csv:3: item_id: missing"),
        ("q0,u2,.5,8\n", "s.csv:2: 4 cells but 3 columns"),
        ("", "s.csv: no rows"),
    ],
)
def test_errors_name_the_lines_of_the_file(
    tmp_path: Path, pool: list[Item], anchors: list[Anchor], rows: str, message: str
) -> None:
    source = tmp_path / "s.csv"
    source.write_text("item_id,anchor_id,score\n" + rows)
    with pytest.raises(InputError) as caught:
        lay(source, pool, anchors)
    assert message in str(caught.value)
    assert not (tmp_path / "support").exists()


def test_json_that_is_no_score_is_an_error_of_its_line(
    tmp_path: Path, pool: list[Item], anchors: list[Anchor]
) -> None:
    source = tmp_path / "s.jsonl"
    source.write_text(
        '{"item_id": "q0", "anchor_id": "u1", "score": 1}\n\n'
        '{"item_id": "q4", "anchor_id": "u1", "score": NaN, "note": "\\ud800"}\n'
    )
    with pytest.raises(RowErrors, match="s.jsonl:3: NaN is not a JSON number"):
        lay(source, pool, anchors)
    source.write_text('{"item_id": "q0"}\n[1]\n{"item\n')
    with pytest.raises(RowErrors) as caught:
        lay(source, pool, anchors)
    assert [fault.line for fault in caught.value.faults] == [2, 3]


def test_a_missing_file_and_one_that_is_not_text_say_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        list(iter_table(tmp_path / "none.csv"))
    (tmp_path / "x.csv").write_bytes(b"a,b\n\xff,1\n")
    with pytest.raises(InputError, match="is not UTF-8"):
        list(iter_table(tmp_path / "x.csv"))
    (tmp_path / "x.csv").write_text("a,a\n1,2\n")
    with pytest.raises(InputError, match="'a' stands more than once"):
        list(iter_table(tmp_path / "x.csv"))
    with pytest.raises(InputError):
        list(iter_table(tmp_path))


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@settings(max_examples=60)
@given(rows=st.lists(st.tuples(cells, cells, cells), max_size=6), bom=st.booleans())
def test_rows_one_by_one_are_the_rows_read_at_once(
    rows: list[tuple[str, str, str]], bom: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("t")
    write_csv(folder / "t.csv", ["a", "b", "c"], [dict(zip("abc", row, strict=True)) for row in rows])
    lines = "".join(json.dumps(dict(zip("abc", row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
    (folder / "t.jsonl").write_bytes(("\ufeff" * bom + lines + "\n").encode())
    assert list(iter_table(folder / "t.csv")) == read_table(folder / "t.csv")
    if rows:
        assert list(iter_table(folder / "t.jsonl")) == read_table(folder / "t.jsonl")
