"""`kina init`: what it understands of files, and the way from one CSV to a certified release."""

from __future__ import annotations

import csv
import json
import tomllib
from pathlib import Path

import pytest

from kina_build.config import load_settings
from kina_build.project.folder import find_project
from kina_build.project.start.draft import propose_size
from tests.project.conftest import PLANTED, ran, run_kina, states, table, write_csv

ROWS = list({row["question"]: row for row in table("pool.csv") if row["id"] not in PLANTED}.values())[:30]


def texts(row: dict[str, str]) -> list[str]:
    return [row[letter] for letter in "ABCD"]


def mmlu(path: Path) -> None:
    """The first MMLU: no header, the question, four options, a letter."""
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([row["question"], *texts(row), row["answer"]] for row in ROWS)


def sciq(path: Path) -> None:
    """SciQ: the right answer and three distractors in columns of their own."""
    rows = []
    for row in ROWS:
        wrong = [row[letter] for letter in "ABCD" if letter != row["answer"]]
        told = {f"distractor{n}": text for n, text in enumerate(wrong, start=1)}
        rows.append(
            {"question": row["question"], **told, "correct_answer": row[row["answer"]], "field": row["field"]}
        )
    write_csv(path, rows)


def mmlu_pro(path: Path) -> None:
    """MMLU-Pro: all options in one cell, the letter and its place, a category."""
    rows = [
        {
            "question_id": str(n),
            "question": row["question"],
            "options": json.dumps(texts(row)),
            "answer": row["answer"],
            "answer_index": str("ABCD".index(row["answer"])),
            "category": row["field"],
        }
        for n, row in enumerate(ROWS)
    ]
    write_csv(path, rows)


