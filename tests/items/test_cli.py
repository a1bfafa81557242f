from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from kina_build.items.pool import read_pool

Kina = Callable[..., Result]


def put(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def row(n: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"q{n}",
        "question": f"Question {n}?",
        "options": ["tin", "oak", "sea"],
        "answer": "ABC"[n % 3],
        **more,
    }


def test_import_reports_what_it_did(kina: Kina, tmp_path: Path) -> None:
    put(tmp_path / "raw.jsonl", row(0), row(1))
    result = kina("import", "raw.jsonl", "-o", "pool.jsonl", "--json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert (report["items"], report["rejects"]) == (2, [])
    assert report["detected"]["format"] == "jsonl"
    assert report["detected"]["mapping"]["correct_answer"] == "answer"
    assert [item.item_id for item in read_pool(tmp_path / "pool.jsonl")] == ["q0", "q1"]


def test_rejects_stop_the_import_unless_told_to_go_on(kina: Kina, tmp_path: Path) -> None:
    put(tmp_path / "raw.jsonl", row(0), row(1, options=None))
    result = kina("import", "raw.jsonl", "-o", "pool.jsonl", "--json")
    assert result.exit_code == 1
    assert "raw.jsonl:2: no_options" in result.stderr
    assert [(r["file"], r["line"], r["reason"]) for r in json.loads(result.stdout)["rejects"]] == [
        ("raw.jsonl", 2, "no_options")
    ]
    assert not (tmp_path / "pool.jsonl").exists()
    result = kina("import", "raw.jsonl", "-o", "pool.jsonl", "--keep-going")
    assert result.exit_code == 1
    assert len(read_pool(tmp_path / "pool.jsonl")) == 1


def test_import_maps_columns_by_flags_and_by_kina_toml(kina: Kina, tmp_path: Path) -> None:
    (tmp_path / "raw.csv").write_text("q,x,y,k,\nWhy?,so,no,so,\n", encoding="utf-8")
    (tmp_path / "kina.toml").write_text(
        '[items.columns]\nquestion = "q"\noptions = "x,y"\n', encoding="utf-8"
    )
    result = kina("import", "raw.csv", "-o", "pool.jsonl", "--map", "key=k", "--set", "field=law")
    assert result.exit_code == 0, result.stderr
    item = read_pool(tmp_path / "pool.jsonl")[0]
    assert (item.question, item.field, item.correct_text) == ("Why?", "law", "so")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.csv", "-o", "p"], "nowhere.csv: no such file"),
        (["raw.jsonl", "-o", "p", "--map", "stem"], "not of the form KEY=VALUE"),
        (["raw.jsonl", "-o", "p", "--set", "stem=x"], "cannot set 'stem'"),
        (["raw.jsonl", "-o", "p", "--name-as", "nothing"], "cannot set 'nothing'"),
        (["raw.jsonl", "-o", "p", "--encoding", "klingon"], "unknown encoding"),
    ],
)
def test_import_says_what_is_wrong(kina: Kina, tmp_path: Path, arguments: list[str], words: str) -> None:
    put(tmp_path / "raw.jsonl", row(0))
    result = kina("import", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_check_of_a_sound_pool(kina: Kina, tmp_path: Path) -> None:
    put(tmp_path / "raw.jsonl", row(0), row(1), row(2))
    kina("import", "raw.jsonl", "-o", "pool.jsonl")
    result = kina("check", "pool.jsonl", "--json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["findings"] == []
    assert report["summary"]["chance"] == pytest.approx(1 / 3, abs=1e-4)
    assert "nothing found" in kina("check", "pool.jsonl").stdout


def test_check_fails_by_the_profile(kina: Kina, tmp_path: Path) -> None:
    put(tmp_path / "raw.jsonl", row(0))
    kina("import", "raw.jsonl", "-o", "pool.jsonl")
    result = kina("check", "pool.jsonl", "--profile", "kina", "-o", "findings.jsonl", "--json")
    assert result.exit_code == 1
    findings = json.loads(result.stdout)["findings"]
    assert {finding["rule"] for finding in findings} == {
        "option_count",
        "missing_explanation",
        "missing_source",
    }
    assert set(findings[0]) == {"item_id", "rule", "severity", "field", "message", "evidence"}
    assert len((tmp_path / "findings.jsonl").read_text(encoding="utf-8").splitlines()) == 3
    again = kina("check", "pool.jsonl", "--profile", "kina", "-o", "findings.jsonl")
    assert again.exit_code == 1
    assert "up to date" in again.stderr


def test_check_lists_the_rejects_of_a_file_that_is_no_pool(kina: Kina, tmp_path: Path) -> None:
    put(tmp_path / "raw.jsonl", row(0), row(1, answer=["A", "B"]))
    report = json.loads(kina("check", "raw.jsonl", "--json").stdout)
    assert [(finding["item_id"], finding["rule"]) for finding in report["findings"]] == [
        ("q1", "multiple_keys")
    ]


def test_check_names_a_broken_line_of_a_pool(kina: Kina, tmp_path: Path) -> None:
    put(tmp_path / "raw.jsonl", row(0))
    kina("import", "raw.jsonl", "-o", "pool.jsonl")
    with (tmp_path / "pool.jsonl").open("a", encoding="utf-8") as out:
        out.write('{"item_id": "q9"}\n')
    result = kina("check", "pool.jsonl")
    assert result.exit_code == 2
    assert "pool.jsonl:2: question: Field required" in result.stderr


POOL = ("--pool", "raw.jsonl", "--letters-of", "raw.jsonl")


def test_triage_and_panel(kina: Kina, tmp_path: Path) -> None:
    put(tmp_path / "raw.jsonl", row(0), row(1), row(2))
    put(
        tmp_path / "letters.jsonl",
        *({"model": m, "item_id": f"q{n}", "letter": "ABB"[n]} for m in "abc" for n in range(3)),
    )
    result = kina("triage", "letters.jsonl", *POOL, "--json", "-o", "queue.jsonl")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["queue"][0]["item_id"], report["queue"][0]["rival"]) == ("q2", "B")
    assert "1 of 3 keys contradicted" in kina("triage", "letters.jsonl", *POOL).stdout
    models = ["--model", "a@2026-05", "--model", "b"]
    result = kina("panel", "letters.jsonl", *POOL, *models, "-o", "hard.jsonl", "--json")
    assert json.loads(result.stdout)["admitted"] == 1
    (hard,) = read_pool(tmp_path / "hard.jsonl")
    assert hard.metadata["panel"] == [{"model": "a", "date": "2026-05"}, {"model": "b", "date": None}]
    assert hard.metadata["difficulty"] == 1.0


def test_triage_reads_replies(kina: Kina, tmp_path: Path) -> None:
    put(tmp_path / "raw.jsonl", row(0))
    replies = (
        {"item_id": "q0", "model": m, "sample": 0, "response": "Answer: C", "status": "ok"} for m in "abc"
    )
    put(tmp_path / "responses.jsonl", *replies)
    report = json.loads(kina("triage", "responses.jsonl", *POOL, "--json").stdout)
    assert (report["queue"][0]["rival"], report["queue"][0]["rival_votes"]) == ("C", 3)


def test_check_looks_at_named_rules_and_keeps_what_has_no_errors(kina: Kina, tmp_path: Path) -> None:
    put(tmp_path / "raw.jsonl", row(0, question="Is it 4&deg;C?"), row(1, options=["tin", "tin ", "oak"]))
    kina("import", "raw.jsonl", "-o", "pool.jsonl")
    result = kina("check", "pool.jsonl", "--rule", "html_entity", "--json")
    assert result.exit_code == 0
    assert [one["rule"] for one in json.loads(result.stdout)["findings"]] == ["html_entity"]
    result = kina("check", "pool.jsonl", "--not", "html_entity", "--keep", "clean.jsonl", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["summary"]["by_rule"] == {"keyed_option_duplicated": 1}
    assert [item.item_id for item in read_pool(tmp_path / "clean.jsonl")] == ["q0"]
    result = kina("check", "pool.jsonl", "--rule", "html_entiti")
    assert result.exit_code == 2
    assert "did you mean html_entity?" in result.stderr


def test_check_runs_the_gates_of_an_export_early(kina: Kina, tmp_path: Path) -> None:
    put(tmp_path / "raw.jsonl", row(0, license="CC0-1.0", source="own"), row(1, license="CC0-1.0"))
    kina("import", "raw.jsonl", "-o", "pool.jsonl")
    assert kina("check", "pool.jsonl").exit_code == 0
    result = kina("check", "pool.jsonl", "--profile", "release", "--json")
    assert result.exit_code == 1
    found = [(one["item_id"], one["rule"]) for one in json.loads(result.stdout)["findings"]]
    assert found == [("q1", "missing_source")]
