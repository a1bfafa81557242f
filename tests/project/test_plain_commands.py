"""Plain commands in a project: a line that names no input takes the project's."""

from __future__ import annotations

import json
from pathlib import Path

from tests.project.conftest import run_kina

SELECT = (
    "--support support.npz --anchors anchors.jsonl -k 6 --strata pool.jsonl --by field"
    " --domain-by discipline --quota budget.jsonl --conflicts duplicates.json --exclude left-out.json"
    " --decisions decisions.jsonl"
)


def test_a_bare_command_is_the_project_s(project: Path) -> None:
    done = run_kina(project, "certify")
    assert done.exit_code == 0
    said = "as kina.toml says: kina certify selection.json -k 6 -o certificate.json\n"
    assert done.stderr.startswith(f"{said}certificate.json: up to date")
    assert done.stdout.startswith("verified: 6 items")


def test_what_the_user_says_wins_and_what_is_read_comes_from_the_project(project: Path) -> None:
    done = run_kina(project, "select", "-o", "mine.json", "-k", "6", "--improve")
    assert done.exit_code == 0, done.output
    words = done.stderr.splitlines()[0]
    assert (
        words == f"as kina.toml says: kina select {SELECT.replace(' -k 6', '')} -o mine.json -k 6 --improve"
    )
    assert (project / "mine.json").exists()


def test_a_line_that_names_an_input_is_left_alone(project: Path) -> None:
    done = run_kina(project, "certify", "selection.json")
    assert (done.exit_code, done.stderr) == (0, "")
    refused = run_kina(project, "select", "--support", "support.npz")
    assert "as kina.toml says" not in refused.stderr
    assert refused.exit_code == 2


def test_quiet_says_nothing_of_it_and_help_is_help(project: Path) -> None:
    assert run_kina(project, "certify", "-q").stderr == ""
    assert run_kina(project, "certify", "--help").stdout.startswith("Usage: ")


def test_without_a_project_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "kina.toml").write_text("[dedup]\nthreshold = 0.9\n")
    done = run_kina(tmp_path, "certify")
    assert done.exit_code == 2
    assert "as kina.toml says" not in done.stderr


def test_a_project_that_cannot_be_read_does_not_hide_the_error(tmp_path: Path) -> None:
    (tmp_path / "kina.toml").write_text("[project]\nno_such_key = 1\n")
    assert run_kina(tmp_path, "certify").exit_code == 2
    assert "project.no_such_key: unknown key" in run_kina(tmp_path, "build").stderr


def test_what_a_source_calls_flawed_is_left_out_where_nobody_reviews(tmp_path: Path) -> None:
    options = [{"key": "A", "answer": "one"}, {"key": "B", "answer": "two"}]
    rows = [
        {"item_id": name, "question": f"What is {name}?", "options": options, "correct_answer": "A"}
        | {"metadata": {"verdict": verdict}}
        for name, verdict in (("q1", "ok"), ("q2", "no_correct_answer"))
    ]
    (tmp_path / "pool.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run_kina(tmp_path, "leave-out", "pool.jsonl", "-o", "left-out.json")
    assert done.exit_code == 0, done.output
    left = json.loads((tmp_path / "left-out.json").read_text())
    assert left["item_ids"] == ["q2"]
    assert left["steps"][0]["items"] == {"q2": "its source says: no_correct_answer"}