@pytest.mark.parametrize("shape", [mmlu, sciq, mmlu_pro])
def test_from_one_csv_and_anchors_to_a_certified_release(shape: object, tmp_path: Path) -> None:
    shape(tmp_path / "questions.csv")  # type: ignore[operator]
    write_csv(tmp_path / "anchors.csv", table("anchors.csv"))
    begun = run_kina(tmp_path, "init")
    assert begun.exit_code == 0, begun.output
    assert "fill in:\n  license = " in begun.stdout

    toml = tmp_path / "kina.toml"
    text = toml.read_text()
    assert "size = 3 " in text
    # three lines are filled in
    filled = text.replace('license = ""', 'license = "CC-BY-4.0"').replace('source = ""', 'source = "ours"')
    toml.write_text(filled.replace('title = ""', 'title = "Ours"'))

    done = run_kina(tmp_path, "build", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["complete"]
    assert not found["reviewed"]
    certificate = json.loads((tmp_path / "certificate.json").read_text())
    assert (certificate["verified"], certificate["items"]) == (True, 3)
    assert json.loads((tmp_path / "verification.json").read_text())["ok"] is True
    assert "No decisions of reviewers were given." in (tmp_path / "release" / "README.md").read_text()
    again = run_kina(tmp_path, "build", "--json")
    assert (again.exit_code, ran(again)) == (0, [])


def test_what_is_not_filled_in_is_named_by_build_and_not_before(tmp_path: Path) -> None:
    sciq(tmp_path / "questions.csv")
    assert run_kina(tmp_path, "init", "questions.csv").exit_code == 0
    toml = tmp_path / "kina.toml"
    toml.write_text(toml.read_text().replace("seed = 0", "seed = 0\nnear = false"))
    done = run_kina(tmp_path, "build", "--json")
    assert done.exit_code == 1
    found = states(done)
    assert [found[one] for one in ("import", "check", "dedup", "leave-out", "budget")] == ["fresh"] * 5
    assert (found["anchors"], found["support"], found["export"]) == ("waiting", "blocked", "blocked")


def test_files_are_known_by_their_columns(tmp_path: Path) -> None:
    sciq(tmp_path / "pool.csv")
    (tmp_path / "experts.csv").write_text("domain,statement\nlaw,habeas corpus\n")
    (tmp_path / "people.csv").write_text("reviewer_id,payee_id\nr1,p1\n")
    (tmp_path / "in.jsonl").write_text('{"item_id": "q1", "reviewer_id": "r1", "review_score": 3}\n')
    (tmp_path / "said.jsonl").write_text('{"item_id": "q1", "model": "m", "response": "A"}\n')
    assert run_kina(tmp_path, "init", "--name", "my set").exit_code == 0
    held = tomllib.loads((tmp_path / "kina.toml").read_text())
    table_ = held["project"]
    assert table_["name"] == "my_set"
    assert [one["files"] for one in table_["source"]] == [["pool.csv"]]
    assert (table_["anchors"]["files"], table_["responses"]["files"]) == (["experts.csv"], ["said.jsonl"])
    assert held["review"]["batch"] == {
        "reviewers": "people.csv",
        "reviews": ["in.jsonl"],
        "base": "",
        "bonus": "",
    }


def test_columns_of_other_names_are_proposed_as_a_map(tmp_path: Path) -> None:
    rows = [
        {"Frage": f"Wie viel ist {n} plus {n}?", "o1": f"{2 * n}", "o2": f"{2 * n + 1}", "R": "A"}
        for n in range(5)
    ]
    rows[0]["R"] = "B"
    write_csv(tmp_path / "fragen.csv", rows)
    done = run_kina(tmp_path, "init", "fragen.csv")
    assert done.exit_code == 0, done.output
    held = tomllib.loads((tmp_path / "kina.toml").read_text())["project"]["source"][0]
    assert held["map"] == {"question": "Frage", "options": ["o1", "o2"], "correct_answer": "R"}


def test_settings_that_stand_there_are_kept_and_a_project_is_not_replaced(tmp_path: Path) -> None:
    sciq(tmp_path / "pool.csv")
    (tmp_path / "kina.toml").write_text("[dedup]\nthreshold = 0.9\n")
    assert run_kina(tmp_path, "init").exit_code == 0
    assert load_settings(tmp_path / "kina.toml").dedup.threshold == 0.9
    assert find_project(tmp_path / "kina.toml") is not None
    again = run_kina(tmp_path, "init")
    assert (again.exit_code, again.stderr) == (
        2,
        "error: kina.toml: holds a project already\nhint: edit it, or replace it with --overwrite\n",
    )


def test_a_file_that_is_no_question_file_is_said_and_not_written(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("reviewer_id,payee_id\nr1,p1\n")
    done = run_kina(tmp_path, "init")
    assert done.exit_code == 2
    assert "none of the files holds questions" in done.stderr
    missing = run_kina(tmp_path, "init", "nothing.csv")
    assert missing.stderr.startswith("error: nothing.csv: no such file")
    assert not (tmp_path / "kina.toml").exists()


def test_what_kina_wrote_and_what_nobody_can_read_is_no_source(project: Path) -> None:
    (project / "kina.toml").unlink()
    (project / "notes.txt").write_text("buy milk")
    done = run_kina(project, "init", "--json")
    assert done.exit_code == 0, done.output
    held = tomllib.loads((project / "kina.toml").read_text())
    assert [one["files"] for one in held["project"]["source"]] == [["questions.csv"]]
    assert held["project"]["anchors"]["files"] == ["anchors.csv"]
    assert held["review"]["batch"]["reviews"] == ["reviews.jsonl"]
    assert "notes.txt" in [one["file"] for one in json.loads(done.stdout)["files"]]


def test_the_size_is_a_tenth_and_one_a_stratum_at_least() -> None:
    from kina_build.items.model import Item, Option

    def items(count: int, fields: int) -> list[Item]:
        options = (Option(key="A", answer="a"), Option(key="B", answer="b"))
        return [
            Item(item_id=f"q{n}", question="?", options=options, correct_answer="A", field=f"f{n % fields}")
            for n in range(count)
        ]

    assert [propose_size(items(*pair)) for pair in ((95, 2), (20, 7), (3, 3), (0, 1))] == [10, 7, 3, 0]


GOLD = {
    "SubjectEntity": "Italy",
    "Relation": "borders",
    "ObjectEntities": ["France"],
    "ObjectEntitiesID": ["Q142"],
}


@pytest.mark.parametrize(
    ("template", "questions", "replies"),
    [
        ("universe", ("lists.jsonl", {"id": "1", "gold": ["Paris", "Rome"], "language": "en"}),
         ("said.jsonl", {"id": "1", "response": "Paris, Rome"})),
        ("triples", ("gold.jsonl", GOLD), ("predictions.jsonl", GOLD)),
    ],
)  # fmt: skip
def test_lists_and_triples_are_scored_by_init_and_build_alone(
    tmp_path: Path,
    template: str,
    questions: tuple[str, dict[str, object]],
    replies: tuple[str, dict[str, object]],
) -> None:
    for name, row in (questions, replies):
        (tmp_path / name).write_text(json.dumps(row) + "\n")
    assert run_kina(tmp_path, "init", "--template", template).exit_code == 0
    told = tomllib.loads((tmp_path / "kina.toml").read_text())["project"]
    assert [one["files"] for one in told["source"]] == [[questions[0]]]
    assert told["responses"]["files"] == [replies[0]]
    done = run_kina(tmp_path, "build", "--json")
    assert done.exit_code == 0, done.output
    assert set(states(done).values()) == {"fresh"}


def test_of_two_key_columns_that_one_is_proposed_by_which_most_rows_are_read(tmp_path: Path) -> None:
    """MMLU-Redux: the index, and a second column that annotators filled in at will."""
    path = tmp_path / "questions.csv"
    rows = [
        {
            "question": row["question"],
            "choices": json.dumps(texts(row)),
            "answer": "ABCD".index(row["answer"]),
            "correct_answer": "Ok" if n == 0 else "" if n < 4 else "ABCD".index(row["answer"]),
        }
        for n, row in enumerate(ROWS)
    ]
    write_csv(path, rows)
    run_kina(tmp_path, "init", "questions.csv")
    told = (tmp_path / "kina.toml").read_text()
    line = '# map = { correct_answer = "answer" } # most rows can be read by this column alone'
    assert line in told
    (tmp_path / "kina.toml").write_text(told.replace(line, line[2:]))
    assert run_kina(tmp_path, "build", "import").exit_code == 0
    assert len((tmp_path / "pool.jsonl").read_text().splitlines()) == len(ROWS)
