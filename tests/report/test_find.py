"""Files of a flow are known by what they hold."""

from __future__ import annotations

import json
from pathlib import Path

from kina_build.report.find import find_files, look_into
from tests.report.flow import write_flow


def test_files_under_other_names_are_found(tmp_path: Path) -> None:
    write_flow(tmp_path)
    for path in list(tmp_path.glob("*.json*")):
        path.rename(path.with_name(f"my-{path.name}"))
    found = find_files(tmp_path)
    assert {part: path.name for part, path in found.files.items()} == {
        "pool": "my-pool.jsonl",
        "findings": "my-findings.jsonl",
        "decisions": "my-decisions.jsonl",
        "leaderboard": "my-leaderboard.json",
        "item_figures": "my-item_analysis.jsonl",
    }
    assert found.left_out == {"my-contests.jsonl": "holds nothing that a page shows"}, "it names no winners"


def test_of_two_the_usual_name_wins_and_the_other_is_said(tmp_path: Path) -> None:
    write_flow(tmp_path)
    (tmp_path / "older.jsonl").write_bytes((tmp_path / "pool.jsonl").read_bytes())
    (tmp_path / "notes.txt").write_text("mine")
    found = find_files(tmp_path)
    assert found.files["pool"].name == "pool.jsonl"
    assert found.left_out == {
        "notes.txt": "holds nothing that a page shows",
        "older.jsonl": "another file of the kind pool; pool.jsonl is shown",
    }


def test_of_two_with_names_of_their_own_none_is_taken(tmp_path: Path) -> None:
    write_flow(tmp_path)
    (tmp_path / "pool.jsonl").rename(tmp_path / "a.jsonl")
    (tmp_path / "b.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes())
    found = find_files(tmp_path)
    assert "pool" not in found.files
    assert found.left_out["a.jsonl"] == "one of several files of the kind pool; name the right one pool.jsonl"


def test_a_usual_name_with_wrong_content_is_for_its_reader_to_refuse(tmp_path: Path) -> None:
    (tmp_path / "decisions.jsonl").write_text('{"item_id": 3}\n')
    (tmp_path / "reviews.jsonl").write_text('{"text": "an essay"}\n')
    found = find_files(tmp_path)
    assert list(found.files) == ["decisions"]
    assert list(found.left_out) == ["reviews.jsonl"], "such a name is anybody's"


def test_damaged_files_are_nothing_of_ours(tmp_path: Path) -> None:
    for name, content in (
        ("a.npz", b"x"),
        ("b.db", b"x"),
        ("c.json", b"{"),
        ("d.jsonl", b"\xff{"),
        ("e", b""),
    ):
        (tmp_path / name).write_bytes(content)
        assert look_into(tmp_path / name) is None
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "release.json").write_text(json.dumps({"name": "no release"}))
    assert look_into(tmp_path / "f") is None
