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
    refused = kina("report", "flow", "-o", "report")
    assert "report: exists and was not written by kina (or has been changed since)" in refused.stderr
    kina("report", "flow", "-o", "report", "--overwrite")
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


SUPPORT = "item_id,anchor_id,score\n" + "".join(
    f"q{i:02d},{anchor},{(i * step) % 10 / 10}\n" for anchor, step in (("x", 3), ("y", 7)) for i in range(20)
)


def test_what_dedup_select_and_certify_write_has_its_pages(kina, flow, tmp_path):
    (tmp_path / "support.csv").write_text(SUPPORT)
    (tmp_path / "anchors.csv").write_text("anchor_id,weight\nx,0.75\ny,0.25\n")
    given = ("--support", "support.csv", "--anchors", "anchors.csv")
    for arguments in (
        ("dedup", "flow/pool.jsonl", "--no-near", "-o", "flow/duplicates.json"),
        ("select", *given, "-k", "3", "-o", "flow/selection.json"),
        ("certify", "flow/selection.json", *given, "-o", "flow/certificate.json"),
        ("report", "flow", "-o", "report"),
    ):
        out = kina(*arguments)
        assert out.exit_code == 0, (arguments, out.stderr)
    selection = json.loads((flow / "selection.json").read_text())
    coverage = (tmp_path / "report" / "coverage.html").read_text()
    assert f'<data value="{selection["objective"]!r}">' in coverage
    assert selection["certificate"]["guarantee"]["statement"] in coverage.replace("&#39;", "'")
    assert "<dt>verified</dt><dd>yes</dd>" in coverage
    duplicates = json.loads((flow / "duplicates.json").read_text())
    assert (
        f'<dt>kept</dt><dd><data value="{len(duplicates["kept"])}">'
        in (tmp_path / "report" / "duplicates.html").read_text()
    )
