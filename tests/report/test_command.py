"""kina report as people type it."""

from __future__ import annotations

import json

import pytest

from tests.report.flow import write_flow


@pytest.fixture
def flow(tmp_path):
    (tmp_path / "flow").mkdir()
    return write_flow(tmp_path / "flow")


def test_a_folder_becomes_pages(kina, flow, tmp_path):
    out = kina("report", "flow", "-o", "report", "--title", "Small flow", "--json")
    assert out.exit_code == 0, out.stderr
    told = json.loads(out.stdout)
    assert told["pages"] == sorted(p.name for p in (tmp_path / "report").iterdir())
    assert told["read"][0] == "pool.jsonl"
    assert "<title>Overview · Small flow</title>" in (tmp_path / "report" / "index.html").read_text()
    assert "up to date" in kina("report", "flow", "-o", "report", "--title", "Small flow").stderr


def test_pages_of_an_earlier_report_go(kina, flow, tmp_path):
    kina("report", "flow", "-o", "report")
    (flow / "leaderboard.json").unlink()
    (tmp_path / "report" / "notes.html").write_text("mine")
    kina("report", "flow", "-o", "report")
    assert not (tmp_path / "report" / "leaderboard.html").exists()
    assert (tmp_path / "report" / "notes.html").read_text() == "mine"


def test_another_folder_is_left_alone(kina, flow, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.txt").write_text("x")
    out = kina("report", "flow", "-o", "work")
    assert (out.exit_code, list((tmp_path / "work").iterdir())) == (2, [tmp_path / "work" / "thesis.txt"])
    assert "holds something else than a report" in out.stderr


def test_no_folder_and_no_files_are_said_plainly(kina, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "nowhere: no such folder" in kina("report", "nowhere").stderr
    out = kina("report", "empty")
    assert out.exit_code == 1
    assert "none of the flow's files is there" in out.stderr


def test_nothing_is_written_when_a_file_is_malformed(kina, flow, tmp_path):
    (flow / "decisions.jsonl").write_text('{"item_id": 3}\n')
    out = kina("report", "flow", "-o", "report")
    assert out.exit_code == 2
    assert "decisions.jsonl:1: item_id: Input should be a valid string" in out.stderr
    assert not (tmp_path / "report").exists()
