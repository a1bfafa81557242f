"""Questions from Python: files, rows and data frames in, findings that know how they are written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from kina_build.items import Item, Layout, Pool, check, read_questions

ROWS: list[dict[str, Any]] = [
    {"question": "Which gas do plants give off?", "A": "oxygen", "B": "argon", "answer": "A"},
    {"question": "Which animal builds dams?", "A": "otter", "B": "beaver", "answer": "B"},
    {"question": "Which metal is liquid?", "A": "tin", "B": "mercury", "answer": "both"},
]


def answers(pool: Pool) -> list[str | None]:
    return [item.correct_text for item in pool]


def test_rows_a_frame_and_a_file_give_the_same_items(tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS)
    frame.to_csv(tmp_path / "q.csv", index=False)
    from_rows, from_frame = read_questions(ROWS), read_questions(frame)
    from_file, from_files = read_questions(tmp_path / "q.csv"), read_questions([str(tmp_path / "q.csv")])
    assert answers(from_rows) == ["oxygen", "beaver"]
    assert from_rows.items == from_frame.items == from_file.items == from_files.items
    assert [(r.file, r.line) for r in from_rows.rejects] == [("rows", 3)]


def test_a_pool_is_read_as_it_is(tmp_path: Path) -> None:
    pool = read_questions(ROWS)
    assert pool.write(tmp_path / "pool.jsonl") == 2
    again = read_questions(tmp_path / "pool.jsonl")
    assert sorted(map(str, answers(again))) == ["beaver", "oxygen"]
    assert str(pool) == "2 items, 1 rejects"
    assert pool[0] is pool.items[0]


def test_a_layout_names_the_columns() -> None:
    rows = [{"q": "2 + 2 = ?", "x": "4", "y": "5", "right": "4"}]
    (item,) = read_questions(
        rows, Layout(columns={"question": "q", "options": "x,y", "correct_answer": "right"})
    )
    assert item.correct_answer == "A"


def test_what_was_refused_stands_among_the_findings(make_item: Callable[..., Item], tmp_path: Path) -> None:
    found = check(read_questions(ROWS))
    assert [one.field for one in found.errors] == ["row"]
    assert found.by_rule[found.errors[0].rule] == 1
    assert len(found.sound) == 2
    assert found.write(tmp_path / "findings.jsonl") == len(found)
    twice = make_item("t", "Q?", ["x", "x", "y"], "A")
    sound = make_item("s")
    found = check([twice, sound])
    assert found.keep(tmp_path / "clean.jsonl") == 1
    assert answers(read_questions(tmp_path / "clean.jsonl")) == [sound.correct_text]
